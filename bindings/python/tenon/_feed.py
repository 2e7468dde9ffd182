"""From Python to Tenon: arrays, lists, dicts and OrtValues as values of the library.

Nothing is copied that the library can use in place. What a value borrows is put into a list
that must live as long as the value does.
"""

from __future__ import annotations

import ctypes as c
from operator import index
from typing import Any

import numpy as np

from . import _dtypes, _structs as s
from ._address import address
from .errors import InvalidArgument


class Wanted:
    """What an input takes: kinds and element types; 0 where the model leaves it open."""

    __slots__ = ("name", "kind", "elem_kind", "dtype", "key_dtype")

    def __init__(self, name: str, type_: s.Type):
        self.name = name
        self.kind, self.elem_kind = type_.kind, type_.elem_kind
        self.dtype, self.key_dtype = type_.dtype, type_.key_dtype


def _refuse(wanted: Wanted, found: str) -> InvalidArgument:
    dtype = _dtypes.TEXT.get(wanted.dtype, "any type")
    return InvalidArgument(f"input '{wanted.name}' got {found}, but the model wants {dtype}")


def _array_of(wanted: Wanted, value: Any) -> np.ndarray:
    """Plain Python values in the wanted element type; none becomes another integer."""
    target = _dtypes.NUMPY.get(wanted.dtype)
    try:
        array = np.array(value, dtype=target)
        if array.dtype.kind in "iu" and array.size:
            plain = np.array(value)
            if plain.dtype.kind in "iuf" and (plain != array).any():
                raise ValueError("not all of its numbers fit")
        return array
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _refuse(
            wanted, f"a {type(value).__name__} that is no such array ({error})") from None


def to_array(wanted: Wanted, value: Any) -> np.ndarray:
    """A dense array of native byte order. Arrays keep their element type (the library says
    when it does not fit); plain Python values take the wanted one."""
    if not isinstance(value, (np.ndarray, np.generic)):
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            value = np.from_dlpack(value)
        elif hasattr(value, "__array__"):
            value = np.asarray(value)
        elif value is None or isinstance(value, (str, bytes, dict)) and wanted.dtype != 8:
            raise _refuse(wanted, f"a value of type {type(value).__name__}")
        else:
            value = _array_of(wanted, value)
    if value.dtype.byteorder not in "=|" and not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    array = np.asarray(value, order="C")
    return array if array.flags.aligned else array.copy()


def _bytes_of(text: Any) -> bytes:
    if isinstance(text, bytes):
        return text
    try:
        return str(text).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"the text {text!r} is no Unicode: {error.reason}") from None


def _string_table(array: np.ndarray, keep: list[Any]) -> np.ndarray:
    """tn_string rows of a text array: pairs of address and size."""
    if array.dtype.kind == "S":
        texts = [bytes(t) for t in array.ravel()]
    else:
        texts = [_bytes_of(t) for t in array.ravel()]
    blob = b"".join(texts)
    sizes = np.fromiter(map(len, texts), np.uint64, len(texts))
    table = np.empty((len(texts), 2), np.uint64)
    base = c.cast(c.c_char_p(blob), c.c_void_p).value or 0
    ends = np.cumsum(sizes, dtype=np.uint64)
    table[:, 0] = ends - sizes + np.uint64(base)
    table[:, 1] = sizes
    keep += [blob, table]
    return table


def fill_tensor(tensor: s.Tensor, array: np.ndarray, number: int, keep: list[Any]) -> None:
    """Describes a dense array as a tensor of element type `number`."""
    shape = array.shape
    dims = (c.c_int64 * len(shape))(*shape)
    bits = _dtypes.BITS[number]
    data = array
    keep.append(array)
    if number == _dtypes.STRING:
        data = _string_table(array, keep)
    elif bits < 8 and array.dtype == _dtypes.NUMPY[number]:
        data = _dtypes.pack(array, bits)
        keep.append(data)
    tensor.data = address(data)
    tensor.size = data.nbytes
    tensor.dims = dims
    tensor.rank = len(shape)
    tensor.dtype = number
    keep.append(dims)


def number_of(wanted: Wanted, array: np.ndarray) -> int:
    try:
        return _dtypes.number_of(array.dtype)
    except TypeError as error:
        raise _refuse(wanted, f"an array of {array.dtype}") from error


def _fill_array(value: s.Value, wanted: Wanted, item: Any, keep: list[Any]) -> None:
    array = to_array(wanted, item)
    tensor = s.Tensor()
    fill_tensor(tensor, array, number_of(wanted, array), keep)
    value.kind, value.ptr = s.TENSOR, c.addressof(tensor)
    keep.append(tensor)


def _column(wanted: Wanted, what: str, items: list[Any], number: int) -> np.ndarray:
    """The keys or the values of a map. Nothing becomes another key on the way: no fraction an
    integer, no number a text."""
    column = np.empty(len(items), _dtypes.numpy_of(number))
    try:
        if number == _dtypes.STRING:
            strange = next((i for i in items if not isinstance(i, (str, bytes))), None)
            if strange is not None or None in items:
                raise TypeError(f"{strange!r} is no text")
        elif column.dtype.kind in "iu":
            items = [index(i) for i in items]
        column[:] = items
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(
            f"input '{wanted.name}' got a dict whose {what} are no "
            f"{_dtypes.TEXT.get(number)} ({error})") from None
    return column


def _fill_map(value: s.Value, wanted: Wanted, item: Any, keep: list[Any]) -> None:
    if not isinstance(item, dict):
        raise _refuse(wanted, f"a {type(item).__name__} where a dict belongs")
    keys = _column(wanted, "keys", list(item), wanted.key_dtype or 7)
    values = _column(wanted, "values", list(item.values()), wanted.dtype or 1)
    entry = s.Map()
    fill_tensor(entry.keys, keys, wanted.key_dtype or 7, keep)
    fill_tensor(entry.values, values, wanted.dtype or 1, keep)
    value.kind, value.ptr = s.MAP, c.addressof(entry)
    keep.append(entry)


def _fill_sequence(value: s.Value, wanted: Wanted, item: Any, keep: list[Any]) -> None:
    if not isinstance(item, (list, tuple)):
        raise InvalidArgument(
            f"input '{wanted.name}' got a {type(item).__name__}, but the model wants a sequence: "
            "pass a list")
    items = (s.Value * len(item))()
    fill_item = _fill_map if wanted.elem_kind == s.MAP else _fill_array
    for place, part in zip(items, item):
        fill_item(place, wanted, part, keep)
    sequence = s.Sequence(
        c.cast(items, c.POINTER(s.Value)), len(item), wanted.elem_kind or s.TENSOR, wanted.dtype,
        None)
    value.kind, value.ptr = s.SEQUENCE, c.addressof(sequence)
    keep += [items, sequence]


def _fill_optional(value: s.Value, wanted: Wanted, item: Any, keep: list[Any]) -> None:
    optional = s.Optional(s.Value(), wanted.elem_kind, wanted.dtype)
    if item is not None:
        fill = _fill_sequence if wanted.elem_kind == s.SEQUENCE else _fill_array
        fill(optional.value, wanted, item, keep)
    value.kind, value.ptr = s.OPTIONAL, c.addressof(optional)
    keep.append(optional)


_FILLS = {s.ABSENT: _fill_array, s.TENSOR: _fill_array, s.MAP: _fill_map,
          s.SEQUENCE: _fill_sequence, s.OPTIONAL: _fill_optional}


def fill(value: s.Value, wanted: Wanted, item: Any, keep: list[Any]) -> None:
    """Describes any Python value as what the input wants."""
    feed = getattr(item, "_feed", None)  # an OrtValue knows how
    if feed is not None:
        feed(value, wanted, keep)
        return
    one = _FILLS.get(wanted.kind)
    if one is None:
        raise InvalidArgument(f"input '{wanted.name}' is of a kind that cannot be given yet")
    one(value, wanted, item, keep)
