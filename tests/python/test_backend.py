"""tenon.backend: ONNX's backend interface. tests/oracle/backend_test.py runs ONNX's own suite."""
import subprocess
import sys
import unittest

import numpy as np

import tenon as ort
import text_model as t

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError:
    raise unittest.SkipTest("Python has no onnx (Debian: python3-onnx)") from None

import tenon.backend as backend

X = np.array([[-1, 2, -3]], np.float32)


def relu_model(op="Relu"):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"])], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)


def overridable_model():
    """An initializer that is an input too, as old files have them."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    w = helper.make_tensor_value_info("w", TensorProto.FLOAT, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Add", ["w", "x"], ["y"])], "g", [w, x], [y],
                              [helper.make_tensor("w", TensorProto.FLOAT, [2], [10, 20])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)


class Models(unittest.TestCase):
    def test_inputs_in_order_by_name_or_the_one(self):
        rep = backend.TenonBackend.prepare(relu_model())
        for inputs in ([X], (X,), {"x": X}, X):
            outputs = rep.run(inputs)
            self.assertIsInstance(outputs, tuple)
            np.testing.assert_array_equal(outputs[0], [[0, 2, 0]])
            np.testing.assert_array_equal(outputs["y"], [[0, 2, 0]])

    def test_all_forms_of_a_model(self):
        model = relu_model()
        for source in (model, model.SerializeToString(), t.RELU, ort.InferenceSession(t.RELU),
                       ort.Model(t.RELU)):
            np.testing.assert_array_equal(backend.run_model(source, [X])[0], [[0, 2, 0]])
        images = np.zeros((2, 64), np.float32)
        self.assertEqual(backend.prepare(t.DIGITS, "CPU:0").run(images)[0].shape, (2, 10))

    def test_initializers_are_no_inputs(self):
        outputs = backend.run_model(overridable_model(), [np.array([1, 2], np.float32)])
        np.testing.assert_array_equal(outputs[0], [11, 22])

    def test_settings(self):
        rep = backend.prepare(relu_model(), settings={"limits.run_bytes": "1K"})
        with self.assertRaises(ort.errors.LimitExceeded):
            rep.run(np.zeros((1000, 3), np.float32))

    def test_wrong_calls(self):
        rep = backend.prepare(relu_model())
        with self.assertRaisesRegex(ort.errors.InvalidArgument, "2 values for 1 inputs"):
            rep.run([X, X])
        with self.assertRaisesRegex(ort.errors.InvalidArgument, "no option 'fast'"):
            rep.run([X], fast=True)
        with self.assertRaisesRegex(ort.errors.InvalidArgument, "no option 'fast'"):
            backend.prepare(relu_model(), fast=True)


class Nodes(unittest.TestCase):
    def run_node(self, op, inputs, names=None, outputs=("y",), **kwargs):
        attributes = kwargs.pop("attributes", {})
        names = names or [f"x{i}" for i in range(len(inputs))]
        node = helper.make_node(op, names, list(outputs), **attributes)
        return backend.run_node(node, inputs, **kwargs)

    def test_types_of_outputs_are_inferred(self):
        y, = self.run_node("Cast", [X], attributes={"to": TensorProto.INT64}, opset_version=13)
        np.testing.assert_array_equal(y, [[-1, 2, -3]])
        self.assertEqual(y.dtype, np.int64)

    def test_types_of_outputs_may_be_told(self):
        y, = self.run_node("Relu", [X], outputs_info=[(np.dtype(np.float32), (1, 3))])
        np.testing.assert_array_equal(y, [[0, 2, 0]])
        with self.assertRaises(ort.TenonError):
            self.run_node("Relu", [X], outputs_info=[(np.dtype(np.int64), (1, 3))])

    def test_absent_inputs_have_a_place_or_not(self):
        low = np.float32(-2)
        for inputs in ([X, None, low], [X, low]):
            y, = self.run_node("Clip", inputs, ["x", "", "high"], opset_version=13)
            np.testing.assert_array_equal(y, [[-2, -2, -3]])
        with self.assertRaisesRegex(ort.errors.InvalidArgument, "1 values for 2 inputs"):
            self.run_node("Clip", [X], ["x", "", "high"], opset_version=13)

    def test_all_or_some_outputs(self):
        outputs = self.run_node("TopK", [X, np.array([1], np.int64)], outputs=("y", "at"),
                                opset_version=11)
        np.testing.assert_array_equal(outputs["at"], [[1]])
        outputs = self.run_node("MaxPool", [X.reshape(1, 1, 3)], outputs=("y", ""),
                                attributes={"kernel_shape": [3]}, opset_version=12)
        np.testing.assert_array_equal(outputs, [[[[2]]]])

    def test_the_version_counts(self):
        x = np.zeros((2, 2, 2), np.float32)
        old, = self.run_node("Softmax", [x], opset_version=11)  # over all but the first axis
        new, = self.run_node("Softmax", [x], opset_version=13)
        self.assertEqual((old[0, 0, 0], new[0, 0, 0]), (0.25, 0.5))

    def test_sequences_and_text(self):
        y, = self.run_node("ConcatFromSequence", [[X, X]], attributes={"axis": 0}, opset_version=13)
        np.testing.assert_array_equal(y, np.concatenate([X, X]))
        words = np.array(["a", "b"], object)
        y, = self.run_node("Gather", [words, np.array([1, 0])], opset_version=13)
        self.assertEqual(y.tolist(), ["b", "a"])

    def test_nodes_of_another_domain(self):
        node = helper.make_node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml", threshold=0.0)
        np.testing.assert_array_equal(backend.run_node(node, [X])[0], [[0, 1, 0]])

    def test_checked_before_anything_runs(self):
        with self.assertRaises(onnx.checker.ValidationError):
            self.run_node("Relu", [X, X])


class Devices(unittest.TestCase):
    def test_devices_are_providers(self):
        self.assertTrue(backend.supports_device("CPU"))
        self.assertTrue(backend.supports_device("CPU:0"))
        self.assertFalse(backend.supports_device("CPU:1"))
        self.assertFalse(backend.supports_device("TPU"))
        with self.assertRaisesRegex(ort.errors.InvalidArgument, "CPUExecutionProvider"):
            backend.prepare(relu_model(), "TPU")

    def test_compatible_is_what_plugins_serve(self):
        self.assertTrue(backend.is_compatible(relu_model()))
        self.assertFalse(backend.is_compatible(relu_model("Rleu")))


class Imports(unittest.TestCase):
    def test_nothing_else_needs_onnx(self):
        program = ("import sys; sys.modules['onnx'] = None; import tenon\n"
                   "try:\n    import tenon.backend\n"
                   "except ImportError as error:\n    print(error)\n")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout, "tenon.backend needs the package 'onnx': pip install onnx\n")


if __name__ == "__main__":
    unittest.main()
