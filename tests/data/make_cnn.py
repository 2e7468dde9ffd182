#!/usr/bin/env python3
"""Exports a small convolutional network from PyTorch (opset 13, dynamic batch): strided stem,
max pool, a residual block with batch norms, a grouped and a depthwise convolution, concat,
average pool, classifier. cnn_input_<i>.npy and cnn_output_<i>.npy hold two batches and PyTorch's
outputs.

Needs: pip install torch onnx numpy
"""
import pathlib
import warnings

import numpy as np
import torch
from torch import nn

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).resolve().parent


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=2, padding=2, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1))
        self.block = nn.Sequential(
            nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16))
        self.grouped = nn.Conv2d(16, 24, 3, padding=1, groups=4)
        self.depthwise = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.head = nn.Linear(40, 10)

    def forward(self, x):
        x = self.stem(x)
        x = torch.relu(x + self.block(x))
        x = torch.cat([self.grouped(x), nn.functional.relu6(self.depthwise(x))], 1)
        x = nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)
        return torch.softmax(self.head(x), 1)


def main():
    torch.manual_seed(2)
    net = Net()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.2, 0.2)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.2, 0.2)
    net.eval()
    torch.onnx.export(
        net, (torch.randn(1, 3, 32, 32),), str(HERE / "cnn.onnx"), opset_version=13,
        input_names=["x"], output_names=["y"], dynamo=False, do_constant_folding=False,
        training=torch.onnx.TrainingMode.PRESERVE,
        dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}})
    for i, batch in enumerate((1, 3)):
        x = torch.randn(batch, 3, 32, 32)
        with torch.no_grad():
            y = net(x)
        np.save(HERE / f"cnn_input_{i}.npy", x.numpy())
        np.save(HERE / f"cnn_output_{i}.npy", y.numpy())


if __name__ == "__main__":
    main()
