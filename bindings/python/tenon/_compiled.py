"""A session of the library: compiled, described, destroyed after all that use it."""

from __future__ import annotations

import ctypes as c
import os
from typing import Any, Mapping, Union

import numpy as np

from . import _dtypes, _structs as s
from ._counted import Counted
from ._feed import Wanted, fill_tensor
from ._library import lib
from ._runtime import Runtime, option_rows
from .errors import NoSuchFile, error_of

Source = Union[str, bytes, bytearray, memoryview, "os.PathLike[str]"]


class NodeArg:
    """An input or output: its name, type and shape (sizes, names of symbols, None)."""

    __slots__ = ("name", "type", "shape")

    def __init__(self, name: str, type_: str, shape: list[int | str | None]):
        self.name, self.type, self.shape = name, type_, shape

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"


def _type_text(t: s.Type) -> str:
    tensor = f"tensor({_dtypes.TEXT.get(t.dtype, 'undefined')})"
    inner = tensor
    if t.kind == s.MAP or t.elem_kind == s.MAP:
        inner = f"map({_dtypes.TEXT.get(t.key_dtype, 'undefined')},{tensor})"
    elif t.elem_kind == s.SEQUENCE:
        inner = f"seq({tensor})"
    forms = {s.SEQUENCE: "seq({})", s.OPTIONAL: "optional({})", s.SPARSE: "sparse_{}"}
    return forms.get(t.kind, "{}").format(inner)


def _node_arg(io: s.Io) -> NodeArg:
    shape: list[int | str | None] = []
    tensor = io.type.kind in (s.TENSOR, s.OPTIONAL)
    for i in range(max(io.type.rank, 0) if tensor else 0):
        size, name = io.type.dims[i], io.dim_names[i]
        shape.append(size if size >= 0 else name.decode() if name else None)
    return NodeArg(io.name.decode(), _type_text(io.type), shape)


_LOAD_ERRORS = {4: NoSuchFile}


class Buffers:
    """Files of external data that are in memory: location → bytes."""

    def __init__(self, files: Mapping[str, Any]):
        self.files = {name: memoryview(data).cast("B") for name, data in files.items()}
        self.function = s.ReadFn(self._read)

    def _read(self, _arg: Any, location: bytes, offset: int, size: int, buffer: int,
              diag: Any) -> int:
        name = location.decode(errors="replace")
        data = self.files.get(name)
        if data is None or offset + size > len(data):
            found = "is not among the files given" if data is None else \
                f"has {len(data)} bytes, {offset + size} are wanted"
            if diag:
                diag.contents.code = 4
                diag.contents.message = f"external data '{name}' {found}".encode()[:511]
            return 4
        c.memmove(buffer, bytes(data[offset:offset + size]), size)
        return 0


def _weights_rows(weights: Mapping[str, Any], keep: list[Any]) -> c.Array[s.Weights]:
    """Arrays and OrtValues that take the place of initializers."""
    rows = (s.Weights * len(weights))()
    for row, (name, item) in zip(rows, weights.items()):
        array, number = item._tensor() if hasattr(item, "_tensor") else (item, None)
        array = np.asarray(array, order="C")
        tensor = s.Tensor()
        fill_tensor(tensor, array, _dtypes.number_of(array.dtype) if number is None else number,
                    keep)
        row.name, row.tensor = name.encode(), c.pointer(tensor)
        keep.append(tensor)
    return rows


class Compiled:
    """A session and what it borrows."""

    def __init__(self, source: str | bytes, settings: Mapping[str, str], runtime: Runtime,
                 base_dir: str | None, buffers: Buffers | None, weights: Mapping[str, Any]):
        keep: list[Any] = [source]  # what the session uses in place
        self.runtime = runtime
        self.counted = Counted(lib.tn_session_destroy, runtime.counted, keep)
        self.handle = self.counted.handle
        rows, given = option_rows(settings), _weights_rows(weights, keep)
        options = s.SessionOptions(
            c.sizeof(s.SessionOptions), 0, rows, len(rows), given, len(given))
        model = s.Model()
        if isinstance(source, str):
            model.path = os.fsencode(source)
        else:
            model.data = c.cast(c.c_char_p(source), c.c_void_p)
            model.size, model.keep = len(source), 1
            if base_dir is not None:
                model.base_dir = os.fsencode(base_dir)
        if buffers is not None:
            model.read = c.cast(buffers.function, c.c_void_p)
        diag = s.Diag()
        status = lib.tn_session_create(runtime.handle, c.byref(model), c.byref(options),
                                       c.byref(self.handle), c.byref(diag))
        if status:
            raise error_of(diag, status, _LOAD_ERRORS)
        self._describe()

    def __del__(self) -> None:
        self.counted.release()

    def _describe(self) -> None:
        def ios(which: int) -> list[s.Io]:
            count = lib.tn_session_io_count(self.handle, which)
            return [lib.tn_session_io(self.handle, which, i).contents for i in range(count)]

        inputs, over, outputs = ios(s.INPUT), ios(s.OVERRIDABLE), ios(s.OUTPUT)
        self.inputs = [_node_arg(io) for io in inputs]
        self.overridable = [_node_arg(io) for io in over]
        self.outputs = [_node_arg(io) for io in outputs]
        self.wanted = [Wanted(io.name.decode(), io.type) for io in inputs + over]
        self.is_optional = [bool(io.optional) or io.type.kind == s.OPTIONAL
                            for io in inputs + over]
