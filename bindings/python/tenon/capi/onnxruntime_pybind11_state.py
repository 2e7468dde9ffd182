"""The names that programs import from onnxruntime's extension module."""

from __future__ import annotations

from ..enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel  # noqa: F401
from ..errors import (EngineError, EPFail, Fail, InvalidArgument,  # noqa: F401
                      InvalidGraph, InvalidProtobuf, ModelLoadCanceled, ModelLoaded,
                      ModelRequiresCompilation, NoModel, NoSuchFile, NotFound,
                      NotImplemented, RuntimeException)
from ..options import RunOptions, SessionOptions  # noqa: F401
from ..ortvalue import OrtValue  # noqa: F401
from ..process import get_build_info, get_device, get_version_string  # noqa: F401
from ..providers import get_all_providers, get_available_providers  # noqa: F401
from .._compiled import NodeArg  # noqa: F401
from ..session import ModelMetadata  # noqa: F401
