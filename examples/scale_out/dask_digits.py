#!/usr/bin/env python3
"""The digits on Dask: the session is an argument of map_partitions.

A session is pickled as its path and settings, so a worker that gets one maps the file itself.
Threads of one process share the one session. Needs: Debian's python3-dask python3-pandas.

    python3 examples/scale_out/dask_digits.py [threads|processes]
"""
import pathlib
import sys

import dask.dataframe
import numpy as np
import pandas

import tenon as ort

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "digits"


def classify(rows, session):
    scores, = session.run(None, {"image": rows.to_numpy(np.float32)})
    return pandas.Series(scores.argmax(1), rows.index)


def main(scheduler="threads"):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # Dask has a worker for every core already
    options.add_session_config_entry("prepack", "0")  # weights stay in the file
    session = ort.InferenceSession(DIGITS / "digits.onnx", options)
    images = pandas.DataFrame(np.load(DIGITS / "images.npy"))
    frame = dask.dataframe.from_pandas(images, npartitions=6)
    digits = frame.map_partitions(classify, session, meta=(None, "int64"))
    found = digits.compute(scheduler=scheduler, num_workers=2).to_numpy()
    wanted = np.load(DIGITS / "scores.npy").argmax(1)  # PyTorch's
    print(f"dask, {scheduler}: {(found == wanted).sum()} of {len(wanted)} digits as in PyTorch")
    return int((found != wanted).any())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
