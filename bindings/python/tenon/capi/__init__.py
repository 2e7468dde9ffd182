"""Where onnxruntime's programs look for exception classes."""
