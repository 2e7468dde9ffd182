"""See onnxruntime/__init__.py."""
from tenon.capi.onnxruntime_pybind11_state import *  # noqa: F401,F403
