#!/usr/bin/env python3
"""Trains the digits example and writes what the repository keeps of it.

A 64-256-256-10 ReLU perceptron on scikit-learn's digits (8x8 images, values 0..16 scaled to
0..1): 1,257 images to train on, 540 to test. Writes digits.onnx (opset 13, dynamic batch
axis), images.npy [540, 64] float32, scores.npy [540, 10] float32 (PyTorch's logits) and
labels.npy [540] int64 (the truth).

Needs: pip install torch scikit-learn onnx numpy
"""
import pathlib
import warnings

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).resolve().parent


def train(x, y):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 256), torch.nn.ReLU(),
        torch.nn.Linear(256, 256), torch.nn.ReLU(),
        torch.nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.3)
    for _ in range(30):
        for batch in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(
                model(x[batch]), y[batch], label_smoothing=0.1).backward()
            optimizer.step()
    return model.eval()


def digits():
    """Images to train on, images to test with, their digits: x, x, y, y."""
    data = load_digits()
    images = (data.data / 16).astype(np.float32)
    return train_test_split(
        images, data.target.astype(np.int64), test_size=540, random_state=0, stratify=data.target)


def export(model, image, path):
    torch.onnx.export(
        model, (torch.from_numpy(image),), str(path), opset_version=13,
        input_names=["image"], output_names=["scores"], dynamo=False,
        dynamic_axes={"image": {0: "batch"}, "scores": {0: "batch"}})


def main():
    torch.set_num_threads(1)
    x_train, x_test, y_train, y_test = digits()
    model = train(torch.from_numpy(x_train), torch.from_numpy(y_train))
    with torch.no_grad():
        scores = model(torch.from_numpy(x_test)).numpy()
    print(f"accuracy {np.mean(scores.argmax(1) == y_test):.4f}")
    export(model, x_test[:1], HERE / "digits.onnx")
    np.save(HERE / "images.npy", x_test)
    np.save(HERE / "scores.npy", scores)
    np.save(HERE / "labels.npy", y_test)


if __name__ == "__main__":
    main()
