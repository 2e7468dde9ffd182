"""Where an array's data lies, without the microseconds that ndarray.ctypes takes.

An array object begins with CPython's object head and then the data pointer; that layout is
part of numpy's C ABI. It is tried once here, and elsewhere ndarray.ctypes serves.
"""

from __future__ import annotations

import ctypes

import numpy as np

HEAD = object.__basicsize__
pointer_at = ctypes.c_void_p.from_address


def _slow(array: np.ndarray) -> int:
    return array.ctypes.data


def _fast(array: np.ndarray) -> int:
    return pointer_at(id(array) + HEAD).value or 0


def _layout_is_known() -> bool:
    samples = [np.zeros(3), np.arange(10, dtype=np.int8)[3:], np.zeros((2, 2)).T, np.array(1.0)]
    return all(_fast(a) == a.ctypes.data for a in samples)


try:
    import platform
    address = _fast if platform.python_implementation() == "CPython" and _layout_is_known() \
        else _slow
except Exception:  # pragma: no cover, an interpreter without such objects
    address = _slow
