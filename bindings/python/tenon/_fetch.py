"""From Tenon to Python: values of the library as arrays, lists and dicts.

Numeric arrays are views of the library's memory; each holds the owner that releases it.
"""

from __future__ import annotations

import ctypes as c
from typing import Any

import numpy as np

from . import _dtypes, _structs as s
from ._library import lib


class Owner:
    """A value of the library, released with this object."""

    __slots__ = ("handle",)

    def __init__(self, handle: c.c_void_p):
        self.handle = handle

    def value(self) -> s.Value:
        return lib.tn_value_get(self.handle).contents

    def __del__(self, release: Any = lib.tn_value_release, byref: Any = c.byref) -> None:
        release(byref(self.handle))




_EMPTY = np.zeros(0, np.uint8)


def _bytes_at(at: int, size: int, owner: Any) -> Any:
    if not size:
        return _EMPTY
    memory: Any = (c.c_char * size).from_address(at)
    memory.owner = owner  # an array over this memory keeps it, and so the owner
    return memory


def _strings(at: int, shape: tuple[int, ...]) -> np.ndarray:
    n = int(np.prod(shape, dtype=np.int64))
    out = np.empty(n, object)
    if n:
        rows = np.frombuffer(_bytes_at(at, 16 * n, None), np.uint64).reshape(n, 2)
        for i, (data, size) in enumerate(rows.tolist()):
            out[i] = c.string_at(data, size).decode("utf-8", "replace") if size else ""
    return out.reshape(shape)


def array_of(tensor: s.Tensor, owner: Any) -> np.ndarray:
    """A tensor as an array that keeps `owner`; texts and sub-byte types are copied."""
    shape = tuple(tensor.dims[:tensor.rank])
    if tensor.dtype == _dtypes.STRING:
        return _strings(tensor.data, shape)
    dtype = _dtypes.numpy_of(tensor.dtype)
    bits = _dtypes.BITS[tensor.dtype]
    memory = _bytes_at(tensor.data or 0, tensor.size, owner)
    if bits < 8:
        packed = np.frombuffer(memory, np.uint8)
        return _dtypes.unpack(
            packed, dtype, shape, bits, _dtypes.TEXT[tensor.dtype].startswith("int"))
    return np.ndarray(shape, dtype, memory)


def _map(value: s.Map, owner: Any) -> dict[Any, Any]:
    keys = array_of(value.keys, owner).tolist()
    values = array_of(value.values, owner)
    return dict(zip(keys, values.tolist() if values.ndim == 1 else values))


def _table(value: s.Sequence) -> s.Map | None:
    """What a sequence of maps with the same keys is kept as, if it is."""
    kept = value.elem_kind == s.MAP and not value.items and value.table
    return value.table.contents if kept else None


def _sequence(value: s.Sequence, owner: Any) -> list[Any]:
    table = _table(value)
    if table is None:
        return [python_of(value.items[i], owner) for i in range(value.count)]
    keys = array_of(table.keys, owner).tolist()
    rows = array_of(table.values, owner)
    return [dict(zip(keys, row)) for row in (rows.tolist() if rows.ndim == 2 else rows)]


def python_of(value: s.Value, owner: Any) -> Any:
    """A value as Python has it: array, list, dict, None."""
    if value.kind == s.ABSENT or not value.ptr:
        return None
    if value.kind == s.TENSOR:
        return array_of(s.Tensor.from_address(value.ptr), owner)
    if value.kind == s.SEQUENCE:
        return _sequence(s.Sequence.from_address(value.ptr), owner)
    if value.kind == s.MAP:
        return _map(s.Map.from_address(value.ptr), owner)
    if value.kind == s.OPTIONAL:
        return python_of(s.Optional.from_address(value.ptr).value, owner)
    raise TypeError(f"a value of kind {value.kind} has no form in Python")


def matrix_of(value: s.Value, owner: Any) -> Any:
    """A sequence of maps with the same keys as the matrix of their values, one row a map."""
    if value.kind != s.SEQUENCE:
        return python_of(value, owner)
    sequence = s.Sequence.from_address(value.ptr)
    if sequence.elem_kind != s.MAP:
        return python_of(value, owner)
    table = _table(sequence)
    if table is not None:
        return array_of(table.values, owner)
    rows = [array_of(s.Map.from_address(sequence.items[i].ptr).values, owner)
            for i in range(sequence.count)]
    return np.stack(rows) if rows else np.zeros((0, 0), _dtypes.numpy_of(sequence.elem_dtype))
