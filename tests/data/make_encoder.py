#!/usr/bin/env python3
"""Exports transformer encoder layers from PyTorch, with the framework's answers.

layer_new.onnx     nn.TransformerEncoderLayer, the dynamo exporter
encoder_13.onnx, encoder_17.onnx, encoder_new.onnx
                   the same arithmetic written out, the TorchScript exporter at opsets 13 and
                   17, and the dynamo exporter

Batch and sequence are dynamic; <name>_input_<i>.npy and <name>_output_<i>.npy are three inputs
of different shapes and PyTorch's outputs.

Needs: pip install torch onnx onnxscript numpy
"""
import pathlib
import warnings

import numpy as np
import torch

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).resolve().parent


class Encoder(torch.nn.Module):
    """nn.TransformerEncoderLayer's arithmetic with its attention written out: tracing the
    layer's own fast path fails in recent PyTorch."""

    def __init__(self, width=32, heads=4, hidden=64):
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, hidden), torch.nn.Linear(hidden, width)
        self.gelu, self.dropout = torch.nn.GELU(), torch.nn.Dropout(0.1)

    def attention(self, x):
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (t.reshape(shape).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        scores = torch.softmax(q @ k.transpose(-2, -1) / shape[-1] ** 0.5, dim=-1)
        return self.out((scores @ v).transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = self.norm1(x + self.dropout(self.attention(x)))
        return self.norm2(x + self.dropout(self.down(self.gelu(self.up(x)))))


def main():
    torch.manual_seed(1)
    torch.backends.mha.set_fastpath_enabled(False)
    layer = torch.nn.TransformerEncoderLayer(
        d_model=32, nhead=4, dim_feedforward=64, dropout=0.1, activation="gelu",
        batch_first=True).eval()
    export_all(layer, "layer", opsets=())
    export_all(Encoder().eval(), "encoder", opsets=(13, 17))


def export_all(layer, name, opsets):
    example = torch.randn(2, 5, 32)
    for opset in opsets:
        torch.onnx.export(
            layer, (example,), str(HERE / f"{name}_{opset}.onnx"), opset_version=opset,
            input_names=["x"], output_names=["y"], dynamo=False,
            dynamic_axes={"x": {0: "batch", 1: "sequence"}, "y": {0: "batch", 1: "sequence"}})
    program = torch.onnx.export(
        layer, (example,), dynamo=True, input_names=["x"], output_names=["y"],
        dynamic_shapes=({0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence")},))
    program.save(str(HERE / f"{name}_new.onnx"))
    for i, shape in enumerate([(1, 1, 32), (2, 5, 32), (3, 17, 32)]):
        x = torch.randn(*shape)
        with torch.no_grad():
            y = layer(x)
        np.save(HERE / f"{name}_input_{i}.npy", x.numpy())
        np.save(HERE / f"{name}_output_{i}.npy", y.numpy())


if __name__ == "__main__":
    main()
