"""Execution providers: names that onnxruntime gives are aliases of Tenon's ids."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from ._runtime import Runtime, default_runtime, load_everywhere
from .errors import InvalidArgument, NotImplemented

_SUFFIX = "ExecutionProvider"
_ALIASES = {"cpu": "CPU", "qnn": "QNN", "cuda": "CUDA", "openvino": "OpenVINO"}


def public_name(provider: str) -> str:
    """onnxruntime's name of a provider where it has one, else the id."""
    return _ALIASES[provider] + _SUFFIX if provider in _ALIASES else provider


def id_of(name: str, known: Sequence[str]) -> str:
    """The id of a provider by either name; InvalidArgument lists what there is."""
    if name in known:
        return name
    if name.endswith(_SUFFIX) and name[:-len(_SUFFIX)].lower() in known:
        return name[:-len(_SUFFIX)].lower()
    raise InvalidArgument(
        f"there is no execution provider '{name}'; there are "
        + (", ".join(map(public_name, known)) or "none")
        + " (set plugin.path to the folder of its manifest)")


Spec = Sequence[Any]  # of names, or of pairs of name and options


def _pairs(providers: Spec, options: Sequence[Mapping[str, Any]] | None
           ) -> list[tuple[str, Mapping[str, Any]]]:
    if options is not None and len(options) != len(providers):
        raise ValueError("'providers' and 'provider_options' differ in number")
    pairs: list[tuple[str, Mapping[str, Any]]] = []
    for i, entry in enumerate(providers):
        if isinstance(entry, str):
            pairs.append((entry, options[i] if options else {}))
        elif isinstance(entry, (tuple, list)) and len(entry) == 2 \
                and isinstance(entry[0], str) and isinstance(entry[1], Mapping):
            pairs.append((entry[0], entry[1]))
        else:
            raise ValueError(f"a provider is a name or a pair of name and options, not {entry!r}")
    return pairs


def settings_of(providers: Spec, options: Sequence[Mapping[str, Any]] | None,
                runtime: Runtime) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Settings that choose these providers, and the options of each by public name."""
    pairs = _pairs(providers, options)
    if not pairs:
        return {}, {}
    known = runtime.providers()
    settings: dict[str, str] = {}
    ids = []
    given: dict[str, dict[str, str]] = {}
    for name, row in pairs:
        provider = id_of(name, known)
        if provider in ids:
            raise ValueError(f"provider '{name}' is listed twice")
        ids.append(provider)
        given[public_name(provider)] = {str(k): str(v) for k, v in row.items()}
        settings.update({f"provider:{provider}/{k}": str(v) for k, v in row.items()})
    settings["provider"] = ",".join(ids)
    return settings, given


class OrtEpDevice:
    """A provider as one device: Tenon's providers choose their hardware themselves."""

    def __init__(self, provider: str):
        self.ep_name = public_name(provider)
        self.ep_vendor = "tenon" if provider == "cpu" else ""
        self.ep_metadata: dict[str, str] = {}
        self.ep_options: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"OrtEpDevice(ep_name={self.ep_name!r})"


def get_ep_devices() -> list[OrtEpDevice]:
    """One entry a provider; for SessionOptions.add_provider_for_devices."""
    return [OrtEpDevice(provider) for provider in default_runtime().providers()]


def register_execution_provider_library(name: str, path: str) -> None:
    """Loads a plugin of Tenon for all sessions to come; its manifest names its providers."""
    load_everywhere(os.path.realpath(os.fspath(path)))


def unregister_execution_provider_library(name: str) -> None:
    raise NotImplemented(f"library '{name}' stays: code is never unloaded")


def get_available_providers() -> list[str]:
    """Providers that plugins of this machine offer."""
    return [public_name(p) for p in default_runtime().providers()]


def get_all_providers() -> list[str]:
    """The same: Tenon knows no provider before a plugin brings it."""
    return get_available_providers()
