"""A model of a new architecture, exported from PyTorch with a custom operator.

    python3 export.py [FOLDER]

The model mixes the steps of a sequence by a gated linear recurrence,
h[t] = gate[t] * h[t-1] + (1 - gate[t]) * x[t], as state-space models do. PyTorch knows it
as the custom operator example::linear_recurrence; both of its ONNX exporters write it as
the node com.example.LinearRecurrence. Writes the model by each exporter, an input and
PyTorch's output.
"""
import pathlib
import sys

import numpy
import torch
from torch import library


@library.custom_op("example::linear_recurrence", mutates_args=())
def linear_recurrence(gate: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    state = torch.zeros_like(x[:, 0])
    steps = []
    for t in range(x.shape[1]):
        state = gate[:, t] * state + (1 - gate[:, t]) * x[:, t]
        steps.append(state)
    return torch.stack(steps, dim=1)


@linear_recurrence.register_fake
def _(gate, x):
    return torch.empty_like(x)


class Mixer(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.gate = torch.nn.Linear(width, width)
        self.value = torch.nn.Linear(width, width)
        self.out = torch.nn.Linear(width, width)

    def forward(self, x):
        mixed = linear_recurrence(torch.sigmoid(self.gate(x)), self.value(x))
        return x + self.out(torch.tanh(mixed))


def export_new(model, x, path):
    """The exporter of torch.export: a schema tells it the node, a table when to write it."""
    import onnx
    import onnxscript

    formal = onnx.defs.OpSchema.FormalParameter
    onnx.defs.register_schema(onnx.defs.OpSchema(
        "LinearRecurrence", "com.example", 1,
        inputs=[formal("gate", "T"), formal("x", "T")], outputs=[formal("h", "T")],
        type_constraints=[("T", ["tensor(float)"], "")]))
    node = onnxscript.values.Opset("com.example", 1).LinearRecurrence
    dynamic = {0: torch.export.Dim("batch"), 1: torch.export.Dim("time", min=2)}
    torch.onnx.export(
        model, (x,), str(path), dynamo=True, input_names=["x"], output_names=["y"],
        opset_version=20, external_data=False, dynamic_shapes=(dynamic,),
        custom_translation_table={
            torch.ops.example.linear_recurrence.default: lambda gate, x: node(gate, x)})
    exported = onnx.load(path)
    for item in [*exported.graph.node, *exported.graph.input, *exported.graph.output,
                 *exported.graph.value_info, *exported.graph.initializer, exported.graph]:
        del item.metadata_props[:]  # stack traces of the machine that exported
    onnx.save(exported, path)


def export_old(model, x, path):
    """The exporter of TorchScript: a symbolic function names the node."""
    torch.onnx.register_custom_op_symbolic(
        "example::linear_recurrence",
        lambda g, gate, x: g.op("com.example::LinearRecurrence", gate, x), 20)
    torch.onnx.export(
        model, (x,), str(path), dynamo=False, input_names=["x"], output_names=["y"],
        opset_version=20, custom_opsets={"com.example": 1},
        dynamic_axes={"x": {0: "batch", 1: "time"}, "y": {0: "batch", 1: "time"}})


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(5)
    model = Mixer().eval()
    x = torch.randn(2, 6, 8)
    with torch.no_grad():
        y = model(x)
    numpy.save(folder / "x.npy", x.numpy())
    numpy.save(folder / "y.npy", y.numpy())
    export_old(model, x, folder / "mixer_torchscript.onnx")
    export_new(model, x, folder / "mixer.onnx")


main()
