"""Finds libtenon and declares what is called in it.

In order: the file named by LIBTENON, the copy that came with the wheel, the
library installed in the system.
"""

from __future__ import annotations

import ctypes as c
import os
import pathlib

from . import _structs as s

_HANDLE = c.c_void_p
_OUT = c.POINTER(c.c_void_p)
_DIAG = c.POINTER(s.Diag)
_TEXT_OUT = c.POINTER(c.c_char_p)

# name: (result, arguments)
_FUNCTIONS = {
    "tn_version": (c.c_char_p, []),
    "tn_runtime_create": (c.c_int32, [c.POINTER(s.RuntimeOptions), _OUT, _DIAG]),
    "tn_runtime_destroy": (None, [_HANDLE]),
    "tn_runtime_load_plugin": (c.c_int32, [_HANDLE, c.c_char_p, _DIAG]),
    "tn_runtime_report": (
        c.c_int32, [_HANDLE, c.c_uint32, c.c_uint32, s.WriteFn, c.c_void_p, _DIAG]),
    "tn_session_create": (
        c.c_int32,
        [_HANDLE, c.POINTER(s.Model), c.POINTER(s.SessionOptions), _OUT, _DIAG]),
    "tn_session_destroy": (None, [_HANDLE]),
    "tn_session_io_count": (c.c_uint32, [_HANDLE, c.c_uint32]),
    "tn_session_io": (c.POINTER(s.Io), [_HANDLE, c.c_uint32, c.c_uint32]),
    "tn_session_info": (None, [_HANDLE, c.POINTER(s.ModelInfo)]),
    "tn_session_opset": (c.c_uint32, [_HANDLE, c.c_uint32, _TEXT_OUT, c.POINTER(c.c_int64)]),
    "tn_session_metadata": (c.c_uint32, [_HANDLE, c.c_uint32, _TEXT_OUT, _TEXT_OUT]),
    "tn_session_report": (
        c.c_int32, [_HANDLE, c.c_uint32, c.c_uint32, s.WriteFn, c.c_void_p, _DIAG]),
    "tn_context_create": (c.c_int32, [_HANDLE, _OUT, _DIAG]),
    "tn_context_destroy": (None, [_HANDLE]),
    "tn_context_take_output": (c.c_int32, [_HANDLE, c.c_uint32, _OUT, _DIAG]),
    "tn_context_shrink": (None, [_HANDLE]),
    "tn_context_report": (
        c.c_int32, [_HANDLE, c.c_uint32, c.c_uint32, s.WriteFn, c.c_void_p, _DIAG]),
    "tn_value_copy": (c.c_int32, [c.POINTER(s.Value), _OUT, _DIAG]),
    "tn_value_get": (c.POINTER(s.Value), [_HANDLE]),
    "tn_value_release": (None, [_OUT]),
}


def _candidates() -> list[str]:
    named = os.environ.get("LIBTENON")
    if named:
        return [named]
    beside = pathlib.Path(__file__).resolve().parent.parent / ".tenon.mesonpy.libs"
    return [*map(str, sorted(beside.glob("libtenon.so*"))), "libtenon.so.0", "libtenon.so"]


def _open() -> c.CDLL:
    reasons = []
    for path in _candidates():
        try:
            return c.CDLL(path)
        except OSError as error:
            reasons.append(str(error))
    raise ImportError(
        "libtenon cannot be loaded: " + "; ".join(reasons) +
        " (install the library or the wheel, or set LIBTENON to its path)")


def _declare(library: c.CDLL) -> c.CDLL:
    for name, (result, arguments) in _FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(
                f"{library._name} has no {name}: it is older than this package; "
                "install the same version of both") from None
        function.restype = result
        function.argtypes = arguments
    return library


lib = _declare(_open())
# The one function of the hot path: its argument is ready-made, so it declares nothing.
call_run = lib["tn_call_run"]
version: str = lib.tn_version().decode()
