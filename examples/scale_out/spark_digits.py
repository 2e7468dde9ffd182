#!/usr/bin/env python3
"""The digits on Spark: predict_batch_udf opens the model once a Python worker.

Workers of a host map the same file, so its weights are in memory once. On a cluster the model
lies at the same path on every host (SparkContext.addFile brings it there).
Needs: Java, pip install pyspark pandas pyarrow numpy.

    python3 examples/scale_out/spark_digits.py
"""
import pathlib
import sys

import numpy as np
from pyspark.ml.functions import predict_batch_udf
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "digits"
MODEL = str(DIGITS / "digits.onnx")


def make_classifier():
    import tenon as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # Spark has a worker for every core already
    options.add_session_config_entry("prepack", "0")  # weights stay in the file
    session = ort.InferenceSession(MODEL, options)
    return lambda images: session.run(None, {"image": images})[0].argmax(1)


def main():
    spark = SparkSession.builder.master("local[2]").appName("digits").getOrCreate()
    images = np.load(DIGITS / "images.npy").tolist()
    frame = spark.createDataFrame(list(enumerate(images)), "number long, image array<float>")
    classify = predict_batch_udf(make_classifier, return_type=LongType(), batch_size=90,
                                 input_tensor_shapes=[[64]])
    rows = frame.repartition(4).select("number", classify("image").alias("digit")).collect()
    spark.stop()
    found = np.array([digit for _, digit in sorted(rows)])
    wanted = np.load(DIGITS / "scores.npy").argmax(1)  # PyTorch's
    print(f"spark: {(found == wanted).sum()} of {len(wanted)} digits as in PyTorch")
    return int((found != wanted).any())


if __name__ == "__main__":
    sys.exit(main())
