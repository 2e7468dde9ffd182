"""Where an array's data lies, without the microseconds that ndarray.ctypes takes.

An array object begins with CPython's object head and then the data pointer; that layout is
part of numpy's C ABI. It is tried once here, and where it does not hold ndarray.ctypes serves.
"""

from __future__ import annotations

import ctypes
import platform

import numpy as np

_HEAD = object.__basicsize__
_pointer_at = ctypes.c_void_p.from_address


def _slow(array: np.ndarray) -> int:
    return array.ctypes.data


def _fast(array: np.ndarray) -> int:
    return _pointer_at(id(array) + _HEAD).value or 0


def _layout_is_known() -> bool:
    if platform.python_implementation() != "CPython":
        return False
    samples: list[np.ndarray] = [
        np.zeros(3), np.arange(10, dtype=np.int8)[3:], np.zeros((2, 2)).T, np.array(1.0)]
    return all(_fast(array) == array.ctypes.data for array in samples)


address = _fast if _layout_is_known() else _slow
