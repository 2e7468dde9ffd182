#!/usr/bin/env python3
"""Makes the models that bench_models compares on: bench/make_models.py FOLDER

chain_<n>.onnx       n trivial nodes on one element: what a run and a node cost
matmul_<m>x<k>x<n>   one product with a constant matrix
conv512x10.onnx      94 MB of 3x3 weights: what loading costs
mlp.onnx             64-256-256-10, as the digits example

Needs: pip install onnx numpy
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(folder, name, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(
        nodes, name,
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs],
        [numpy_helper.from_array(w, n) for n, w in weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(folder / f"{name}.onnx"))


GENERATOR = np.random.default_rng(0)


def random(*shape):
    return (GENERATOR.standard_normal(shape) * 0.05).astype(np.float32)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for n in (1, 2, 101):
        ops = ["Neg" if i % 2 else "Abs" for i in range(n)]
        names = ["x"] + [f"v{i}" for i in range(n - 1)] + ["y"]
        save(folder, f"chain_{n}",
             [helper.make_node(op, [names[i]], [names[i + 1]]) for i, op in enumerate(ops)],
             [("x", [1])], [("y", [1])])
    for m, k, n in ((1, 256, 256), (1, 1024, 1024), (16, 768, 768), (128, 768, 768),
                    (128, 768, 3072), (512, 512, 512), (1024, 1024, 1024)):
        save(folder, f"matmul_{m}x{k}x{n}", [helper.make_node("MatMul", ["x", "w"], ["y"])],
             [("x", [m, k])], [("y", [m, n])], [("w", random(k, n))])
    layers, weights = [], []
    for i in range(10):
        layers.append(helper.make_node(
            "Conv", ["x" if i == 0 else f"v{i - 1}", f"w{i}"], ["y" if i == 9 else f"v{i}"],
            pads=[1, 1, 1, 1]))
        weights.append((f"w{i}", random(512, 512, 3, 3)))
    save(folder, "conv512x10", layers, [("x", [1, 512, 7, 7])], [("y", [1, 512, 7, 7])], weights)
    save(folder, "mlp", [
        helper.make_node("Gemm", ["x", "w0", "b0"], ["h0"]), helper.make_node("Relu", ["h0"], ["r0"]),
        helper.make_node("Gemm", ["r0", "w1", "b1"], ["h1"]), helper.make_node("Relu", ["h1"], ["r1"]),
        helper.make_node("Gemm", ["r1", "w2", "b2"], ["y"])],
        [("x", [1, 64])], [("y", [1, 10])],
        [("w0", random(64, 256)), ("b0", random(256)), ("w1", random(256, 256)),
         ("b1", random(256)), ("w2", random(256, 10)), ("b2", random(10))])


if __name__ == "__main__":
    main()
