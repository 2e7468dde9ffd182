"""OrtValue: a tensor, sequence, map or optional outside of a run. IOBinding: runs on them."""

from __future__ import annotations

import ctypes as c
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from . import _dtypes, _feed, _structs as s
from ._address import address
from ._fetch import Owner, python_of
from .errors import InvalidArgument

if TYPE_CHECKING:
    from ._caller import Caller
    from .session import InferenceSession


def _check_device(device: str, device_id: int = 0) -> None:
    if device.lower() != "cpu" or device_id != 0:
        raise RuntimeError(f"there is no memory of device '{device}' {device_id}; there is cpu 0")


class OrtDevice:
    """Where memory is: the host."""

    def __init__(self, device_type: str = "cpu", device_id: int = 0):
        _check_device(device_type, device_id)
        self._type, self._id = device_type.lower(), device_id

    @staticmethod
    def make(device_type: str, device_id: int = 0) -> OrtDevice:
        return OrtDevice(device_type, device_id)

    def device_type(self) -> str:
        return self._type

    def device_id(self) -> int:
        return self._id


class OrtValue:
    """A value. Tensors are numpy arrays underneath (packed or raw where numpy lacks the type);
    outputs of runs stay in the library's memory. Nothing is copied without need."""

    def __init__(self, item: Any, number: int | None = None, text: str | None = None):
        """`item`: an array, list, dict or None; `number`: element type if not that of numpy."""
        self._item = item
        self._number = number
        self._text = text

    # ---- making ----------------------------------------------------------------------------

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: np.ndarray, device_type: str = "cpu",
                            device_id: int = 0, vendor_id: int = -1) -> OrtValue:
        """Over the array's own memory when it is dense; a copy when not."""
        _check_device(device_type, device_id)
        array = np.ascontiguousarray(numpy_obj) if np.ndim(numpy_obj) else np.asarray(numpy_obj)
        if array.dtype.kind in "OUS":
            return cls(array, _dtypes.STRING)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        return cls(array, _dtypes.number_of(array.dtype))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray, onnx_element_type: int
                                           ) -> OrtValue:
        """Raw bits as another element type of the same size."""
        number = _dtypes.number_of(onnx_element_type)
        if _dtypes.BITS[number] != data.dtype.itemsize * 8 and _dtypes.BITS[number] >= 8:
            raise RuntimeError(
                f"elements of {data.dtype} are not the size of {_dtypes.TEXT[number]}")
        return cls(np.ascontiguousarray(data), number)

    @classmethod
    def ortvalue_from_shape_and_type(cls, shape: Sequence[int], element_type: Any,
                                     device_type: str = "cpu", device_id: int = 0,
                                     vendor_id: int = -1) -> OrtValue:
        _check_device(device_type, device_id)
        number = _dtypes.number_of(element_type)
        return cls(np.zeros(tuple(shape), _dtypes.numpy_of(number)), number)

    @classmethod
    def from_dlpack(cls, data: Any, device_type: str | None = None,
                    device_id: int | None = None) -> OrtValue:
        """A tensor of any library that speaks DLPack and is in host memory; not copied."""
        return cls.ortvalue_from_numpy(np.from_dlpack(data))

    @classmethod
    def _from_owner(cls, owner: Owner, text: str) -> OrtValue:
        value = owner.value()
        number = s.Tensor.from_address(value.ptr).dtype if value.kind == s.TENSOR else None
        return cls(python_of(value, owner), number, text)

    # ---- asking ----------------------------------------------------------------------------

    def _array(self) -> np.ndarray:
        if not isinstance(self._item, np.ndarray):
            raise RuntimeError("only tensors can be asked for this")
        return self._item

    def numpy(self) -> np.ndarray:
        """The array itself, of a tensor."""
        array = self._array()
        if self._number is not None and _dtypes.NUMPY.get(self._number) != array.dtype \
                and self._number != _dtypes.STRING:
            return array.view(_dtypes.numpy_of(self._number))
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError("a cast needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, *, stream: Any = None, **more: Any) -> Any:
        return self.numpy().__dlpack__(stream=stream, **more)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.numpy().__dlpack_device__()

    def value(self) -> Any:
        """What it holds, as Python has it."""
        return self.numpy() if self.is_tensor() else self._item

    def shape(self) -> list[int]:
        return list(self._array().shape)

    def data_type(self) -> str:
        if self._text is not None:
            return self._text
        if self.is_tensor():
            return f"tensor({_dtypes.TEXT[self.element_type()]})"
        return "seq" if isinstance(self._item, list) else "map"

    def element_type(self) -> int:
        if self._number is not None:
            return self._number
        return _dtypes.number_of(self._array().dtype)

    def data_ptr(self) -> int:
        return address(self._array())

    def tensor_size_in_bytes(self) -> int:
        array, bits = self._array(), _dtypes.BITS[self.element_type()]
        return (array.size * bits + 7) // 8

    def device_name(self) -> str:
        return "cpu"

    def is_tensor(self) -> bool:
        return isinstance(self._item, np.ndarray)

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._item, list) and \
            all(isinstance(part, np.ndarray) for part in self._item)

    def is_sparse_tensor(self) -> bool:
        return False

    def has_value(self) -> bool:
        return self._item is not None

    def update_inplace(self, data: np.ndarray) -> None:
        """New contents for the same memory."""
        array, data = self._array(), np.asarray(data)
        if data.shape != array.shape:
            raise RuntimeError(
                f"an array of shape {data.shape} does not fit a value of shape {array.shape}")
        array[...] = data.astype(array.dtype, copy=False)

    def _tensor(self) -> tuple[np.ndarray, int]:
        return self._array(), self.element_type()

    # ---- for runs --------------------------------------------------------------------------

    def _feed(self, value: s.Value, wanted: _feed.Wanted, keep: list[Any]) -> None:
        if self._number is None or not self.is_tensor() \
                or wanted.kind not in (s.TENSOR, s.ABSENT):
            _feed.fill(value, wanted, self._item, keep)
            return
        tensor = s.Tensor()
        _feed.fill_tensor(tensor, self._array(), self._number, keep)
        value.kind, value.ptr = s.TENSOR, c.addressof(tensor)
        keep.append(tensor)


class _Place:
    """Where a bound output goes: memory of the caller, or the library's."""

    __slots__ = ("buffer", "size", "shape", "number", "value")

    def __init__(self, buffer: int | None = None, size: int = 0, shape: Any = None,
                 number: int | None = None, value: OrtValue | None = None):
        self.buffer, self.size, self.shape = buffer, size, shape
        self.number, self.value = number, value


class IOBinding:
    """Inputs and outputs bound to memory for runs of one session."""

    def __init__(self, session: InferenceSession):
        self._model = session._model
        self._inputs: dict[str, Any] = {}
        self._places: dict[str, _Place] = {}
        self._results: list[OrtValue] = []

    def _check_input(self, name: str) -> None:
        known = [io.name for io in self._model.inputs + self._model.overridable]
        if name not in known:
            raise RuntimeError(f"the model has no input '{name}'; it has {', '.join(known)}")

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        self._check_input(name)
        self._inputs[name] = arr_on_cpu

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self._check_input(name)
        self._inputs[name] = ortvalue

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any,
                   shape: Sequence[int], buffer_ptr: int) -> None:
        """Memory at an address that stays valid while it is bound."""
        self._check_input(name)
        _check_device(device_type, device_id)
        self._inputs[name] = _over_memory(buffer_ptr, tuple(shape), element_type)

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0,
                    element_type: Any = None, shape: Sequence[int] | None = None,
                    buffer_ptr: int | None = None) -> None:
        _check_device(device_type, device_id)
        if buffer_ptr is None:
            self._places[name] = _Place()
            return
        if shape is None or element_type is None:
            raise RuntimeError("memory for an output needs its element type and shape")
        value = _over_memory(buffer_ptr, tuple(shape), element_type)
        self.bind_ortvalue_output(name, value)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        array, text = ortvalue._array(), _dtypes.TEXT[ortvalue.element_type()]
        if not array.flags.writeable:
            raise RuntimeError(f"the array for output '{name}' is read-only")
        if _dtypes.BITS[ortvalue.element_type()] < 8 or text == "string":
            raise RuntimeError(f"output '{name}' of type {text} cannot be bound to memory")
        self._places[name] = _Place(
            ortvalue.data_ptr(), ortvalue.tensor_size_in_bytes(), tuple(ortvalue.shape()),
            ortvalue.element_type(), ortvalue)

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._places.clear()
        self._results = []

    def synchronize_inputs(self) -> None:
        """Nothing to wait for: bound memory is the host's."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for: a run is complete when it returns."""

    def get_outputs(self) -> list[OrtValue]:
        """Values of the last run, in the order in which outputs were bound."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[Any]:
        return [value.value() for value in self._results]

    def _run(self, options: Any) -> None:
        if not self._places:
            raise ValueError("no output is bound; bind at least one")
        numbers = self._model.numbers_of(list(self._places))
        places = list(self._places.values())

        def use(caller: Caller) -> list[OrtValue]:
            buffers = {n: (p.buffer, p.size) for n, p in zip(numbers, places)
                       if p.buffer is not None}
            owners = caller.run_bound(self._inputs, numbers, buffers, options)
            return [_result(owner, place, self._model.outputs[n].type)
                    for owner, place, n in zip(owners, places, numbers)]

        self._results = self._model.with_caller(use)


def _result(found: Any, place: _Place, text: str) -> OrtValue:
    if place.value is None:
        return OrtValue._from_owner(found, text)
    shape, number = found
    if shape != place.shape or number != place.number:
        raise InvalidArgument(
            f"an output of type {text} and shape {shape} was written into memory bound for "
            f"{_dtypes.TEXT.get(place.number or 0)} and shape {place.shape}")
    return place.value


def _over_memory(pointer: int, shape: tuple[int, ...], element_type: Any) -> OrtValue:
    number = _dtypes.number_of(element_type)
    dtype = _dtypes.numpy_of(number)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory: Any = (c.c_char * size).from_address(pointer) if size else b""
    return OrtValue(np.ndarray(shape, dtype, memory), number)
