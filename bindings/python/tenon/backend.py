"""ONNX's backend interface: what `onnx.backend.test.BackendTest` and its like run models with.

It is the one module that needs the package `onnx`, and nothing else of Tenon imports it.
`onnx.backend.test.BackendTest(tenon.backend.TenonBackend)` works, and so does the module
itself in the place of the class.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, Mapping, Sequence, Union

import numpy as np

try:
    import onnx
    import onnx.checker
    import onnx.shape_inference
    from onnx import helper
    from onnx.backend.base import Backend, BackendRep, namedtupledict
    from onnx.onnx_cpp2py_export import checker as onnx_checker
except ImportError as _error:
    raise ImportError("tenon.backend needs the package 'onnx': pip install onnx") from _error

from . import _dtypes
from ._runtime import default_runtime
from .errors import UNSUPPORTED, InvalidArgument, TenonError
from .model import Model
from .providers import id_of, settings_of
from .session import InferenceSession

Source = Union["onnx.ModelProto", str, bytes, "os.PathLike[str]", InferenceSession, Model]


class TenonBackendRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, model: Model):
        self.model = model
        self._outputs = namedtupledict("Outputs", [io.name for io in model.outputs])

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Outputs, by place and by name, for a list of inputs in the model's order, a dict of
        them by name, or the one input. None leaves an optional one out."""
        if kwargs:
            raise InvalidArgument(f"a run takes no option '{next(iter(kwargs))}'")
        if isinstance(inputs, Mapping):
            feed = dict(inputs)
        else:
            values = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            places = self.model.inputs
            if len(values) > len(places):
                raise InvalidArgument(f"{len(values)} values for {len(places)} inputs")
            feed = {io.name: value for io, value in zip(places, values)}
        return self._outputs(*self.model.run(feed))


def _provider_of(device: str | None) -> str:
    """The provider that serves a device of ONNX's notation, such as CPU or CUDA:1."""
    kind, _, number = (device or "CPU").partition(":")
    if number not in ("", "0"):
        raise InvalidArgument(f"there is no device '{device}': providers have one each, number 0")
    return id_of(f"{kind}ExecutionProvider", default_runtime().providers())


def _values_of(node: onnx.NodeProto, inputs: Any) -> dict[str, Any]:
    """The inputs of a node by name."""
    if isinstance(inputs, Mapping):
        return dict(inputs)
    values = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    names = [name for name in node.input if name]
    if len(values) == len(node.input):  # absent ones have a place among the values
        return {name: value for name, value in zip(node.input, values) if name}
    if len(values) != len(names):
        raise InvalidArgument(f"{len(values)} values for {len(names)} inputs")
    return dict(zip(names, values))


def _type_of(value: Any) -> onnx.TypeProto:
    """The type of a value; sizes of what is in sequences stay open."""
    if isinstance(value, (list, tuple)):
        items = [np.asarray(item) for item in value] or [np.zeros(0, np.float32)]
        shape = [None] * items[0].ndim if len({item.ndim for item in items}) == 1 else None
        return helper.make_sequence_type_proto(
            helper.make_tensor_type_proto(_dtypes.number_of(items[0].dtype), shape))
    array = np.asarray(value)
    return helper.make_tensor_type_proto(_dtypes.number_of(array.dtype), array.shape)


def _check_node(node: onnx.NodeProto, domains: Mapping[str, int]) -> None:
    """Raises onnx.checker.ValidationError for a node that its domain's schema does not allow."""
    context = onnx_checker.CheckerContext()
    context.ir_version = onnx.IR_VERSION
    context.opset_imports = dict(domains)
    onnx.checker.check_node(node, context)


def _node_model(node: onnx.NodeProto, values: Mapping[str, Any],
                outputs_info: Sequence[tuple[Any, Sequence[int]]] | None,
                opset: int | None) -> onnx.ModelProto:
    """A model of one node, checked. Types of outputs that nobody told are inferred."""
    inputs = [helper.make_value_info(name, _type_of(value)) for name, value in values.items()]
    names = [name for name in node.output if name]
    outputs = [onnx.ValueInfoProto(name=name) for name in names]
    for info, (dtype, shape) in zip(outputs, outputs_info or ()):
        info.type.CopyFrom(helper.make_tensor_type_proto(_dtypes.number_of(dtype), shape))
    domains = {"": opset or onnx.defs.onnx_opset_version()}
    if node.domain not in ("", "ai.onnx"):
        domains[node.domain] = 1
        with contextlib.suppress(onnx.defs.SchemaError):
            schema = onnx.defs.get_schema(node.op_type, domain=node.domain)
            domains[node.domain] = schema.since_version
    _check_node(node, domains)
    model = helper.make_model(
        helper.make_graph([node], "node", inputs, outputs),
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in domains.items()])
    return model if outputs_info else onnx.shape_inference.infer_shapes(model)


class TenonBackend(Backend):
    """Runs models and nodes of the package `onnx` on Tenon."""

    @classmethod
    def prepare(cls, model: Source, device: str = "CPU", **kwargs: Any) -> TenonBackendRep:
        """A model that is ready to run: a ModelProto, a path, bytes or a session. `settings`
        are rows of docs/config.md."""
        settings = dict(kwargs.pop("settings", None) or {})
        if kwargs:
            raise InvalidArgument(f"there is no option '{next(iter(kwargs))}': pass settings={{...}}")
        if isinstance(model, InferenceSession):
            model = model.model
        if isinstance(model, Model):
            return TenonBackendRep(model)
        chosen, _ = settings_of([_provider_of(device)], None, default_runtime())
        source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else model
        return TenonBackendRep(Model(source, {**chosen, **settings}))

    @classmethod
    def run_model(cls, model: Source, inputs: Any, device: str = "CPU", **kwargs: Any
                  ) -> tuple[Any, ...]:
        """Outputs of one run."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU",
                 outputs_info: Sequence[tuple[Any, Sequence[int]]] | None = None,
                 **kwargs: Any) -> tuple[Any, ...]:
        """Outputs of one node for its inputs in order or by name. `opset_version` is that of
        ai.onnx; without it the newest counts that the package `onnx` knows."""
        values = _values_of(node, inputs)
        model = _node_model(node, values, outputs_info, kwargs.pop("opset_version", None))
        return cls.prepare(model, device, **kwargs).run(values)

    @classmethod
    def is_compatible(cls, model: Source, device: str = "CPU", **kwargs: Any) -> bool:
        """False for a model that needs what no plugin offers. What else may be wrong with it,
        `prepare` says."""
        try:
            cls.prepare(model, device, **kwargs)
        except TenonError as error:
            return error.code != UNSUPPORTED
        return True

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a plugin offers a provider for it."""
        try:
            _provider_of(device)
        except InvalidArgument:
            return False
        return True


is_compatible = TenonBackend.is_compatible
prepare = TenonBackend.prepare
run = run_model = TenonBackend.run_model
run_node = TenonBackend.run_node
supports_device = TenonBackend.supports_device
