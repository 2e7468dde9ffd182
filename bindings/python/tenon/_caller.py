"""One context, laid out once: the path of every run from Python.

A run of known shapes writes a pointer for each input and output into structs that exist
already, and makes one call into C. Everything else is the slow way round: new shapes, other
inputs, values that are not plain arrays, outputs whose shape is known only afterwards.
"""

from __future__ import annotations

import ctypes as c
import json
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy as np

from . import _dtypes, _feed, _structs as s
from ._address import address
from ._counted import Counted
from ._fetch import Owner, matrix_of, python_of
from ._library import call_run, lib
from ._runtime import read_report, report_number
from .errors import InvalidArgument, check, error_of

if TYPE_CHECKING:
    from ._compiled import Compiled

_MOST_LAYOUTS = 64
_BEHAVED = 0x1 | 0x100  # C-contiguous and aligned, of ndarray.flags.num
_ndarray, _empty = np.ndarray, np.empty


class _Slot:
    """An input of one context and what is bound to it."""

    __slots__ = ("wanted", "value", "tensor", "dtype", "shape", "given", "optional", "keep")

    def __init__(self, wanted: _feed.Wanted, value: s.Value, optional: bool):
        self.wanted, self.value, self.optional = wanted, value, optional
        self.tensor = s.Tensor()
        # of the array that the next one may simply follow; None: no such array
        self.dtype: Any = None
        self.shape: Any = None
        self.given = False
        self.keep: list[Any] = []

    def bind(self, item: Any) -> None:
        """The slow way: any value, any shape."""
        self.dtype = self.shape = None
        self.keep = []
        if type(item) is not _ndarray or self.wanted.kind not in (s.TENSOR, s.ABSENT):
            _feed.fill(self.value, self.wanted, item, self.keep)
            return
        array = _feed.to_array(self.wanted, item)
        number = _feed.number_of(self.wanted, array)
        _feed.fill_tensor(self.tensor, array, number, self.keep)
        self.value.kind, self.value.ptr = s.TENSOR, c.addressof(self.tensor)
        self.shape = array.shape
        if array is item and _dtypes.NUMPY[number] == array.dtype \
                and _dtypes.BITS[number] >= 8 and number != _dtypes.STRING:
            self.dtype = array.dtype
            self.keep = self.keep[1:]  # the dims: the caller keeps the array during the run

    def clear(self) -> None:
        self.value.kind, self.value.ptr = s.ABSENT, None
        self.dtype = self.shape = None
        self.given = False
        self.keep = []
        if self.wanted.kind == s.OPTIONAL:
            _feed.fill(self.value, self.wanted, None, self.keep)


class Caller:
    """A context with its call; one run at a time."""

    def __init__(self, compiled: Compiled, zipmap: bool):
        self.compiled = compiled
        self.counted = Counted(lib.tn_context_destroy, compiled.counted)
        self.convert = python_of if zipmap else matrix_of
        self.handle = self.counted.handle
        self.diag = s.Diag()
        check(lib.tn_context_create(compiled.handle, c.byref(self.handle), c.byref(self.diag)),
              self.diag)
        wanted, n_outputs = compiled.wanted, len(compiled.outputs)
        self.values = (s.Value * max(len(wanted), 1))()
        self.outs = (s.CallOutput * max(n_outputs, 1))()
        self.slots = {w.name: _Slot(w, self.values[i], compiled.is_optional[i])
                      for i, w in enumerate(wanted)}
        for slot in self.slots.values():
            slot.clear()
        self.call = s.Call(c.sizeof(s.Call), 0, self.handle, self.values, self.outs,
                           len(wanted), n_outputs, None, c.pointer(self.diag))
        self.pointer = c.byref(self.call)
        self.n_given = 0
        # what the outputs of the present shapes are: rows (place, shape, dtype), or None
        self.layouts: dict[Any, list[Any] | None] = {}
        self.layout: list[Any] | None = None
        self.plain_shapes = False

    def __del__(self) -> None:
        self.counted.release()

    # ---- inputs ----------------------------------------------------------------------------

    def _bind_slowly(self, feed: Mapping[str, Any]) -> None:
        """Binds everything anew and looks up what is known of these shapes."""
        slots = self.slots
        unknown = [name for name in feed if name not in slots]
        if unknown:
            raise InvalidArgument(
                f"the model has no input '{unknown[0]}'; it has {', '.join(slots) or 'none'}")
        missing = [name for name, slot in slots.items() if name not in feed and not slot.optional]
        if missing:
            raise ValueError(
                f"inputs {missing} are missing; the feed has {list(feed)}")
        for name, slot in slots.items():
            if name in feed:
                slot.bind(feed[name])
                slot.given = True
            elif slot.given:
                slot.clear()
        self.n_given = len(feed)
        self.plain_shapes = all(slot.shape is not None or not slot.given
                                for slot in slots.values())
        key = tuple([slot.shape for slot in slots.values()])
        self.layout = self.layouts.get(key) if self.plain_shapes else None
        self._lay_out()

    def _forget(self) -> None:
        """After a failure nothing is known of what is bound."""
        for slot in self.slots.values():
            slot.dtype = slot.shape = None
        self.n_given = -1
        self.layout = None

    # ---- outputs ---------------------------------------------------------------------------

    def _lay_out(self) -> None:
        """Sizes of the buffers that the outputs of the present shapes get."""
        rows: list[Any] = self.layout or [None] * len(self.compiled.outputs)
        for out, row in zip(self.outs, rows):
            out.buffer = None
            out.size = row[3] if row else 0

    def _learn(self) -> None:
        """After a run: which outputs can be written into numpy's memory next time."""
        rows: list[Any] = []
        for out in self.outs[:len(self.compiled.outputs)]:
            row = None
            tensor = s.Tensor.from_address(out.value.contents.ptr) if out.fixed else None
            if tensor is not None and _dtypes.BITS[tensor.dtype] >= 8:
                dtype = _dtypes.NUMPY.get(tensor.dtype)
                if dtype is not None:
                    row = (out, tuple(tensor.dims[:tensor.rank]), dtype, tensor.size)
            rows.append(row)
        if len(self.layouts) >= _MOST_LAYOUTS:
            self.layouts.clear()
        key = tuple([slot.shape for slot in self.slots.values()])
        self.layouts[key] = self.layout = rows if any(rows) else None
        self._lay_out()

    def _take(self, index: int) -> Any:
        """An output in memory of the library, which goes over to the result."""
        owner = self.take_owner(index)
        return self.convert(owner.value(), owner)

    def take_owner(self, index: int) -> Owner:
        """An output as an owned value of the library."""
        handle = c.c_void_p()
        check(lib.tn_context_take_output(
            self.handle, index, c.byref(handle), c.byref(self.diag)), self.diag)
        return Owner(handle)

    # ---- run -------------------------------------------------------------------------------

    def _bind(self, feed: Mapping[str, Any]) -> None:
        """Brings the inputs up to date with the feed."""
        if len(feed) != self.n_given:
            return self._bind_slowly(feed)
        slots = self.slots
        for name, item in feed.items():
            slot = slots.get(name)
            if slot is not None and type(item) is _ndarray and item.dtype is slot.dtype \
                    and item.shape == slot.shape and item.flags.num & _BEHAVED == _BEHAVED:
                slot.tensor.data = address(item)
            else:
                return self._bind_slowly(feed)
        return None

    def _invoke(self, options: Any) -> None:
        """The call itself."""
        if options is not None:
            self.call.options = options
        status = call_run(self.pointer)
        if options is not None:
            self.call.options = None
        if status:
            raise error_of(self.diag, status)

    def run(self, feed: Mapping[str, Any], wanted: Sequence[int], options: Any) -> list[Any]:
        """Outputs of the given numbers."""
        feed = dict(feed)  # holds the arrays, whatever others do to theirs
        try:
            self._bind(feed)
            if self.layout is not None:
                return self._run_laid_out(self.layout, wanted, options)
            self._invoke(options)
            if self.plain_shapes:
                self._learn()
            return [self._take(i) for i in wanted]
        except BaseException:
            self._forget()
            raise

    def _run_laid_out(self, layout: list[Any], wanted: Sequence[int], options: Any) -> list[Any]:
        """A run whose shapes are known: outputs go straight into arrays of numpy's."""
        results: list[Any] = []
        for i in wanted:
            row = layout[i]
            array = None
            if row is not None:
                array = _empty(row[1], row[2])
                row[0].buffer = address(array)
            results.append(array)
        try:
            self._invoke(options)
        finally:
            for i in wanted:
                if layout[i] is not None:
                    layout[i][0].buffer = None
        for place, i in enumerate(wanted):
            if layout[i] is None:
                results[place] = self._take(i)
        return results

    def run_bound(self, feed: Mapping[str, Any], wanted: Sequence[int],
                  buffers: Mapping[int, tuple[int, int]], options: Any) -> list[Any]:
        """Outputs of the given numbers: an Owner, or (shape, element type) of what was written
        into a buffer (address and size)."""
        feed = dict(feed)  # holds the arrays, whatever others do to theirs
        try:
            self._bind(feed)
            for number, (at, size) in buffers.items():
                self.outs[number].buffer, self.outs[number].size = at, size
            self._invoke(options)
            results: list[Any] = []
            for i in wanted:
                if i not in buffers:
                    results.append(self.take_owner(i))
                    continue
                tensor = s.Tensor.from_address(self.outs[i].value.contents.ptr)
                results.append((tuple(tensor.dims[:tensor.rank]), tensor.dtype))
            return results
        except BaseException:
            self._forget()
            raise
        finally:
            self._lay_out()

    def trace(self) -> list[Any]:
        """Recorded runs as events of a Chrome trace."""
        return json.loads(read_report(lib.tn_context_report, self.handle,
                                      report_number("trace"), 1))
