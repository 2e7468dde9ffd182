"""Tenon under the name of ONNX Runtime, for test suites of others that import it by name. Only
converter_suites.py puts this folder on the path. The version is that of the ONNX Runtime
installed, since the suites leave out tests by it."""
import importlib.metadata

from tenon import *  # noqa: F401,F403
from tenon import __all__ as _names

__version__ = importlib.metadata.version("onnxruntime")
__all__ = [*_names]
