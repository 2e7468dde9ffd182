"""What concerns the whole process."""

from __future__ import annotations

from ._library import version

_SEVERITIES = range(5)


def get_device() -> str:
    """The device that runs what no provider is named for."""
    return "CPU"


def get_version_string() -> str:
    return version


def get_build_info() -> str:
    return f"Tenon {version}"


def set_seed(seed: int) -> None:
    """Accepted without effect: random operators take their seed from the model, and those
    without one draw anew each run."""
    int(seed)


def set_default_logger_severity(severity: int) -> None:
    """The least severe message that sessions show which do not say it themselves."""
    if severity not in _SEVERITIES:
        raise RuntimeError(f"a severity is 0 (all) to 4 (fatal), not {severity}")
    from .options import set_default_severity
    set_default_severity(severity)


def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepted: levels have no sub-levels."""
    int(verbosity)


def enable_telemetry_events() -> None:
    """Accepted: there is no telemetry."""


def disable_telemetry_events() -> None:
    """Accepted: there is no telemetry."""
