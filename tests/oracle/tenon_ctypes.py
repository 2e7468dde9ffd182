"""The public API of libtenon through ctypes, as far as tests need it: models from bytes, numpy
arrays in and out. The library is LIBTENON, its plugins are found as ever
(TENON_PLUGIN_PATH)."""
import ctypes as c
import os

import ml_dtypes
import numpy as np

DTYPES = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
    9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
    14: np.complex64, 15: np.complex128, 16: ml_dtypes.bfloat16}
NUMBERS = {np.dtype(t): n for n, t in DTYPES.items()}
STRING = 8


class Diag(c.Structure):
    _fields_ = [("code", c.c_int32), ("rule", c.c_uint32), ("message", c.c_char * 512),
                ("node", c.c_char * 96), ("op", c.c_char * 96), ("tensor", c.c_char * 96),
                ("plugin", c.c_char * 96)]


class Option(c.Structure):
    _fields_ = [("key", c.c_char_p), ("value", c.c_char_p)]


class Options(c.Structure):  # of a runtime and of a session: they begin alike
    _fields_ = [("struct_size", c.c_uint32), ("flags", c.c_uint32),
                ("options", c.POINTER(Option)), ("n", c.c_uint64), ("log", c.c_void_p),
                ("log_arg", c.c_void_p)]


class Model(c.Structure):
    _fields_ = [("path", c.c_char_p), ("data", c.c_char_p), ("size", c.c_uint64),
                ("base_dir", c.c_char_p), ("read", c.c_void_p), ("read_arg", c.c_void_p),
                ("keep", c.c_uint32), ("reserved", c.c_uint32)]


class String(c.Structure):
    _fields_ = [("data", c.c_char_p), ("size", c.c_uint64)]


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("dims", c.POINTER(c.c_int64)), ("strides", c.c_void_p),
                ("size", c.c_uint64), ("dtype", c.c_int32), ("rank", c.c_uint32),
                ("space", c.c_uint32), ("layout", c.c_uint32), ("flags", c.c_uint32),
                ("reserved", c.c_uint32 * 3)]


class Value(c.Structure):
    _fields_ = [("kind", c.c_uint32), ("flags", c.c_uint32), ("tensor", c.POINTER(Tensor))]


class TenonError(Exception):
    pass


def _library():
    library = c.CDLL(os.environ["LIBTENON"])
    library.tn_context_output.restype = c.POINTER(Value)
    for name in ("tn_runtime_destroy", "tn_session_destroy", "tn_context_destroy"):
        getattr(library, name).restype = None
    return library


LIB = _library()


def _check(status, diag):
    if status != 0:
        raise TenonError(f"{status}: {diag.message.decode(errors='replace')}")


def _options(settings, size):
    rows = (Option * max(len(settings), 1))(
        *[Option(k.encode(), str(v).encode()) for k, v in settings.items()])
    return Options(size, 0, rows, len(settings), None, None)


class Runtime:
    def __init__(self, **settings):
        self.handle, diag = c.c_void_p(), Diag()
        settings = {k.replace("_", "."): v for k, v in settings.items()}
        _check(LIB.tn_runtime_create(c.byref(_options(settings, c.sizeof(Options))),
                                     c.byref(self.handle), c.byref(diag)), diag)

    def close(self):
        LIB.tn_runtime_destroy(self.handle)


def _tensor(array):
    """Returns a Value and what must stay alive with it."""
    array = np.asarray(array, order="C")
    dims = (c.c_int64 * max(array.ndim, 1))(*array.shape)
    if array.dtype == object:
        texts = [t.encode() if isinstance(t, str) else bytes(t) for t in array.ravel()]
        data = (String * max(len(texts), 1))(*[String(t, len(t)) for t in texts])
        tensor = Tensor(c.cast(data, c.c_void_p), dims, None, 16 * len(texts), STRING, array.ndim)
        keep = (array, dims, data, texts)
    else:
        tensor = Tensor(array.ctypes.data, dims, None, array.nbytes, NUMBERS[array.dtype],
                        array.ndim)
        keep = (array, dims)
    return Value(1, 0, c.pointer(tensor)), keep + (tensor,)


def _array(value):
    if value.kind != 1:
        return None
    t = value.tensor.contents
    shape = tuple(t.dims[i] for i in range(t.rank))
    count = int(np.prod(shape, dtype=np.int64))
    if t.dtype == STRING:
        texts = []
        for i in range(count):
            row = (c.c_uint64 * 2).from_address(t.data + 16 * i)
            texts.append(c.string_at(row[0], row[1]).decode(errors="replace") if row[1] else "")
        return np.array(texts, dtype=object).reshape(shape)
    dtype = np.dtype(DTYPES[t.dtype])
    raw = c.string_at(t.data, t.size) if count else b""
    return np.frombuffer(raw, dtype=dtype, count=count).reshape(shape).copy()


class Session:
    """One model and one context."""

    def __init__(self, runtime, model, **settings):
        self.session, self.context, diag = c.c_void_p(), c.c_void_p(), Diag()
        settings = {k.replace("_", "."): v for k, v in settings.items()}
        options = _options(settings, 24)
        description = Model(None, model, len(model), None, None, None, 0, 0)
        _check(LIB.tn_session_create(runtime.handle, c.byref(description), c.byref(options),
                                     c.byref(self.session), c.byref(diag)), diag)
        status = LIB.tn_context_create(self.session, c.byref(self.context), c.byref(diag))
        if status != 0:
            LIB.tn_session_destroy(self.session)
            _check(status, diag)

    def run(self, feeds):
        diag, keep = Diag(), []
        for name, array in feeds.items():
            index = LIB.tn_session_find(self.session, 0, name.encode())
            value, alive = _tensor(array)
            keep.append((value, alive))
            _check(LIB.tn_context_set_input(self.context, index, c.byref(value), c.byref(diag)),
                   diag)
        _check(LIB.tn_context_run(self.context, None, c.byref(diag)), diag)
        n = LIB.tn_session_io_count(self.session, 1)
        return [_array(LIB.tn_context_output(self.context, i).contents) for i in range(n)]

    def close(self):
        LIB.tn_context_destroy(self.context)
        LIB.tn_session_destroy(self.session)
