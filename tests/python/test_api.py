"""Sessions, options, OrtValues, bindings, errors: what a program meets."""
import json
import os
import pathlib
import tempfile
import unittest

import numpy as np

import tenon as ort
from tenon.capi import onnxruntime_pybind11_state as state
import text_model as t

X = np.array([[-1, 2, -3]], np.float32)


def relu(**options):
    return ort.InferenceSession(t.RELU, **options)


class Sessions(unittest.TestCase):
    def test_digits(self):
        folder = t.SOURCE / "examples" / "digits"
        images, scores = np.load(folder / "images.npy"), np.load(folder / "scores.npy")
        session = ort.InferenceSession(pathlib.Path(t.DIGITS), providers=["CPUExecutionProvider"])
        self.assertEqual(repr(session.get_inputs()[0]),
                         "NodeArg(name='image', type='tensor(float)', shape=['batch', 64])")
        whole = session.run(["scores"], {"image": images})[0]
        self.assertLessEqual(np.abs(whole - scores).max(), 1e-5)
        for i in range(0, 540, 27):
            one = session.run(None, {"image": images[i:i + 1]})[0]
            np.testing.assert_array_equal(one[0], whole[i])

    def test_bytes_of_every_kind_are_models(self):
        for source in (t.RELU, bytearray(t.RELU), memoryview(t.RELU)):
            session = ort.InferenceSession(source)
            np.testing.assert_array_equal(session.run(None, {"x": X})[0], np.maximum(X, 0))

    def test_any_bytes_can_be_pickled(self):
        import pickle
        for source in (bytearray(t.RELU), memoryview(t.RELU)):
            again = pickle.loads(pickle.dumps(ort.InferenceSession(source)))
            np.testing.assert_array_equal(again.run(None, {"x": X})[0], np.maximum(X, 0))

    def test_metadata(self):
        model = t.model("g (float[2] x) => (float[2] y) { y = Relu (x) }", more=""",
            producer_name: "me", domain: "d", doc_string: "what it is", model_version: 7,
            metadata_props: ["author": "somebody", "licence": "free"]""")
        meta = ort.InferenceSession(model).get_modelmeta()
        self.assertEqual((meta.producer_name, meta.domain, meta.description, meta.version,
                          meta.graph_name), ("me", "d", "what it is", 7, "g"))
        self.assertEqual(meta.custom_metadata_map, {"author": "somebody", "licence": "free"})

    def test_outputs_by_name_in_any_order(self):
        session = ort.InferenceSession(t.ADD)
        a, b = np.array([5, 6], np.float32), np.array([1, 2], np.float32)
        for _ in range(3):
            difference, total = session.run(["difference", "sum"], {"b": b, "a": a})
            self.assertEqual((difference.tolist(), total.tolist()), ([4, 4], [6, 8]))
            self.assertEqual(len(session.run(["sum"], {"a": a, "b": b})), 1)
            self.assertEqual(len(session.run([], {"a": a, "b": b})), 2)

    def test_the_graphs_symbols_are_fixed_by_name(self):
        options = ort.SessionOptions()
        options.add_free_dimension_override_by_name("n", 2)
        session = relu(sess_options=options)
        self.assertEqual(session.get_inputs()[0].shape, [2, 3])
        with self.assertRaises(state.InvalidArgument):
            session.run(None, {"x": X})

    def test_run_async(self):
        import threading
        session, done, seen = relu(), threading.Event(), []

        def callback(results, data, error):
            seen.append((results, data, error))
            done.set()

        session.run_async(None, {"x": X}, callback, "mine")
        self.assertTrue(done.wait(60))
        results, data, error = seen.pop()
        self.assertEqual((results[0].tolist(), data, error), ([[0, 2, 0]], "mine", ""))
        done.clear()
        session.run_async(None, {"x": X[0]}, callback, None)
        self.assertTrue(done.wait(60))
        self.assertEqual(seen[0][0], [])
        self.assertIn("input 'x'", seen[0][2])

    def test_providers(self):
        self.assertIn("CPUExecutionProvider", ort.get_available_providers())
        for name in ("CPUExecutionProvider", "cpu", ("CPUExecutionProvider", {})):
            session = relu(providers=[name])
            self.assertEqual(session.get_providers(), ["CPUExecutionProvider"])
            self.assertEqual(session.get_provider_options(), {"CPUExecutionProvider": {}})
        with self.assertRaisesRegex(state.InvalidArgument, "there are .*CPUExecutionProvider"):
            relu(providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
        with self.assertRaises(ValueError):
            relu(providers=["cpu"], provider_options=[{}, {}])
        with self.assertRaises(ValueError):
            relu(providers=[3])
        with self.assertRaises(ValueError):
            relu(providers=["cpu", "CPUExecutionProvider"])
        session.set_providers(["cpu"])
        np.testing.assert_array_equal(session.run(None, {"x": X})[0], np.maximum(X, 0))

    def test_providers_of_the_options(self):
        devices = [d for d in ort.get_ep_devices() if d.ep_name == "CPUExecutionProvider"]
        options = ort.SessionOptions()
        self.assertFalse(options.has_providers())
        options.add_provider_for_devices(devices, {})
        self.assertTrue(options.has_providers())
        self.assertEqual(relu(sess_options=options).get_providers(), ["CPUExecutionProvider"])
        options.add_provider("TPUExecutionProvider")
        with self.assertRaisesRegex(state.InvalidArgument, "TPU"):
            relu(sess_options=options)

    def test_libraries_are_plugins(self):
        with self.assertRaisesRegex(ort.TenonError, "nowhere.so"):
            ort.register_execution_provider_library("mine", "/nowhere.so")
        with self.assertRaises(state.NotImplemented):
            ort.unregister_execution_provider_library("mine")

    def test_who_runs_what(self):
        rows = relu().get_provider_graph_assignment_info()
        self.assertEqual({row.ep_name for row in rows}, {"CPUExecutionProvider"})
        nodes = [node for row in rows for node in row.get_nodes()]
        self.assertEqual([(n.domain, n.op_type) for n in nodes], [("", "Relu")])

    def test_reports(self):
        session = relu()
        self.assertEqual(session.report("placement")["nodes"][0]["provider"], "cpu")
        self.assertIn("Relu", session.report_text("graph"))
        self.assertEqual(session.model.opsets(), {"": 18})
        with self.assertRaisesRegex(state.InvalidArgument, "placement"):
            session.report("nonsense")
        with self.assertRaises(state.InvalidArgument):
            session.report("plugins")
        runtime = ort.default_runtime()
        self.assertIn("cpu", runtime.providers())
        self.assertIn("org.tenon.cpu", runtime.report_text("plugins"))

    def test_profiling(self):
        with tempfile.TemporaryDirectory() as folder:
            options = ort.SessionOptions()
            options.enable_profiling = True
            options.profile_file_prefix = os.path.join(folder, "profile")
            session = relu(sess_options=options)
            self.assertGreater(session.get_profiling_start_time_ns(), 0)
            for _ in range(3):
                session.run(None, {"x": X})
            name = session.end_profiling()
            with open(name, encoding="utf-8") as file:
                events = json.load(file)
            self.assertEqual(sum(e["name"] == "model_run" for e in events), 3)
            self.assertEqual(session.end_profiling(), "")
        self.assertEqual(relu().end_profiling(), "")

    def test_external_data_in_memory(self):
        graph = t.model("g (float[2] x) => (float[2] y) <float[2] w = "
                        "[\"location\": \"w.bin\", \"offset\": \"4\"]> { y = Add (x, w) }")
        options = ort.SessionOptions()
        data = np.array([9, 1, 2], np.float32).tobytes()
        options.add_external_initializers_from_files_in_memory(["w.bin"], [data], [len(data)])
        x = np.zeros(2, np.float32)
        session = ort.InferenceSession(graph, options)
        self.assertEqual(session.run(None, {"x": x})[0].tolist(), [1, 2])
        options = ort.SessionOptions()
        options.add_external_initializers_from_files_in_memory(["v.bin"], [data], [len(data)])
        with self.assertRaisesRegex(ort.TenonError, "w.bin"):
            ort.InferenceSession(graph, options)


    def test_weights_in_the_place_of_initializers(self):
        inline = t.model("g (float[2] x) => (float[2] y) <float[2] w = {5, 6}> { y = Add (x, w) }")
        outside = t.model("g (float[2] x) => (float[2] y) <float[2] w = "
                          "[\"location\": \"nowhere.bin\"]> { y = Add (x, w) }")
        x, w = np.zeros(2, np.float32), np.array([1, 2], np.float32)
        for graph in (inline, outside):
            for value in (w, ort.OrtValue.ortvalue_from_numpy(w)):
                options = ort.SessionOptions()
                options.add_initializer("w", value)
                session = ort.InferenceSession(graph, options)
                self.assertEqual(session.run(None, {"x": x})[0].tolist(), [1, 2])
        options = ort.SessionOptions()
        options.add_external_initializers(["w"], [w])
        self.assertEqual(ort.InferenceSession(outside, options).run(None, {"x": x})[0].tolist(),
                         [1, 2])
        for name, value in (("v", w), ("x", w), ("y", w), ("w", w[:1]), ("w", w.reshape(1, 2)),
                            ("w", w.astype(np.float64))):
            options = ort.SessionOptions()
            options.add_initializer(name, value)
            with self.assertRaisesRegex(state.InvalidArgument, f"'{name}'"):
                ort.InferenceSession(inline, options)


class Options(unittest.TestCase):
    def test_attributes_have_types_and_defaults(self):
        options = ort.SessionOptions()
        self.assertEqual(options.graph_optimization_level,
                         ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
        options.intra_op_num_threads = np.int64(1)
        with self.assertRaises(TypeError):
            options.intra_op_num_threads = "1"
        with self.assertRaises(TypeError):
            options.graph_optimization_level = 99
        with self.assertRaisesRegex(AttributeError, "intra_op_num_threads"):
            options.intra_op_num_thread = 1

    def test_levels_and_threads_reach_the_library(self):
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        session = relu(sess_options=options)
        rows = {row["key"]: row["value"] for row in session.model.runtime.report("config")}
        self.assertEqual(rows["threads"], "1")
        np.testing.assert_array_equal(session.run(None, {"x": X})[0], np.maximum(X, 0))

    def test_every_level_gives_the_same_bits(self):
        images = np.load(t.SOURCE / "examples" / "digits" / "images.npy")[:5]
        results = []
        for level in ort.GraphOptimizationLevel:
            options = ort.SessionOptions()
            options.graph_optimization_level = level
            session = ort.InferenceSession(t.DIGITS, options)
            results.append(session.run(None, {"image": images})[0])
        for got in results[1:]:
            np.testing.assert_allclose(got, results[0], atol=1e-5)

    def test_configuration_entries(self):
        options = ort.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.disable_prepacking", "1")
        options.add_session_config_entry("limits.nodes", "10")
        self.assertEqual(options.get_session_config_entry("limits.nodes"), "10")
        relu(sess_options=options)
        with self.assertRaises(RuntimeError):
            options.get_session_config_entry("never.set")
        options.add_session_config_entry("session.nonsense", "1")
        with self.assertRaisesRegex(state.InvalidArgument, "session.nonsense"):
            relu(sess_options=options)
        with self.assertRaises(TypeError):
            options.add_session_config_entry("limits.nodes", 3)

    def test_limits_hold(self):
        options = ort.SessionOptions()
        options.add_session_config_entry("limits.nodes", "1")
        two = t.model("g (float[2] x) => (float[2] y) { z = Relu (x) y = Neg (z) }")
        with self.assertRaisesRegex(ort.errors.LimitExceeded, "more nodes"):
            ort.InferenceSession(two, options)

    def test_what_cannot_be_done_is_refused(self):
        options = ort.SessionOptions()
        for call in (lambda: options.add_free_dimension_override_by_denotation("d", 1),
                     lambda: options.set_provider_selection_policy(
                         ort.OrtExecutionProviderDevicePolicy.PREFER_NPU)):
            with self.assertRaises(state.NotImplemented):
                call()
        with self.assertRaisesRegex(state.Fail, "nowhere.so"):
            options.register_custom_ops_library("/nowhere.so")
        options.optimized_model_filepath = "out.onnx"
        with self.assertRaises(state.NotImplemented):
            relu(sess_options=options)
        with self.assertRaisesRegex(ImportError, "quantiser"):
            import tenon.quantization  # noqa: F401

    def test_runtime_keys_are_those_of_the_table(self):
        text = (t.SOURCE / "docs" / "config.md").read_text(encoding="utf-8")
        table, aliases = text.split("## Names of ONNX Runtime")
        keys = {row.split("`")[1] for row in table.splitlines() if "| runtime |" in row}
        for row in aliases.splitlines():
            cells = row.split("`")
            if len(cells) > 3 and cells[3] in keys:
                keys.add(cells[1])
        self.assertEqual(keys, ort._runtime.RUNTIME_KEYS)

    def test_terminate_deadline_and_profile_of_a_run(self):
        session, run = relu(), ort.RunOptions()
        session.run(None, {"x": X}, run)
        run.terminate = True
        with self.assertRaisesRegex(state.Fail, "cancelled"):
            session.run(None, {"x": X}, run)
        run.terminate = False
        np.testing.assert_array_equal(session.run(None, {"x": X}, run)[0], np.maximum(X, 0))
        run.deadline = 1e-9
        with self.assertRaises(ort.errors.DeadlineExceeded):
            session.run(None, {"x": X}, run)
        run.deadline = None
        run.tag = "one"
        self.assertEqual(run.logid, "one")
        session.run(None, {"x": X}, run)
        with self.assertRaises(TypeError):
            session.run(None, {"x": X}, 3)
        with self.assertRaises(AttributeError):
            run.terminated = True
        with self.assertRaises(state.InvalidArgument):
            run.add_run_config_entry("nonsense", "1")


class Errors(unittest.TestCase):
    def check(self, kind, part, call, *arguments, **more):
        with self.assertRaises(kind) as caught:
            call(*arguments, **more)
        self.assertIs(type(caught.exception), kind)
        self.assertIn(part, str(caught.exception))
        return caught.exception

    def test_loading(self):
        open_ = ort.InferenceSession
        self.check(state.NoSuchFile, "/nowhere.onnx", open_, "/nowhere.onnx")
        self.check(state.InvalidProtobuf, "byte 0", open_, b"\x77garbage")
        self.check(TypeError, "int", open_, 3)
        self.check(TypeError, "nonsense", open_, t.RELU, nonsense=1)
        self.check(TypeError, "SessionOptions", open_, t.RELU, 7)
        for kind, part, graph in (
                (state.InvalidGraph, "Relu", "{ y = Rleu (x) }"),
                (state.InvalidGraph, "foo", "{ y = foo.Bar (x) }"),
                (state.InvalidArgument, "'q'", "{ y = Relu (q) }"),
                (state.Fail, "defined twice", "{ y = Relu (x) y = Neg (x) }"),
                (state.Fail, "cycle", "{ a = Add (x, y) y = Relu (a) }"),
                (state.InvalidGraph, "'to'", "{ y = Cast (x) }")):
            self.check(kind, part, open_, t.model("g (float[2] x) => (float[2] y) " + graph))

    def test_a_missing_kernel_is_not_a_missing_operator(self):
        image = t.model("g (uint8[n] x) => (uint8[h, w, c] y) { y = ImageDecoder (x) }", 20)
        with self.assertRaises(ort.TenonError):
            ort.InferenceSession(image)

    def test_running(self):
        session = relu()
        error = self.check(state.InvalidArgument, "cast it to float", session.run, None,
                           {"x": X.astype(np.float64)})
        self.assertEqual((error.code, error.tensor), (1, "x"))
        self.check(state.InvalidArgument, "2 dimensions", session.run, None, {"x": X[0]})
        self.check(state.InvalidArgument, "fixed at 3", session.run, None, {"x": X[:, :2]})
        self.check(state.InvalidArgument, "'z'", session.run, None, {"x": X, "z": X})
        self.check(state.InvalidArgument, "'z'", session.run, ["z"], {"x": X})
        self.check(ValueError, "'x'", session.run, None, {})
        self.check(state.InvalidArgument, "datetime64", session.run, None,
                   {"x": np.zeros((1, 3), "datetime64[s]")})
        self.check(state.InvalidArgument, "NoneType", session.run, None, {"x": None})
        np.testing.assert_array_equal(session.run(None, {"x": X})[0], np.maximum(X, 0))

    def test_a_failing_kernel_names_its_node(self):
        session = ort.InferenceSession(t.model(
            "g (float[3] x, int64[1] i) => (float[1] y) { [pick] y = Gather (x, i) }"))
        x = np.zeros(3, np.float32)
        for _ in range(2):
            error = self.check(state.InvalidArgument, "7", session.run, None,
                               {"x": x, "i": np.array([7])})
            self.assertEqual(session.run(None, {"x": x, "i": np.array([2])})[0].tolist(), [0])
        self.assertIn("Gather", error.op)


class Values(unittest.TestCase):
    def test_a_value_is_the_array(self):
        value = ort.OrtValue.ortvalue_from_numpy(X)
        self.assertEqual((value.shape(), value.data_type(), value.element_type(),
                          value.device_name(), value.is_tensor(), value.has_value(),
                          value.tensor_size_in_bytes()),
                         ([1, 3], "tensor(float)", 1, "cpu", True, True, 12))
        self.assertEqual(value.data_ptr(), X.ctypes.data)
        self.assertTrue(np.shares_memory(value.numpy(), X))
        self.assertTrue(np.shares_memory(np.from_dlpack(value), X))
        self.assertTrue(np.shares_memory(ort.OrtValue.from_dlpack(X).numpy(), X))
        self.assertEqual(np.asarray(value, np.float64).dtype, np.float64)
        with self.assertRaises(RuntimeError):
            ort.OrtValue.ortvalue_from_numpy(X, "cuda", 0)

    def test_update_inplace(self):
        array = X.copy()
        value = ort.OrtValue.ortvalue_from_numpy(array)
        value.update_inplace(X * 2)
        np.testing.assert_array_equal(array, X * 2)
        with self.assertRaises(RuntimeError):
            value.update_inplace(X[0])

    def test_runs_on_values(self):
        session = relu()
        value = ort.OrtValue.ortvalue_from_numpy(X)
        outputs = session.run_with_ort_values(["y"], {"x": value})
        np.testing.assert_array_equal(outputs[0].numpy(), np.maximum(X, 0))
        again = session.run_with_ort_values(None, {"x": outputs[0]})[0].numpy()
        np.testing.assert_array_equal(again, np.maximum(X, 0))
        np.testing.assert_array_equal(session.run(None, {"x": value})[0], np.maximum(X, 0))

    def test_raw_bits_of_another_type(self):
        bits = np.array([0x3F80, 0xC000], np.uint16)  # 1 and -2 in bfloat16
        value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 16)
        self.assertEqual(value.data_type(), "tensor(bfloat16)")
        session = ort.InferenceSession(
            t.model("g (bfloat16[2] x) => (float[2] y) { y = Cast <to = 1> (x) }"))
        self.assertEqual(session.run(None, {"x": value})[0].tolist(), [1, -2])
        with self.assertRaises(RuntimeError):
            ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 1)

    def test_sequences_as_values(self):
        session = ort.InferenceSession(t.SPLIT)
        value = session.run_with_ort_values(
            None, {"x": ort.OrtValue.ortvalue_from_numpy(np.arange(6, dtype=np.float32))})[0]
        self.assertTrue(value.is_tensor_sequence())
        self.assertEqual(value.data_type(), "seq(tensor(float))")
        length = ort.InferenceSession(t.LENGTH)
        self.assertEqual(int(length.run(None, {"x": value})[0]), 3)

    def test_bindings(self):
        session = relu()
        binding = session.io_binding()
        binding.bind_cpu_input("x", X)
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], np.maximum(X, 0))
        first = binding.get_outputs()[0]
        X2 = X * 2
        binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(X2))
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(first.numpy(), np.maximum(X, 0))
        np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), np.maximum(X2, 0))

    def test_bound_memory_is_written(self):
        session, y = relu(), np.full((1, 3), 7, np.float32)
        binding = session.io_binding()
        binding.bind_input("x", "cpu", 0, np.float32, X.shape, X.ctypes.data)
        binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
        for _ in range(2):
            session.run_with_iobinding(binding)
            np.testing.assert_array_equal(y, np.maximum(X, 0))
            y[...] = 7
        other = session.run(None, {"x": X})[0]  # the binding is the binding's alone
        self.assertFalse(np.shares_memory(other, y))
        self.assertTrue((y == 7).all())

    def test_a_value_that_does_not_fit_is_refused(self):
        session = relu()
        for shape, dtype in (((1, 2), np.float32), ((3, 1), np.float32), ((1, 3), np.int32)):
            binding = session.io_binding()
            binding.bind_cpu_input("x", X)
            binding.bind_ortvalue_output(
                "y", ort.OrtValue.ortvalue_from_shape_and_type(shape, dtype))
            with self.assertRaises(RuntimeError):
                session.run_with_iobinding(binding)
        fixed = X.copy()
        fixed.flags.writeable = False
        with self.assertRaisesRegex(RuntimeError, "read-only"):
            session.io_binding().bind_ortvalue_output(
                "y", ort.OrtValue.ortvalue_from_numpy(fixed))
        with self.assertRaisesRegex(RuntimeError, "string"):
            session.io_binding().bind_ortvalue_output(
                "y", ort.OrtValue.ortvalue_from_numpy(np.array(["a"])))
        with self.assertRaisesRegex(RuntimeError, "bind at least one"):
            session.run_with_iobinding(session.io_binding())
        with self.assertRaises(RuntimeError):
            session.io_binding().bind_cpu_input("z", X)


class Face(unittest.TestCase):
    def test_the_models_own_face(self):
        model = ort.Model(t.RELU, {"level": "basic"})
        np.testing.assert_array_equal(model(X)[0], np.maximum(X, 0))
        with self.assertRaises(state.InvalidArgument):
            model(X, X)
        self.assertEqual(model.info().n_nodes, 1)
        y = model(X)[0]
        model.shrink()
        np.testing.assert_array_equal(y, np.maximum(X, 0))
        np.testing.assert_array_equal(model(X)[0], y)

    def test_process(self):
        self.assertEqual(ort.get_device(), "CPU")
        self.assertEqual(ort.__version__, ort.get_version_string())
        with self.assertRaises(RuntimeError):
            ort.set_default_logger_severity(9)
        ort.set_seed(1)


if __name__ == "__main__":
    unittest.main()
