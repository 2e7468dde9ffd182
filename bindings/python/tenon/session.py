"""InferenceSession: onnxruntime's face over a Model."""

from __future__ import annotations

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Mapping, Sequence

from ._compiled import NodeArg, Source
from ._runtime import RUNTIME_KEYS, shared_runtime
from .errors import TenonError
from .model import Model
from .options import RunOptions, SessionOptions
from .ortvalue import IOBinding, OrtValue
from .providers import public_name, settings_of


class ModelMetadata:
    """Facts that the model states about itself."""

    def __init__(self, model: Model):
        info = model.info()

        def text(value: bytes | None) -> str:
            return (value or b"").decode(errors="replace")

        self.producer_name = text(info.producer_name)
        self.graph_name = text(info.graph_name)
        self.domain = text(info.domain)
        self.description = text(info.doc)
        self.graph_description = ""
        self.version: int = info.model_version
        self.custom_metadata_map = model.metadata()


class OrtEpAssignedNode:
    """One node of the model as it runs."""

    def __init__(self, row: Mapping[str, Any]):
        self.name: str = row["node"]
        label, _, version = row["op"].rpartition("-")
        domain, _, self.op_type = label.rpartition(".")
        self.domain: str = "" if domain == "ai.onnx" else domain
        self.version = int(version or 0)
        self.kernel: str = row["kernel"]


class OrtEpAssignedSubgraph:
    """What one provider runs in one piece."""

    def __init__(self, provider: str, rows: Sequence[Mapping[str, Any]]):
        self.ep_name = public_name(provider)
        self._nodes = [OrtEpAssignedNode(row) for row in rows]

    def get_nodes(self) -> list[OrtEpAssignedNode]:
        return list(self._nodes)


_IGNORED = {"enable_fallback": "there is no fallback in silence",
            "read_config_from_model": "settings come from the caller"}

_executor: ThreadPoolExecutor | None = None
_executor_lock = threading.Lock()


def _async_executor() -> ThreadPoolExecutor:
    """Threads for run_async; made when first wanted."""
    global _executor
    with _executor_lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(thread_name_prefix="tenon-async")
        return _executor


def _after_fork() -> None:
    global _executor, _executor_lock
    _executor, _executor_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class InferenceSession:
    """A model, ready to run from any thread.

    `providers`: names, or pairs of name and options, in order of preference; a name that does
    not exist is an error. Picklable by path or bytes. `zipmap=False` gives matrices where a
    model ends in a list of dicts.
    """

    def __init__(self, path_or_bytes: Source, sess_options: SessionOptions | None = None,
                 providers: Sequence[Any] | None = None,
                 provider_options: Sequence[Mapping[str, Any]] | None = None, *,
                 disabled_optimizers: Sequence[str] | None = None, zipmap: bool = True,
                 **kwargs: Any):
        unknown = [name for name in kwargs if name not in _IGNORED]
        if unknown:
            raise TypeError(f"InferenceSession() got an unexpected argument '{unknown[0]}'")
        if not isinstance(path_or_bytes, (str, bytes, bytearray, memoryview, os.PathLike)):
            raise TypeError(f"a model is a path or bytes, not {type(path_or_bytes).__name__}")
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options is a SessionOptions, not {sess_options!r}")
        self._options = sess_options or SessionOptions()
        self._disabled = list(disabled_optimizers or ())
        self._source, self._zipmap = path_or_bytes, zipmap
        self._open(providers, provider_options)

    def _open(self, providers: Sequence[Any] | None,
              provider_options: Sequence[Mapping[str, Any]] | None) -> None:
        options = self._options
        settings = options._settings()
        if self._disabled:
            settings["passes.disable"] = ",".join(self._disabled)
        runtime = shared_runtime(
            [(k, v) for k, v in settings.items() if k in RUNTIME_KEYS], options._plugins)
        chosen, self._provider_options = settings_of(
            providers if providers is not None else options._providers, provider_options, runtime)
        settings.update(chosen)
        start = time.monotonic_ns()
        self._model = Model(self._source, settings, files=options._files,
                            weights=options._weights,
                            plugins=options._plugins, zipmap=self._zipmap)
        self._source = self._model.source  # bytes that can be pickled
        self._profile_start = start if options.enable_profiling else 0
        self._profiling = options.enable_profiling
        self._prefix = options.profile_file_prefix

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))

    # ---- running ---------------------------------------------------------------------------

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
            run_options: RunOptions | None = None) -> list[Any]:
        """Outputs by name (None or empty: all) for inputs by name."""
        return self._model.run(
            input_feed, output_names or None,
            None if run_options is None else _pointer_of(run_options))

    def run_with_ort_values(self, output_names: Sequence[str] | None,
                            input_dict_ort_values: Mapping[str, OrtValue],
                            run_options: RunOptions | None = None) -> list[OrtValue]:
        """The same with OrtValues in and out."""
        binding = IOBinding(self)
        binding._inputs = dict(input_dict_ort_values)
        for name in output_names or [io.name for io in self._model.outputs]:
            binding.bind_output(name)
        binding._run(None if run_options is None else _pointer_of(run_options))
        return binding.get_outputs()

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None
                           ) -> None:
        try:
            iobinding._run(None if run_options is None else _pointer_of(run_options))
        except (TenonError, ValueError) as error:
            raise RuntimeError(f"Error in execution: {error}") from error

    def run_async(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
                  callback: Callable[[list[Any], Any, str], None], user_data: Any,
                  run_options: RunOptions | None = None) -> None:
        """Returns at once; `callback(outputs, user_data, error)` comes from another thread,
        with an empty text as the error when all is well."""
        def work() -> None:
            try:
                results, error = self.run(output_names, input_feed, run_options), ""
            except Exception as failure:
                results, error = [], str(failure) or type(failure).__name__
            callback(results, user_data, error)

        _async_executor().submit(work)

    # ---- asking ----------------------------------------------------------------------------

    def get_inputs(self) -> list[NodeArg]:
        return list(self._model.inputs)

    def get_outputs(self) -> list[NodeArg]:
        return list(self._model.outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        return list(self._model.overridable)

    def get_modelmeta(self) -> ModelMetadata:
        return ModelMetadata(self._model)

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_providers(self) -> list[str]:
        """Providers of this session in order of preference."""
        return [public_name(row["id"]) for row in self._model.report("placement")["providers"]]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {name: self._provider_options.get(name, {}) for name in self.get_providers()}

    def set_providers(self, providers: Sequence[Any] | None = None,
                      provider_options: Sequence[Mapping[str, Any]] | None = None) -> None:
        """Compiles the model anew for other providers."""
        self._open(providers, provider_options)

    def enable_fallback(self) -> None:
        """Accepted: a run never changes its provider here."""

    def disable_fallback(self) -> None:
        """Accepted: a run never changes its provider here."""

    def get_provider_graph_assignment_info(self) -> list[OrtEpAssignedSubgraph]:
        """What each provider runs."""
        pieces: dict[Any, list[Mapping[str, Any]]] = {}
        for row in self._model.placement():
            key = row["provider"], row["unit"] if row["unit_nodes"] > 1 else None
            pieces.setdefault(key, []).append(row)
        return [OrtEpAssignedSubgraph(key[0], rows) for key, rows in pieces.items()]

    # ---- Tenon's own -----------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The same session with Tenon's face."""
        return self._model

    def report(self, name: str) -> Any:
        """A report as parsed JSON: `placement`, `operators`, `passes`, `graph`, `memory`."""
        return self._model.report(name)

    def report_text(self, name: str) -> str:
        """The same for people."""
        return self._model.report_text(name)

    # ---- profiling -------------------------------------------------------------------------

    def get_profiling_start_time_ns(self) -> int:
        """On the monotonic clock; 0 when the session does not record."""
        return self._profile_start

    def end_profiling(self) -> str:
        """Writes what was recorded as a Chrome trace; its name, or "" when nothing was."""
        if not self._profiling:
            return ""
        self._profiling = False
        now = time.localtime()
        name = f"{self._prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S', now)}_{os.getpid()}.json"
        with open(name, "w", encoding="utf-8") as file:
            json.dump(self._model.trace(), file)
        return name


def _pointer_of(options: RunOptions) -> Any:
    if not isinstance(options, RunOptions):
        raise TypeError(f"run_options is a RunOptions, not {options!r}")
    return options._pointer
