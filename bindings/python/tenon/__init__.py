"""Tenon runs ONNX models: `import tenon as ort`.

The names of onnxruntime's package are here; `Model`, `Runtime` and the `report` methods are
Tenon's own. See docs/python.md.
"""

from __future__ import annotations

from . import errors
from ._compiled import NodeArg
from ._library import version as __version__
from ._runtime import Runtime, default_runtime
from .enums import (ExecutionMode, ExecutionOrder, GraphOptimizationLevel, OrtAllocatorType,
                    OrtExecutionProviderDevicePolicy, OrtMemType)
from .errors import TenonError
from .model import Model
from .options import RunOptions, SessionOptions
from .ortvalue import IOBinding, OrtDevice, OrtValue
from .process import (disable_telemetry_events, enable_telemetry_events, get_build_info,
                      get_device, get_version_string, set_default_logger_severity,
                      set_default_logger_verbosity, set_seed)
from .providers import (OrtEpDevice, get_all_providers, get_available_providers,
                        get_ep_devices, register_execution_provider_library,
                        unregister_execution_provider_library)
from .session import (InferenceSession, ModelMetadata, OrtEpAssignedNode, OrtEpAssignedSubgraph)

__all__ = [
    "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "IOBinding", "InferenceSession",
    "Model", "ModelMetadata", "NodeArg", "OrtAllocatorType", "OrtDevice", "OrtEpAssignedNode",
    "OrtEpAssignedSubgraph", "OrtEpDevice", "OrtExecutionProviderDevicePolicy", "OrtMemType", "OrtValue",
    "RunOptions", "Runtime", "SessionOptions", "TenonError", "__version__", "default_runtime",
    "disable_telemetry_events", "enable_telemetry_events", "errors", "get_all_providers",
    "get_available_providers", "get_build_info", "get_device", "get_ep_devices",
    "get_version_string", "register_execution_provider_library",
    "set_default_logger_severity", "set_default_logger_verbosity", "set_seed",
    "unregister_execution_provider_library"]
