#!/usr/bin/env python3
"""From PyTorch to ONNX: trains the digits model, exports it, compares and times both.

    python3 examples/digits/to_onnx.py [--onnxruntime]

The only line that knows the runtime is its import: `import onnxruntime as ort` serves as well.
With --onnxruntime that package is timed too, taking turns in the same run, and the ratio of one
call from Python is printed.

Needs: pip install torch scikit-learn onnx numpy, and this package (pip install .)
"""
import argparse
import importlib
import os
import pathlib
import tempfile
import time

import numpy as np
import torch
from train import digits, export, train

import tenon as ort

ROUNDS, CALLS = 30, 540


def best_of_turns(calls, images):
    """Milliseconds an image, one image a call: the best round of each; they take turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            for i in range(CALLS):
                call(images[i:i + 1])
            best[name] = min(best[name], (time.perf_counter() - start) / CALLS * 1000)
    return best


def session_call(package, path):
    options = package.SessionOptions()
    options.intra_op_num_threads = 1
    session = package.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session, lambda batch: session.run(None, {"image": batch})[0]


def torch_call(model):
    def call(batch):
        with torch.no_grad():
            return model(torch.from_numpy(batch)).numpy()
    return call


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--onnxruntime", action="store_true", help="time that package too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    x_train, x_test, y_train, _ = digits()
    model = train(torch.from_numpy(x_train), torch.from_numpy(y_train))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "digits.onnx"
        export(model, x_test[:1], path)
        session, run = session_call(ort, path)
        scores, expected = run(x_test), torch_call(model)(x_test)
        calls = {"PyTorch": torch_call(model), ort.__name__: run}
        if arguments.onnxruntime:
            other = importlib.import_module("onnxruntime")
            calls["onnxruntime"] = session_call(other, path)[1]
        times = best_of_turns(calls, x_test)
        print(f"size                     {os.path.getsize(path)} bytes")
    for io in session.get_inputs():
        print(f"input                    {io.name} {io.type} {io.shape}")
    print(f"largest disagreement     {np.abs(scores - expected).max():.2e}")
    same = int((scores.argmax(1) == expected.argmax(1)).sum())
    print(f"same digit               {same} of {len(x_test)}")
    for name, milliseconds in times.items():
        print(f"one image, {name:<13} {milliseconds:.4f} ms")
    if arguments.onnxruntime:
        ratio = times[ort.__name__] / times["onnxruntime"]
        print(f"{ort.__name__} / onnxruntime     {ratio:.2f}")


if __name__ == "__main__":
    main()
