"""A compiled model: what sessions are made of, and Tenon's own face.

>>> import numpy as np, tenon
>>> model = tenon.Model("examples/digits/digits.onnx")
>>> model.inputs[0]
NodeArg(name='image', type='tensor(float)', shape=['batch', 64])
>>> model(np.zeros((2, 64), np.float32))[0].shape
(2, 10)
"""

from __future__ import annotations

import ctypes as c
import json
import os
from typing import Any, Callable, Mapping, Sequence

from . import _structs as s
from ._caller import Caller
from ._compiled import Buffers, Compiled, NodeArg, Source
from ._library import lib
from ._runtime import RUNTIME_KEYS, Runtime, read_report, report_number, shared_runtime
from .errors import InvalidArgument


class Model:
    """A model, compiled: thread-safe, picklable, usable after a fork.

    `source` is a path or the bytes of a model; `settings` are rows of docs/config.md, such as
    {"provider": "cpu", "threads": "1", "limits.nodes": "1000"}. External data of a model from
    bytes lies in the folder `base_dir` or in `files` (location to bytes). `weights` (arrays by
    name) take the place of initializers, used in place. `plugins` are
    libraries to load first. `zipmap=False` gives the matrix where a model ends in a list of
    dicts.
    """

    def __init__(self, source: Source, settings: Mapping[str, Any] | None = None, *,
                 base_dir: str | None = None, files: Mapping[str, Any] | None = None,
                 weights: Mapping[str, Any] | None = None, plugins: Sequence[str] = (),
                 zipmap: bool = True):
        self.settings = {str(k): str(v) for k, v in (settings or {}).items()}
        self.base_dir, self.files, self.plugins = base_dir, dict(files or {}), tuple(plugins)
        self.weights, self.zipmap = dict(weights or {}), zipmap
        self.source: str | bytes
        if isinstance(source, (str, os.PathLike)):
            self.source = os.fspath(source)
        elif isinstance(source, (bytes, bytearray, memoryview)):
            self.source = bytes(source)
        else:
            raise TypeError(f"a model is a path or bytes, not {type(source).__name__}")
        self._compile()

    # ---- life ------------------------------------------------------------------------------

    def _compile(self) -> None:
        of_session, of_runtime = {}, []
        for key, value in self.settings.items():
            if key in RUNTIME_KEYS:
                of_runtime.append((key, value))
            else:
                of_session[key] = value
        self.compiled = Compiled(
            self.source, of_session, shared_runtime(of_runtime, self.plugins), self.base_dir,
            Buffers(self.files) if self.files else None, self.weights)
        self._idle: list[Caller] = []
        self._output_index = {io.name: i for i, io in enumerate(self.outputs)}
        self._all_outputs = range(len(self.outputs))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items()
                if name != "compiled" and not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._compile()

    # ---- facts -----------------------------------------------------------------------------

    @property
    def runtime(self) -> Runtime:
        return self.compiled.runtime

    @property
    def inputs(self) -> list[NodeArg]:
        return self.compiled.inputs

    @property
    def outputs(self) -> list[NodeArg]:
        return self.compiled.outputs

    @property
    def overridable(self) -> list[NodeArg]:
        """Initializers that a run may replace."""
        return self.compiled.overridable

    def info(self) -> s.ModelInfo:
        """Facts as the library has them; texts are bytes."""
        info = s.ModelInfo()
        lib.tn_session_info(self.compiled.handle, c.byref(info))
        return info

    def metadata(self) -> dict[str, str]:
        """The model's own key-value pairs."""
        found: dict[str, str] = {}
        key, value = c.c_char_p(), c.c_char_p()
        while lib.tn_session_metadata(self.compiled.handle, len(found), c.byref(key), c.byref(value)):
            found[(key.value or b"").decode(errors="replace")] = \
                (value.value or b"").decode(errors="replace")
        return found

    def opsets(self) -> dict[str, int]:
        """Operator sets that the model imports: domain → version."""
        found: dict[str, int] = {}
        domain, version = c.c_char_p(), c.c_int64()
        i = 0
        while lib.tn_session_opset(self.compiled.handle, i, c.byref(domain), c.byref(version)):
            found[(domain.value or b"").decode()] = version.value
            i += 1
        return found

    def report(self, name: str) -> Any:
        """`placement`, `operators`, `passes`, `graph` or `memory`, as parsed JSON."""
        return json.loads(
            read_report(lib.tn_session_report, self.compiled.handle, report_number(name), 1))

    def report_text(self, name: str) -> str:
        """The same for people."""
        return str(read_report(lib.tn_session_report, self.compiled.handle, report_number(name), 0))

    def trace(self) -> list[dict[str, Any]]:
        """Events of all recorded runs, as Chrome traces have them. No run may be in flight."""
        events: list[dict[str, Any]] = []
        for caller in list(self._idle):
            events += [event for event in caller.trace() if event not in events[:2]]
        return events

    def placement(self) -> list[dict[str, Any]]:
        """Where each node runs, on which kernel, and why the others declined."""
        nodes: list[dict[str, Any]] = self.report("placement")["nodes"]
        return nodes

    # ---- running ---------------------------------------------------------------------------

    def run(self, feed: Mapping[str, Any], outputs: Sequence[str] | None = None,
            options: Any = None) -> list[Any]:
        """Outputs by name (None: all, in the model's order) for inputs by name."""
        wanted = self._all_outputs if outputs is None else self.numbers_of(outputs)
        idle = self._idle
        try:
            caller = idle.pop()
        except IndexError:
            caller = Caller(self.compiled, self.zipmap)
        try:
            return caller.run(feed, wanted, options)
        finally:
            idle.append(caller)

    def __call__(self, *values: Any) -> list[Any]:
        """Outputs for inputs in the model's order."""
        if len(values) > len(self.inputs):
            raise InvalidArgument(f"{len(values)} values for {len(self.inputs)} inputs")
        return self.run({io.name: value for io, value in zip(self.inputs, values)})

    def shrink(self) -> None:
        """Gives back the memory of contexts that no run is using."""
        self._idle.clear()

    def with_caller(self, use: Callable[[Caller], Any]) -> Any:
        """Lends a context to `use`."""
        try:
            caller = self._idle.pop()
        except IndexError:
            caller = Caller(self.compiled, self.zipmap)
        try:
            return use(caller)
        finally:
            self._idle.append(caller)

    def numbers_of(self, outputs: Sequence[str]) -> list[int]:
        """Numbers of outputs by name."""
        try:
            return [self._output_index[name] for name in outputs]
        except KeyError as error:
            raise InvalidArgument(
                f"the model has no output {error}; it has {', '.join(self._output_index)}"
            ) from None
