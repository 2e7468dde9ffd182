"""The structs of tenon/*.h. Their layouts are frozen; growable ones begin with their size."""

from __future__ import annotations

import ctypes as c

ABSENT, TENSOR, SEQUENCE, MAP, OPTIONAL, SPARSE = range(6)  # TN_KIND_*
INPUT, OUTPUT, OVERRIDABLE = range(3)
NO_INDEX = 0xFFFFFFFF


class Diag(c.Structure):
    _fields_ = [("code", c.c_int32), ("rule", c.c_uint32), ("message", c.c_char * 512),
                ("node", c.c_char * 96), ("op", c.c_char * 96), ("tensor", c.c_char * 96),
                ("plugin", c.c_char * 96)]


class Option(c.Structure):
    _fields_ = [("key", c.c_char_p), ("value", c.c_char_p)]


LogFn = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.c_char_p)
ReadFn = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_char_p, c.c_uint64, c.c_uint64, c.c_void_p,
                     c.POINTER(Diag))
WriteFn = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p, c.c_uint64)


class RuntimeOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("flags", c.c_uint32),
                ("options", c.POINTER(Option)), ("n_options", c.c_uint64),
                ("log", c.c_void_p), ("log_arg", c.c_void_p)]


class Model(c.Structure):
    _fields_ = [("path", c.c_char_p), ("data", c.c_void_p), ("size", c.c_uint64),
                ("base_dir", c.c_char_p), ("read", c.c_void_p), ("read_arg", c.c_void_p),
                ("keep", c.c_uint32), ("reserved", c.c_uint32)]


class Type(c.Structure):
    _fields_ = [("kind", c.c_uint32), ("elem_kind", c.c_uint32), ("dtype", c.c_int32),
                ("key_dtype", c.c_int32), ("rank", c.c_int32), ("reserved", c.c_uint32),
                ("dims", c.POINTER(c.c_int64))]


class Io(c.Structure):
    _fields_ = [("name", c.c_char_p), ("type", Type), ("dim_names", c.POINTER(c.c_char_p)),
                ("optional", c.c_uint32), ("reserved", c.c_uint32)]


class ModelInfo(c.Structure):
    _fields_ = [("ir_version", c.c_int64), ("model_version", c.c_int64),
                ("producer_name", c.c_char_p), ("producer_version", c.c_char_p),
                ("domain", c.c_char_p), ("doc", c.c_char_p), ("graph_name", c.c_char_p),
                ("n_nodes", c.c_uint64), ("n_parameters", c.c_uint64),
                ("weight_bytes", c.c_uint64), ("arena_bytes", c.c_uint64)]


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("dims", c.POINTER(c.c_int64)), ("strides", c.c_void_p),
                ("size", c.c_uint64), ("dtype", c.c_int32), ("rank", c.c_uint32),
                ("space", c.c_uint32), ("layout", c.c_uint32), ("flags", c.c_uint32),
                ("reserved", c.c_uint32 * 3)]


class Weights(c.Structure):
    _fields_ = [("name", c.c_char_p), ("tensor", c.POINTER(Tensor))]


class SessionOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("flags", c.c_uint32),
                ("options", c.POINTER(Option)), ("n_options", c.c_uint64),
                ("weights", c.POINTER(Weights)), ("n_weights", c.c_uint64)]


class Value(c.Structure):
    """tn_value_ref: `ptr` points at a Tensor, Sequence, Map or Optional, as `kind` says."""
    _fields_ = [("kind", c.c_uint32), ("flags", c.c_uint32), ("ptr", c.c_void_p)]


class Map(c.Structure):
    _fields_ = [("keys", Tensor), ("values", Tensor)]


class Sequence(c.Structure):
    """`items` NULL and maps inside: `table` has the keys of all and one row of values each."""
    _fields_ = [("items", c.POINTER(Value)), ("count", c.c_uint64), ("elem_kind", c.c_uint32),
                ("elem_dtype", c.c_int32), ("table", c.POINTER(Map))]


class Optional(c.Structure):
    _fields_ = [("value", Value), ("elem_kind", c.c_uint32), ("elem_dtype", c.c_int32)]


class RunOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("flags", c.c_uint32), ("deadline_ns", c.c_uint64),
                ("profile", c.c_uint32), ("reserved", c.c_uint32),
                ("terminate", c.POINTER(c.c_uint32))]


class CallOutput(c.Structure):
    _fields_ = [("buffer", c.c_void_p), ("size", c.c_uint64), ("value", c.POINTER(Value)),
                ("fixed", c.c_uint32), ("reserved", c.c_uint32)]


class Call(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("flags", c.c_uint32), ("context", c.c_void_p),
                ("inputs", c.POINTER(Value)), ("outputs", c.POINTER(CallOutput)),
                ("n_inputs", c.c_uint32), ("n_outputs", c.c_uint32),
                ("options", c.POINTER(RunOptions)), ("diag", c.POINTER(Diag))]
