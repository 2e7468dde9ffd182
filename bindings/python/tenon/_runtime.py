"""Runtimes: one for each set of runtime settings, shared by the sessions that want it.

A runtime has the plugins and one thread limit; sessions of one runtime share packed weights.
All runtimes of a process share one pool of threads.
"""

from __future__ import annotations

import ctypes as c
import json
import os
import threading
import weakref
from typing import Any, Callable, Iterable, Mapping, Tuple

from . import _structs as s
from ._counted import Counted
from ._library import lib
from .errors import InvalidArgument, check

# Settings that belong to the runtime (docs/config.md), by Tenon's and onnxruntime's names.
RUNTIME_KEYS = frozenset([
    "plugin.path", "plugin.select", "plugin.disable", "threads", "threads.spin_us", "cpu.isa",
    "log.level", "session.intra_op_num_threads", "session.intra_op.allow_spinning",
    "session.intra_op.spin_duration_us"])


def option_rows(settings: Mapping[str, str]) -> c.Array[s.Option]:
    """Settings as the library takes them; the texts live in the rows."""
    return (s.Option * len(settings))(
        *[s.Option(str(k).encode(), str(v).encode()) for k, v in settings.items()])


def read_report(report: Callable[..., int], *arguments: Any) -> Any:
    """A report of the library, parsed."""
    pieces: list[bytes] = []

    def write(_arg: Any, text: int, size: int) -> int:
        pieces.append(c.string_at(text, size))
        return 0

    diag = s.Diag()
    check(report(*arguments, s.WriteFn(write), None, c.byref(diag)), diag)
    return b"".join(pieces).decode(errors="replace")


REPORTS = {name: number for number, name in enumerate(
    ["placement", "operators", "passes", "graph", "profile", "trace", "plugins", "support",
     "config", "memory"])}


def report_number(name: str) -> int:
    try:
        return REPORTS[name]
    except KeyError:
        raise InvalidArgument(
            f"there is no report '{name}'; there are {', '.join(REPORTS)}") from None


class Runtime:
    """A runtime of the library. `settings` are rows of docs/config.md."""

    def __init__(self, settings: Mapping[str, str] | None = None):
        self.counted = Counted(lib.tn_runtime_destroy)
        rows = option_rows(settings or {})
        options = s.RuntimeOptions(c.sizeof(s.RuntimeOptions), 0, rows, len(rows), None, None)
        self.handle = self.counted.handle
        diag = s.Diag()
        check(lib.tn_runtime_create(c.byref(options), c.byref(self.handle), c.byref(diag)), diag)

    def __del__(self) -> None:
        self.counted.release()

    def load_plugin(self, path: str) -> None:
        """Adds one plugin by path."""
        diag = s.Diag()
        check(lib.tn_runtime_load_plugin(self.handle, path.encode(), c.byref(diag)), diag)

    def report(self, name: str) -> Any:
        """`plugins`, `support` or `config`, as parsed JSON."""
        return json.loads(read_report(lib.tn_runtime_report, self.handle, report_number(name), 1))

    def report_text(self, name: str) -> str:
        """The same for people."""
        return str(read_report(lib.tn_runtime_report, self.handle, report_number(name), 0))

    def providers(self) -> list[str]:
        """Ids of the providers that can be used or tried."""
        found = [p for plugin in self.report("plugins")["plugins"]
                 if plugin["state"] in ("found", "loaded") for p in plugin.get("providers", [])]
        return list(dict.fromkeys(found))


_Key = Tuple[Tuple[Tuple[str, str], ...], Tuple[str, ...]]
_runtimes: weakref.WeakValueDictionary[_Key, Runtime] = weakref.WeakValueDictionary()
_lock = threading.Lock()
_libraries: list[str] = []  # plugins that every runtime of this module loads
_default: list[Runtime] = []  # lives as long as the process


def shared_runtime(settings: Iterable[tuple[str, str]] = (), plugins: Iterable[str] = ()
                   ) -> Runtime:
    """The runtime with these settings and plugins; made when nobody has one."""
    key = tuple(sorted(settings)), tuple(plugins)
    with _lock:
        runtime = _runtimes.get(key)
        if runtime is None:
            runtime = Runtime(dict(key[0]))
            for path in (*_libraries, *key[1]):
                runtime.load_plugin(path)
            _runtimes[key] = runtime
            if not any(key):
                _default.append(runtime)
        return runtime


def load_everywhere(path: str) -> None:
    """Loads a plugin into all shared runtimes, those to come included."""
    default_runtime()
    with _lock:
        for runtime in list(_runtimes.values()):
            runtime.load_plugin(path)
        _libraries.append(path)


def default_runtime() -> Runtime:
    """The runtime without settings of its own."""
    return shared_runtime()


def _after_fork() -> None:
    """The lock may have been held by a thread that the child does not have."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
