#!/usr/bin/env python3
"""Exports models from PyTorch by both exporters at opsets 11, 13, 17 and the newest, and
compares Tenon's outputs with PyTorch's for several batch sizes, within 1e-4.

    PYTHONPATH=bindings/python LIBTENON=.../libtenon.so TENON_PLUGIN_PATH=... export_models.py [--models lstm,unet]
        [--fixtures DIR]

--fixtures writes the small ones with inputs and PyTorch's outputs as .npy for tests/e2e. Exits
with 77 (a skipped test) when torch is not installed. What an exporter itself refuses is told
and does not count.
"""
import argparse
import io
import logging
import pathlib
import sys
import warnings

try:
    import numpy as np
    import onnx
    import torch
    from torch import nn
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import tenon

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
torch.manual_seed(0)
torch.backends.mha.set_fastpath_enabled(False)
OPSETS = (11, 13, 17, "old newest", "dynamo", "dynamo newest")
DYNAMO_NEWEST = 24
BATCHES = (1, 2, 5)


def mlp():
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(), nn.Linear(32, 16), nn.GELU(), nn.Linear(16, 4),
                         nn.Softmax(dim=-1)), (10,)


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 12, 3, stride=2, padding=1), nn.BatchNorm2d(12), nn.SiLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(12, 5)), (3, 17, 21)


class Residual(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
            nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout))
        self.skip = nn.Identity() if stride == 1 and cin == cout else nn.Sequential(
            nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        return torch.relu(self.body(x) + self.skip(x))


def resnet18():
    widths, layers, cin = (64, 128, 256, 512), [], 64
    for i, width in enumerate(widths):
        layers += [Residual(cin, width, 1 if i == 0 else 2), Residual(width, width, 1)]
        cin = width
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1), *layers,
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)), (3, 64, 64)


class Inverted(nn.Module):
    """MobileNetV3's block: expand, depthwise, squeeze and excite, project."""

    def __init__(self, cin, hidden, cout, kernel, stride, squeeze, act):
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(cin, hidden, 1, bias=False), nn.BatchNorm2d(hidden), act())
        self.depth = nn.Sequential(nn.Conv2d(hidden, hidden, kernel, stride, kernel // 2, groups=hidden, bias=False),
                                   nn.BatchNorm2d(hidden), act())
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(hidden, 8, 1), nn.ReLU(),
                                  nn.Conv2d(8, hidden, 1), nn.Hardsigmoid()) if squeeze else None
        self.project = nn.Sequential(nn.Conv2d(hidden, cout, 1, bias=False), nn.BatchNorm2d(cout))
        self.residual = stride == 1 and cin == cout

    def forward(self, x):
        y = self.depth(self.expand(x))
        y = self.project(y * self.gate(y) if self.gate else y)
        return x + y if self.residual else y


def mobilenet():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish(),
        Inverted(16, 16, 16, 3, 2, True, nn.ReLU), Inverted(16, 72, 24, 3, 2, False, nn.ReLU),
        Inverted(24, 88, 24, 3, 1, False, nn.ReLU), Inverted(24, 96, 40, 5, 2, True, nn.Hardswish),
        Inverted(40, 240, 40, 5, 1, True, nn.Hardswish), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(40, 64), nn.Hardswish(), nn.Linear(64, 7)), (3, 64, 64)


class Encoder(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.register_buffer("mask", torch.triu(torch.full((16, 16), float("-inf")), 1))
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.ffn = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))

    def forward(self, ids):
        x = self.embed(ids)
        b, s, w = x.shape
        q, k, v = (t.reshape(b, s, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        mask = self.mask[:s, :s]
        a = torch.softmax(q @ k.transpose(-2, -1) / (w // self.heads) ** 0.5 + mask, -1) @ v
        x = self.norm1(x + self.out(a.transpose(1, 2).reshape(b, s, w)))
        return self.norm2(x + self.ffn(x))


def encoder():
    return Encoder(), ("ids", 9)


class Last(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net, self.head = net, nn.Linear(24, 3)

    def forward(self, x):
        return self.head(self.net(x)[0])


def lstm():
    return Last(nn.LSTM(6, 12, num_layers=2, batch_first=True, bidirectional=True)), (7, 6)


def gru():
    return Last(nn.GRU(6, 12, batch_first=True, bidirectional=True)), (7, 6)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.LeakyReLU(0.1))
        self.down1, self.down2, self.bottom = block(1, 4), block(4, 8), block(8, 16)
        self.up2, self.up1 = nn.ConvTranspose2d(16, 8, 2, 2), nn.ConvTranspose2d(8, 4, 3, 2, 1, 1)
        self.mid2, self.mid1, self.head = block(16, 8), block(8, 4), nn.Conv2d(4, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(nn.functional.max_pool2d(a, 2))
        c = self.bottom(nn.functional.avg_pool2d(b, 2))
        c = self.mid2(torch.cat([self.up2(c), b], 1))
        c = self.mid1(torch.cat([self.up1(c), a], 1))
        return self.head(nn.functional.interpolate(c, scale_factor=2.0, mode="bilinear", align_corners=False))


def unet():
    return UNet(), (1, 16, 24)


def torchvision_models():
    """The real ones where torchvision is installed."""
    try:
        from torchvision import models
    except Exception:
        return {}
    return {"vision_resnet18": lambda: (models.resnet18(num_classes=10), (3, 64, 64)),
            "vision_mobilenet_v3": lambda: (models.mobilenet_v3_small(num_classes=10), (3, 64, 64)),
            "vision_squeezenet": lambda: (models.squeezenet1_1(num_classes=10), (3, 64, 64))}


class Until(nn.Module):
    """A loop whose number of turns depends on the data."""

    def forward(self, x):
        total = torch.zeros_like(x)
        i = 0
        while bool(total.abs().max() < 20.0) and i < 50:
            total = total * 1.1 + x + 0.1
            i += 1
        return total


class Either(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            y = torch.relu(x) * 2.0
        else:
            y = x - 1.0
        return y


class Cond(nn.Module):
    """If and Loop in the words of torch.export."""

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: torch.relu(v) * 2.0, lambda v: v - 1.0, (x,))


class Turns(nn.Module):
    def forward(self, x):
        more = lambda i, v: (v.abs().max() < 20.0) & (i < 50)
        turn = lambda i, v: (i + 1, v * 1.1 + x.sign())
        return torch.while_loop(more, turn, (torch.tensor(0), x))[1]


def cond():
    return Cond(), (4,)


def turns():
    return Turns(), (4,)


def loop():
    return torch.jit.script(Until()), (4,)


def branch():
    return torch.jit.script(Either()), (4,)


MODELS = {f.__name__: f for f in (mlp, cnn, resnet18, mobilenet, encoder, lstm, gru, unet, loop, branch, cond, turns)}
MODELS.update(torchvision_models())
FIXTURES = {("lstm", 13), ("gru", 17), ("unet", 11), ("loop", 13), ("branch", 11), ("mlp", "dynamo"),
            ("unet", "dynamo"), ("cond", "dynamo newest")}


def example(shape, batch):
    if shape[0] == "ids":
        return torch.randint(0, 50, (batch, shape[1]))
    x = torch.randn(batch, *shape)
    return x if shape != (4,) else x.abs() if batch % 2 else -x.abs()  # both branches


def export(net, x, opset):
    out = io.BytesIO()
    if str(opset).startswith("dynamo"):
        newest = {"opset_version": DYNAMO_NEWEST} if opset == "dynamo newest" else {}
        program = torch.onnx.export(net, (x,), dynamo=True, input_names=["x"], output_names=["y"],
                                    dynamic_shapes=({0: torch.export.Dim("batch")},), verbose=False, **newest)
        return program.model_proto.SerializeToString()
    newest = {} if opset == "old newest" else {"opset_version": opset}
    torch.onnx.export(net, (x,), out, dynamo=False, input_names=["x"], output_names=["y"],
                      dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}}, **newest)
    return out.getvalue()


def fixture(folder, name, opset, model, pairs):
    name = f"{name}_{opset}".replace(" ", "_")
    proto = onnx.load_from_string(model)
    for item in [*proto.graph.node, *proto.graph.value_info, *proto.graph.input, *proto.graph.output, proto.graph]:
        del item.metadata_props[:]  # stacks of the exporting machine
    for node in proto.graph.node:
        for attr in node.attribute:
            for inner in attr.g.node:
                del inner.metadata_props[:]
    onnx.save(proto, str(folder / f"{name}.onnx"))
    for i, (x, y) in enumerate(pairs[:2]):
        np.save(folder / f"{name}_input_{i}.npy", x)
        np.save(folder / f"{name}_output_{i}.npy", y)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--fixtures", type=pathlib.Path)
    args = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    bad = 0
    for name in args.models.split(","):
        net, shape = MODELS[name]()
        net = net.eval()
        pairs = [(x.numpy(), net(x).detach().numpy()) for x in (example(shape, b) for b in BATCHES)]
        for opset in OPSETS:
            try:
                model = export(net, example(shape, 2), opset)
            except Exception as error:
                lines = [line for line in str(error).splitlines() if line.strip()] or [repr(error)]
                print(f"{name} {opset}: the exporter refuses: {lines[0][:90]}")
                continue
            worst = 0.0
            try:
                for level in ("none", "all"):
                    session = tenon.Model(model, {"level": level})
                    for x, y in pairs:
                        worst = max(worst, float(np.abs(session.run({"x": x})[0] - y).max()))
            except tenon.TenonError as error:
                worst = float("inf")
                print(f"    {error}")
            print(f"{name} {opset} (opset {onnx.load_from_string(model).opset_import[0].version}): "
                  f"largest difference {worst:.2g}")
            bad += not worst <= 1e-4
            if args.fixtures and (name, opset) in FIXTURES and len(model) <= 100_000:
                fixture(args.fixtures, name, opset, model, pairs)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
