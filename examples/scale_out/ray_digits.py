#!/usr/bin/env python3
"""The digits on Ray Data: each actor of map_batches opens the model once.

Actors of a host map the same file, so its weights are in memory once. On a cluster the model
lies at the same path on every host. Needs: pip install "ray[data]" numpy.

    python3 examples/scale_out/ray_digits.py
"""
import pathlib
import sys

import numpy as np
import ray

import tenon as ort

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "digits"


class Classifier:
    def __init__(self, path):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1  # an actor has one core
        options.add_session_config_entry("prepack", "0")  # weights stay in the file
        self.session = ort.InferenceSession(path, options)

    def __call__(self, batch):
        scores, = self.session.run(None, {"image": batch["data"]})
        return {"number": batch["number"], "digit": scores.argmax(1)}


def main():
    images = np.load(DIGITS / "images.npy")
    rows = ray.data.from_items(
        [{"number": i, "data": row} for i, row in enumerate(images)], override_num_blocks=6)
    done = rows.map_batches(Classifier, fn_constructor_args=[str(DIGITS / "digits.onnx")],
                            batch_size=90, num_cpus=1, concurrency=(1, 2))
    found = np.array([row["digit"] for row in done.sort("number").take_all()])
    wanted = np.load(DIGITS / "scores.npy").argmax(1)  # PyTorch's
    print(f"ray: {(found == wanted).sum()} of {len(wanted)} digits as in PyTorch")
    return int((found != wanted).any())


if __name__ == "__main__":
    sys.exit(main())
