"""See onnxruntime/__init__.py."""
