"""Models in the ONNX text format, for tests."""
import os
import pathlib

SOURCE = pathlib.Path(os.environ.get("TENON_TEST_SOURCE",
                                     pathlib.Path(__file__).resolve().parents[2]))
DIGITS = str(SOURCE / "examples" / "digits" / "digits.onnx")


def model(graph, opset=18, more=""):
    """The bytes of a model of one graph."""
    return f'<ir_version: 10, opset_import: ["" : {opset}]{more}> {graph}'.encode()


RELU = model("g (float[n, 3] x) => (float[n, 3] y) { y = Relu (x) }")
ADD = model("g (float[n] a, float[n] b) => (float[n] sum, float[n] difference) "
            "{ sum = Add (a, b) difference = Sub (a, b) }")
IDENTITY_TEXT = model("g (string[n] x) => (string[n] y) { y = Identity (x) }")
NONZERO = model("g (float[n] x) => (int64[1, k] y) { y = NonZero (x) }")
SPLIT = model("g (float[6] x) => (seq(float[2]) y) "
              "<int64 two = {2}> { y = SplitToSequence (x, two) }")
LENGTH = model("g (seq(float[n]) x) => (int64 y) { y = SequenceLength (x) }")
OVERRIDE = model("g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add (x, w) }")
HAS = model("g (optional(float[2]) x) => (bool y) { y = OptionalHasElement (x) }")
