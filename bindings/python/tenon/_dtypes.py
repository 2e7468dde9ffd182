"""Element types: ONNX number, ONNX text, numpy type.

Types that numpy lacks come from ml_dtypes where it is installed. Sub-byte types have one
element a byte in numpy and are packed in Tenon.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ml_dtypes: Any = None  # without it such tensors are refused by name
try:
    import ml_dtypes as _ml_dtypes
    ml_dtypes = _ml_dtypes
except ImportError:
    pass

UNDEFINED, STRING = 0, 8

# (number, text, bits, numpy name, or the name in ml_dtypes)
_ROWS = [
    (1, "float", 32, "float32"), (2, "uint8", 8, "uint8"), (3, "int8", 8, "int8"),
    (4, "uint16", 16, "uint16"), (5, "int16", 16, "int16"), (6, "int32", 32, "int32"),
    (7, "int64", 64, "int64"), (8, "string", 128, "object"), (9, "bool", 8, "bool"),
    (10, "float16", 16, "float16"), (11, "double", 64, "float64"), (12, "uint32", 32, "uint32"),
    (13, "uint64", 64, "uint64"), (14, "complex64", 64, "complex64"),
    (15, "complex128", 128, "complex128"), (16, "bfloat16", 16, "bfloat16"),
    (17, "float8e4m3fn", 8, "float8_e4m3fn"), (18, "float8e4m3fnuz", 8, "float8_e4m3fnuz"),
    (19, "float8e5m2", 8, "float8_e5m2"), (20, "float8e5m2fnuz", 8, "float8_e5m2fnuz"),
    (21, "uint4", 4, "uint4"), (22, "int4", 4, "int4"), (23, "float4e2m1", 4, "float4_e2m1fn"),
    (24, "float8e8m0", 8, "float8_e8m0fnu"), (25, "uint2", 2, "uint2"), (26, "int2", 2, "int2")]

TEXT = {number: text for number, text, _, _ in _ROWS}
BITS = {number: bits for number, _, bits, _ in _ROWS}
NUMBER_OF_TEXT = {text: number for number, text, _, _ in _ROWS}


def _numpy_type(number: int, name: str) -> np.dtype[Any] | None:
    if number <= 15:
        return np.dtype(name)
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else None


NUMPY = {number: _numpy_type(number, name) for number, _, _, name in _ROWS}
NUMBER = {dtype: number for number, dtype in NUMPY.items() if dtype is not None}
# numpy has two types of 8 bytes where C has `long` and `long long`
NUMBER[np.dtype(np.longlong)] = NUMBER_OF_TEXT["int64"]
NUMBER[np.dtype(np.ulonglong)] = NUMBER_OF_TEXT["uint64"]


def numpy_of(number: int) -> np.dtype[Any]:
    """The numpy type of an element type; TypeError says what is missing."""
    dtype = NUMPY.get(number)
    if dtype is None:
        raise TypeError(
            f"numpy has no type for {TEXT.get(number, number)}: install ml_dtypes"
            + (" in a newer version" if ml_dtypes else ""))
    return dtype


def number_of(dtype: Any) -> int:
    """The element type of a numpy type (or of an ONNX number); TypeError when none."""
    if isinstance(dtype, int):
        if dtype in TEXT:
            return dtype
        raise TypeError(f"{dtype} is no ONNX element type")
    dtype = np.dtype(dtype)
    number = NUMBER.get(dtype)
    if number is None and dtype.kind in "US":
        return STRING
    if number is None:
        number = NUMBER.get(dtype.newbyteorder("="))
    if number is None:
        raise TypeError(f"numpy's {dtype} is no ONNX element type")
    return number


def pack(array: np.ndarray, bits: int) -> np.ndarray:
    """Elements of 2 or 4 bits, one a byte, as packed bytes: the first in the low bits."""
    per_byte = 8 // bits
    flat = array.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    padded = np.zeros(-(-flat.size // per_byte) * per_byte, np.uint8)
    padded[:flat.size] = flat
    shifts = np.arange(per_byte, dtype=np.uint8) * np.uint8(bits)
    return np.bitwise_or.reduce(padded.reshape(-1, per_byte) << shifts, axis=1)


def unpack(packed: np.ndarray, dtype: np.dtype[Any], shape: tuple[int, ...], bits: int,
           signed: bool) -> np.ndarray:
    """The inverse of pack."""
    per_byte = 8 // bits
    shifts = np.arange(per_byte, dtype=np.uint8) * np.uint8(bits)
    flat = (packed[:, None] >> shifts).reshape(-1) & np.uint8((1 << bits) - 1)
    flat = flat[:int(np.prod(shape, dtype=np.int64))]
    if signed:  # the sign's copies fill the byte
        sign = np.uint8(1 << (bits - 1))
        flat = (flat ^ sign) - sign
    return np.ascontiguousarray(flat).view(dtype).reshape(shape)
