"""Options of sessions and runs: onnxruntime's names, Tenon's settings.

An attribute or key that Tenon has no use for is in the tables below with the reason, or it is
an error. Nothing is ignored without being listed.
"""

from __future__ import annotations

import ctypes as c
import os
from typing import Any, Mapping, Sequence

from . import _structs as s
from ._checked import Checked
from .enums import (ExecutionMode, ExecutionOrder, GraphOptimizationLevel,
                    OrtExecutionProviderDevicePolicy)
from .errors import Fail, InvalidArgument, NotImplemented

_LEVELS = {GraphOptimizationLevel.ORT_DISABLE_ALL: "none",
           GraphOptimizationLevel.ORT_ENABLE_BASIC: "basic"}  # others: all
_LOG_LEVELS = ["debug", "info", "warning", "error", "error"]  # by severity

_default_severity: list[int] = []  # of set_default_logger_severity


def set_default_severity(severity: int) -> None:
    """For sessions whose options leave log_severity_level at -1."""
    _default_severity[:] = [severity]


# Attributes that change nothing, and why.
NO_EFFECT = {
    "execution_mode": "nodes run in one order, each on all threads",
    "execution_order": "the order is Tenon's",
    "inter_op_num_threads": "there is no second pool",
    "enable_mem_pattern": "memory is planned for each set of shapes",
    "enable_mem_reuse": "one arena a context, planned by lifetimes",
    "enable_cpu_mem_arena": "one arena a context",
    "log_verbosity_level": "levels have no sub-levels",
    "logid": "messages name the model",
    "use_deterministic_compute": "results never depend on threads or batch",
    "use_per_session_threads": "all sessions share one pool",
}


class SessionOptions(Checked):
    """How a session is made. Picklable."""

    fields = {
        "graph_optimization_level": (
            GraphOptimizationLevel, GraphOptimizationLevel.ORT_ENABLE_ALL),
        "optimized_model_filepath": (str, ""),
        "intra_op_num_threads": (int, 0),
        "inter_op_num_threads": (int, 0),
        "execution_mode": (ExecutionMode, ExecutionMode.ORT_SEQUENTIAL),
        "execution_order": (ExecutionOrder, ExecutionOrder.DEFAULT),
        "enable_profiling": (bool, False),
        "profile_file_prefix": (str, "onnxruntime_profile_"),
        "enable_mem_pattern": (bool, True),
        "enable_mem_reuse": (bool, True),
        "enable_cpu_mem_arena": (bool, True),
        "log_severity_level": (int, -1),
        "log_verbosity_level": (int, 0),
        "logid": (str, ""),
        "use_deterministic_compute": (bool, False),
        "use_per_session_threads": (bool, True),
    }

    graph_optimization_level: GraphOptimizationLevel
    optimized_model_filepath: str
    intra_op_num_threads: int
    inter_op_num_threads: int
    execution_mode: ExecutionMode
    execution_order: ExecutionOrder
    enable_profiling: bool
    profile_file_prefix: str
    enable_mem_pattern: bool
    enable_mem_reuse: bool
    enable_cpu_mem_arena: bool
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    use_deterministic_compute: bool
    use_per_session_threads: bool

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[str, str] = {}
        self._dims: dict[str, int] = {}
        self._plugins: list[str] = []
        self._providers: list[tuple[str, dict[str, Any]]] = []
        self._files: dict[str, Any] = {}
        self._weights: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    # ---- onnxruntime's methods ---------------------------------------------------------------

    def add_session_config_entry(self, key: str, value: str) -> None:
        """A key of onnxruntime's sessions or of docs/config.md; checked by the session."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError("keys and values of configuration are texts")
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        try:
            return self._entries[key]
        except KeyError:
            raise RuntimeError(f"no configuration entry has the key '{key}'") from None

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fixes a symbolic dimension."""
        self._dims[name] = int(size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        raise NotImplemented(
            f"dimension '{denotation}': denotations are not read; name the dimension with "
            "add_free_dimension_override_by_name")

    def register_custom_ops_library(self, path: str) -> None:
        """Loads a plugin of Tenon. Custom operators of onnxruntime have another interface."""
        path = os.fspath(path)
        if not os.path.exists(path):
            raise Fail(f"plugin '{path}' does not exist")
        self._plugins.append(os.path.realpath(path))

    def add_initializer(self, name: str, value: Any) -> None:
        """An array or OrtValue in the place of an initializer, used where it is."""
        self._weights[name] = value

    def add_external_initializers(self, names: Sequence[str], values: Sequence[Any]) -> None:
        """The same for several; the files that the model names for them may be missing."""
        if len(names) != len(values):
            raise InvalidArgument("names and values differ in number")
        self._weights.update(zip(names, values))

    def add_external_initializers_from_files_in_memory(
            self, names: Sequence[str], buffers: Sequence[Any], lengths: Sequence[int]) -> None:
        """External data of a model from bytes: locations and what these files hold."""
        if not len(names) == len(buffers) == len(lengths):
            raise InvalidArgument("names, buffers and lengths differ in number")
        for name, data, length in zip(names, buffers, lengths):
            self._files[name] = memoryview(data).cast("B")[:length].tobytes()

    def add_provider(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        """One more execution provider, after those added before."""
        self._providers.append((name, dict(options or {})))

    def has_providers(self) -> bool:
        return bool(self._providers)

    def add_provider_for_devices(self, devices: Sequence[Any],
                                 options: Mapping[str, Any] | None = None) -> None:
        """Providers of devices that get_ep_devices() listed."""
        for device in devices:
            self.add_provider(device.ep_name, options)

    def set_provider_selection_policy(self, policy: OrtExecutionProviderDevicePolicy) -> None:
        """DEFAULT and PREFER_CPU; others would choose in silence."""
        if policy not in (OrtExecutionProviderDevicePolicy.DEFAULT,
                          OrtExecutionProviderDevicePolicy.PREFER_CPU):
            raise NotImplemented(
                f"{policy}: Tenon chooses no provider by itself; name it with `providers`")

    # ---- what the session reads ------------------------------------------------------------

    def _settings(self) -> dict[str, str]:
        """These options as rows of docs/config.md."""
        if self.optimized_model_filepath:
            raise NotImplemented(
                "optimized_model_filepath: models cannot be written yet; "
                "session.report_text('graph') shows the optimised graph")
        settings = {"level": _LEVELS.get(self.graph_optimization_level, "all")}
        if self.intra_op_num_threads:
            settings["threads"] = str(self.intra_op_num_threads)
        severity = self.log_severity_level
        if severity < 0 and _default_severity:
            severity = _default_severity[0]
        if severity >= 0:
            settings["log.level"] = _LOG_LEVELS[min(severity, 4)]
        if self.enable_profiling:
            settings["profile"] = "1"
        if self._dims:
            settings["dims"] = ",".join(f"{name}={size}" for name, size in self._dims.items())
        settings.update(self._entries)
        return settings


# Keys of a run's configuration that change nothing, and why.
RUN_NO_EFFECT = {
    "memory.enable_memory_arena_shrinkage": "contexts give idle memory back by themselves",
    "disable_synchronize_execution_providers": "a run is complete when it returns",
}


class RunOptions(Checked):
    """How a run goes: `terminate` ends it (from any thread), `deadline` (seconds from its
    start) ends it late, `profile` records it, `tag` (logid) names it."""

    fields = {
        "logid": (str, ""),
        "log_severity_level": (int, -1),
        "log_verbosity_level": (int, 0),
        "only_execute_path_to_fetches": (bool, False),
    }

    logid: str
    log_severity_level: int
    log_verbosity_level: int
    only_execute_path_to_fetches: bool

    def __init__(self) -> None:
        super().__init__()
        self._word = c.c_uint32(0)
        self._struct = s.RunOptions(c.sizeof(s.RunOptions), 0, 0, 0, 0, c.pointer(self._word))
        self._pointer = c.pointer(self._struct)
        self._entries: dict[str, str] = {}

    @property
    def terminate(self) -> bool:
        return bool(self._word.value)

    @terminate.setter
    def terminate(self, value: bool) -> None:
        self._word.value = int(bool(value))

    @property
    def deadline(self) -> float | None:
        return self._struct.deadline_ns / 1e9 if self._struct.deadline_ns else None

    @deadline.setter
    def deadline(self, seconds: float | None) -> None:
        self._struct.deadline_ns = 0 if seconds is None else max(int(seconds * 1e9), 1)

    @property
    def profile(self) -> bool:
        return bool(self._struct.profile)

    @profile.setter
    def profile(self, value: bool) -> None:
        self._struct.profile = int(bool(value))

    @property
    def tag(self) -> str:
        return self.logid

    @tag.setter
    def tag(self, value: str) -> None:
        self.logid = value

    def add_run_config_entry(self, key: str, value: str) -> None:
        if key not in RUN_NO_EFFECT:
            raise InvalidArgument(
                f"a run has no setting '{key}'; accepted without effect: "
                + ", ".join(RUN_NO_EFFECT))
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        try:
            return self._entries[key]
        except KeyError:
            raise RuntimeError(f"no configuration entry has the key '{key}'") from None
