"""Not there yet."""

raise ImportError(
    "tenon.quantization is not there yet: Tenon has no quantiser; quantise with "
    "onnxruntime.quantization and run the result here")
