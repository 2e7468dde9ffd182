#!/usr/bin/env python3
"""Operators of ai.onnx.ml (trees apart) against ONNX Runtime: one thread each, 28 columns, the two
taking turns in one process; the medians' ratio, above 1 is faster. ONNX Runtime is called through
its Python module, whose microseconds a call weigh on small batches: rows are given for large ones.

    LIBTENON=.../libtenon.so TENON_PLUGIN_PATH=... PYTHONPATH=tests/oracle bench_tables.py [rows]
"""
import ctypes
import sys
import time

import numpy as np
import onnxruntime
import tenon_ctypes as tenon
from onnx import helper, numpy_helper

ML = "ai.onnx.ml"
COLUMNS = 28
rng = np.random.default_rng(0)


def floats(n):
    return rng.normal(size=n).astype(np.float32).tolist()


def info(name, elem, *dims):
    return helper.make_tensor_value_info(name, elem, ["n", *dims])


def model(nodes, x, outputs, initializers=()):
    graph = helper.make_graph(nodes, "g", [x], outputs, list(initializers))
    return helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 21), helper.make_opsetid(ML, 3)]).SerializeToString()


def classifier(classes, post):
    return helper.make_node("LinearClassifier", ["x"], ["label", "z"], domain=ML, post_transform=post,
                            coefficients=floats(COLUMNS * classes), intercepts=floats(classes),
                            classlabels_ints=list(range(max(classes, 2))))


def cases(rows):
    table = rng.normal(size=(rows, COLUMNS)).astype(np.float32)
    x, label = info("x", 1, COLUMNS), info("label", 7)
    maps = helper.make_value_info("m", helper.make_sequence_type_proto(
        helper.make_map_type_proto(7, helper.make_tensor_type_proto(1, None))))
    for classes, post in ((1, "LOGISTIC"), (10, "SOFTMAX")):
        n = max(classes, 2)
        yield f"LinearClassifier, {n} classes, {post}", model([classifier(classes, post)], x, [
            label, info("z", 1, n)]), table
        zipped = helper.make_node("ZipMap", ["z"], ["m"], domain=ML, classlabels_int64s=list(range(n)))
        yield "  and ZipMap", model([classifier(classes, post), zipped], x, [label, maps]), table
    one = [("LinearRegressor", {"coefficients": floats(COLUMNS), "intercepts": [0.5]}, 1),
           ("Scaler", {"offset": floats(COLUMNS), "scale": floats(COLUMNS)}, COLUMNS),
           ("Normalizer", {"norm": "L2"}, COLUMNS),
           ("Imputer", {"imputed_value_floats": floats(COLUMNS), "replaced_value_float": float("nan")}, COLUMNS)]
    one += [("SVMRegressor", {"kernel_type": kernel, "kernel_params": [0.02, 1.0, 3.0], "n_supports": 500,
                              "rho": [0.5], "coefficients": floats(500), "support_vectors": floats(500 * COLUMNS)}, 1)
            for kernel in ("RBF", "POLY")]
    for name, attrs, width in one:
        node = helper.make_node(name, ["x"], ["y"], domain=ML, **attrs)
        yield f"{name} {attrs.get('kernel_type', '')}", model([node], x, [info("y", 1, width)]), table
    names = [f"category {i}" for i in range(100)]
    texts = np.array([names[i] for i in rng.integers(0, 100, rows * 4)], object).reshape(rows, 4)
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain=ML, keys_strings=names,
                            values_int64s=list(range(100)))
    yield "LabelEncoder, 100 strings", model([node], info("x", 8, 4), [info("y", 7, 4)]), texts
    node = helper.make_node("OneHotEncoder", ["x"], ["y"], domain=ML, cats_int64s=list(range(40)))
    yield "OneHotEncoder, 40 integers", model([node], info("x", 7, 4), [info("y", 1, 4, 40)]), rng.integers(
        0, 50, (rows, 4))
    node = helper.make_node("ArrayFeatureExtractor", ["x", "i"], ["y"], domain=ML)
    yield "ArrayFeatureExtractor", model([node], x, [info("y", 1, 5)], [
        numpy_helper.from_array(np.array([3, 7, 1, 20, 11]), "i")]), table


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    runtime, diag = tenon.Runtime(threads=1), tenon.Diag()
    for name, data, x in cases(rows):
        theirs, ours = onnxruntime.InferenceSession(data, options), tenon.Session(runtime, data)
        value, alive = tenon._tensor(x)
        tenon.LIB.tn_context_set_input(ours.context, 0, ctypes.byref(value), ctypes.byref(diag))
        times = ([], [])
        for _ in range(20):
            for series, run in zip(times, (lambda: theirs.run(None, {"x": x}),
                                           lambda: tenon.LIB.tn_context_run(ours.context, None, ctypes.byref(diag)))):
                start = time.perf_counter()
                run()
                series.append(time.perf_counter() - start)
        a, b = (1e6 * float(np.median(series)) for series in times)
        print(f"{name:40} ONNX Runtime {a:10.1f} us  Tenon {b:10.1f} us  {a / b:6.2f} times as fast", flush=True)
        del alive


if __name__ == "__main__":
    main()
