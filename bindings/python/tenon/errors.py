"""Exceptions: onnxruntime's names, and the sentence that the library gives.

Every exception of a failed call is a TenonError with the parts of the diagnosis: `code` and
`rule` (numbers), `node`, `op`, `tensor`, `plugin` (texts, empty when unknown).
"""

from __future__ import annotations

import ctypes as c
import re
from typing import Mapping

from ._structs import Diag


class TenonError(Exception):
    """Base of all errors of this package."""

    code: int = 0
    rule: int = 0
    node: str = ""
    op: str = ""
    tensor: str = ""
    plugin: str = ""


class Fail(TenonError):
    """The call failed for a reason that no other class names."""


class InvalidArgument(TenonError):
    """Something in the call does not fit: fix the call."""


class NoSuchFile(TenonError):
    """A file does not exist."""


class NoModel(TenonError):
    """There is no model."""


class EngineError(TenonError):
    """The engine failed."""


class RuntimeException(TenonError):
    """The run failed."""


class InvalidProtobuf(TenonError):
    """The bytes are no ONNX file."""


class ModelLoaded(TenonError):
    """A model is there already."""


class NotImplemented(TenonError):  # noqa: A001, the name is onnxruntime's
    """No plugin, provider or kernel serves it."""


class InvalidGraph(TenonError):
    """The model breaks a rule of ONNX."""


class EPFail(TenonError):
    """A plugin or a provider failed."""


class ModelLoadCanceled(TenonError):
    """Loading was cancelled."""


class ModelRequiresCompilation(TenonError):
    """Never raised here: a session compiles what it loads."""


class NotFound(TenonError):
    """Something that was named does not exist."""


class LimitExceeded(RuntimeException):
    """A limit of docs/config.md was reached: raise it if the model is trusted."""


class OutOfMemory(RuntimeException):
    """There is not enough memory."""


class DeadlineExceeded(Fail):
    """The run passed its deadline."""


UNSUPPORTED = 3  # the `code` of what no plugin, provider or kernel serves

# Statuses of tenon/status.h.
_CLASSES: dict[int, type[TenonError]] = {
    1: InvalidArgument, 2: InvalidGraph, UNSUPPORTED: NotImplemented, 4: NotFound, 5: OutOfMemory,
    6: LimitExceeded, 7: EPFail, 8: Fail, 9: Fail, 10: DeadlineExceeded, 11: EngineError}


# What onnxruntime raises for models that break some loader rules (core/model/rules.inc).
_RULES: dict[int, type[TenonError]] = {
    **dict.fromkeys(range(100, 200), InvalidProtobuf),
    201: Fail, 307: Fail, 311: InvalidArgument, 312: Fail}


_VERSIONED = re.compile(rb"-\d+$")


def _sentence(diag: Diag) -> str:
    """What the library says, with the node it speaks of."""
    sentence = diag.message.decode(errors="replace")
    if diag.node and diag.node not in diag.message:
        place = b", ".join(filter(None, (diag.node, diag.op))).decode(errors="replace")
        sentence += f" [node {place}]"
    return sentence


def error_of(diag: Diag, status: int, classes: Mapping[int, type[TenonError]] | None = None
             ) -> TenonError:
    """The exception of a failed call; clears the diagnosis for the next one."""
    kind = _RULES.get(diag.rule) or (classes or {}).get(status) or _CLASSES.get(status, Fail)
    if kind is NotImplemented and diag.op and not _VERSIONED.search(diag.op):
        kind = InvalidGraph  # no plugin knows such an operator, in any version
    error = kind(_sentence(diag) or f"status {status}")
    error.code, error.rule = status, diag.rule
    for part in ("node", "op", "tensor", "plugin"):
        setattr(error, part, getattr(diag, part).decode(errors="replace"))
    c.memset(c.byref(diag), 0, c.sizeof(diag))
    return error


def check(status: int, diag: Diag) -> None:
    """Raises when the status is not 0."""
    if status:
        raise error_of(diag, status)
