"""Calls of onnxruntime's documented surface, made of both packages: equal results and equal
names of exceptions. Skipped where onnxruntime or onnx is not installed.

Run by hand: PYTHONPATH=bindings/python python3 tests/python/run_tests.py \\
    tests/python/test_same_calls.py
"""
import contextlib
import io
import os
import tempfile
import threading
import unittest
import warnings

import numpy as np

import tenon
import text_model as t

try:
    import onnx.parser
    import onnxruntime
except ImportError as error:
    raise unittest.SkipTest(f"no oracle: {error}")

CPU = ["CPUExecutionProvider"]
IMAGES = np.load(t.SOURCE / "examples" / "digits" / "images.npy")[:7]
A, B = np.array([5, 6], np.float32), np.array([1, 2], np.float32)
CALLS = []


def binary(text):
    """A model of the text format as protobuf, for both."""
    return onnx.parser.parse_model(text.decode()).SerializeToString()


ADD, RELU, WORDS, SPLIT, LENGTH, NONZERO = map(
    binary, (t.ADD, t.RELU, t.IDENTITY_TEXT, t.SPLIT, t.LENGTH, t.NONZERO))
OVERRIDE, HAS = binary(t.OVERRIDE), binary(t.HAS)
META = binary(t.model(
    "g (float[2] x) => (float[2] y) { y = Relu (x) }",
    more=', producer_name: "me", domain: "d", doc_string: "what", model_version: 7, '
         'metadata_props: ["author": "somebody"]'))
FAULTY = binary(t.model("g (float[2] x) => (float[2] y) { y = Relu (z) }"))
UNKNOWN = binary(t.model("g (float[2] x) => (float[2] y) { y = Rleu (x) }"))
TWICE = binary(t.model("g (float[2] x) => (float[2] y) { y = Relu (x) y = Neg (x) }"))
CYCLE = binary(t.model("g (float[2] x) => (float[2] y) { a = Add (x, y) y = Relu (a) }"))
PICK = binary(t.model("g (float[3] x, int64[1] i) => (float[1] y) { y = Gather (x, i) }"))
HALF = binary(t.model("g (float[n] x) => (float16[n] y) { y = Cast <to = 10> (x) }"))


def call(function):
    CALLS.append(function)
    return function


def quiet(ort):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return options


def digits(ort):
    return ort.InferenceSession(t.DIGITS, quiet(ort), providers=CPU)


def session(ort, model, **more):
    return ort.InferenceSession(model, quiet(ort), providers=CPU, **more)


def args(rows):
    return [(row.name, row.type, row.shape) for row in rows]


EXPRESSIONS = {
    # loading
    "open a path": lambda ort: args(digits(ort).get_inputs()),
    "open bytes": lambda ort: args(session(ort, open(t.DIGITS, "rb").read()).get_outputs()),
    "open with a pair of provider and options": lambda ort: ort.InferenceSession(
        t.DIGITS, providers=[("CPUExecutionProvider", {})]).get_provider_options(),
    "open with provider_options": lambda ort: ort.InferenceSession(
        t.DIGITS, providers=CPU, provider_options=[{}]).get_providers(),
    "open without providers": lambda ort: ort.InferenceSession(t.DIGITS).get_providers(),
    "open what is not there": lambda ort: session(ort, "/nowhere/model.onnx"),
    "open garbage": lambda ort: session(ort, b"\x77garbage"),
    "open a number": lambda ort: session(ort, 3),
    "open an undefined input": lambda ort: session(ort, FAULTY),
    "open an unknown operator": lambda ort: session(ort, UNKNOWN),
    "open a name defined twice": lambda ort: session(ort, TWICE),
    "open a cycle": lambda ort: session(ort, CYCLE),
    # asking
    "inputs": lambda ort: args(session(ort, ADD).get_inputs()),
    "outputs": lambda ort: args(session(ort, ADD).get_outputs()),
    "text of an input": lambda ort: str(session(ort, ADD).get_inputs()[0]),
    "a sequence as output": lambda ort: args(session(ort, SPLIT).get_outputs()),
    "an optional as input": lambda ort: args(session(ort, HAS).get_inputs()),
    "overridable initializers": lambda ort: args(
        session(ort, OVERRIDE).get_overridable_initializers()),
    "metadata": lambda ort: [getattr(session(ort, META).get_modelmeta(), name) for name in (
        "producer_name", "graph_name", "domain", "description", "version",
        "custom_metadata_map")],
    "device": lambda ort: ort.get_device(),
    "the cpu is available": lambda ort: CPU[0] in ort.get_available_providers(),
    "the cpu is among all": lambda ort: CPU[0] in ort.get_all_providers(),
    # running
    "run all outputs": lambda ort: session(ort, ADD).run(None, {"a": A, "b": B}),
    "run one output": lambda ort: session(ort, ADD).run(["difference"], {"a": A, "b": B}),
    "run outputs in another order": lambda ort: session(ort, ADD).run(
        ["difference", "sum"], {"b": B, "a": A}),
    "run an empty list of outputs": lambda ort: session(ort, ADD).run([], {"a": A, "b": B}),
    "run positional run options": lambda ort: session(ort, RELU).run(
        None, {"x": np.ones((1, 3), np.float32)}, ort.RunOptions()),
    "run digits": lambda ort: digits(ort).run(["scores"], {"image": IMAGES})[0].round(3),
    "run an empty batch": lambda ort: digits(ort).run(None, {"image": IMAGES[:0]}),
    "run a strided input": lambda ort: session(ort, RELU).run(
        None, {"x": np.arange(12, dtype=np.float32).reshape(2, 6)[:, ::2] - 5}),
    "run a Fortran input": lambda ort: session(ort, RELU).run(
        None, {"x": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3) - 3)}),
    "run lists": lambda ort: session(ort, ADD).run(None, {"a": [1.5, 2], "b": [3, 4]}),
    "run texts": lambda ort: session(ort, WORDS).run(None, {"x": np.array(["a", "bé", ""])}),
    "run text objects": lambda ort: session(ort, WORDS).run(
        None, {"x": np.array(["a", "bé"], object)}),
    "run to a sequence": lambda ort: session(ort, SPLIT).run(
        None, {"x": np.arange(6, dtype=np.float32)}),
    "run from a sequence": lambda ort: session(ort, LENGTH).run(None, {"x": [A, B, A]}),
    "run from an empty sequence": lambda ort: session(ort, LENGTH).run(None, {"x": []}),
    "run with no optional": lambda ort: session(ort, HAS).run(None, {"x": None}),
    "run with an optional": lambda ort: session(ort, HAS).run(None, {"x": A}),
    "run shapes that depend on data": lambda ort: session(ort, NONZERO).run(
        None, {"x": np.array([0, 3, 0, 4], np.float32)}),
    "run half precision": lambda ort: session(ort, HALF).run(None, {"x": A}),
    "run with an initializer's default": lambda ort: session(ort, OVERRIDE).run(None, {"x": A}),
    "run with an initializer overridden": lambda ort: session(ort, OVERRIDE).run(
        None, {"x": A, "w": B}),
    "run a wrong type": lambda ort: session(ort, ADD).run(None, {"a": A.astype("f8"), "b": B}),
    "run a wrong rank": lambda ort: session(ort, ADD).run(None, {"a": A.reshape(1, 2), "b": B}),
    "run a wrong size": lambda ort: digits(ort).run(None, {"image": IMAGES[:, :5]}),
    "run without an input": lambda ort: session(ort, ADD).run(None, {"a": A}),
    "run an unknown input": lambda ort: session(ort, RELU).run(
        None, {"x": np.ones((1, 3), np.float32), "q": A}),
    "run an unknown output": lambda ort: session(ort, ADD).run(["q"], {"a": A, "b": B}),
    "run an index outside": lambda ort: session(ort, PICK).run(
        None, {"x": np.zeros(3, np.float32), "i": np.array([7])}),
    "run options of another type": lambda ort: session(ort, ADD).run(
        None, {"a": A, "b": B}, 3),
    # options
    "defaults": lambda ort: [getattr(ort.SessionOptions(), name) for name in (
        "optimized_model_filepath", "intra_op_num_threads", "inter_op_num_threads",
        "enable_profiling", "profile_file_prefix", "enable_mem_pattern", "enable_mem_reuse",
        "enable_cpu_mem_arena", "log_severity_level", "log_verbosity_level", "logid",
        "use_deterministic_compute", "use_per_session_threads")],
    "names of defaults": lambda ort: [getattr(ort.SessionOptions(), name).name for name in (
        "graph_optimization_level", "execution_mode", "execution_order")],
    "levels": lambda ort: {name: getattr(ort.GraphOptimizationLevel, name).value for name in (
        "ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_LAYOUT",
        "ORT_ENABLE_ALL")},
    "modes": lambda ort: [ort.ExecutionMode.ORT_SEQUENTIAL.value,
                          ort.ExecutionMode.ORT_PARALLEL.value],
    "orders": lambda ort: [getattr(ort.ExecutionOrder, name).value for name in (
        "DEFAULT", "PRIORITY_BASED", "MEMORY_EFFICIENT")],
    "memory types": lambda ort: [getattr(ort.OrtMemType, name).value for name in (
        "DEFAULT", "CPU", "CPU_INPUT", "CPU_OUTPUT")],
    "allocators": lambda ort: [getattr(ort.OrtAllocatorType, name).value for name in (
        "INVALID", "ORT_DEVICE_ALLOCATOR", "ORT_ARENA_ALLOCATOR")],
    "a level of another type": lambda ort: setattr(
        ort.SessionOptions(), "graph_optimization_level", 99),
    "threads of another type": lambda ort: setattr(
        ort.SessionOptions(), "intra_op_num_threads", "a"),
    "an unknown attribute": lambda ort: setattr(ort.SessionOptions(), "nonsense", 1),
    "an entry that was never set": lambda ort: ort.SessionOptions().get_session_config_entry("q"),
    "defaults of a run": lambda ort: [getattr(ort.RunOptions(), name) for name in (
        "terminate", "logid", "log_severity_level", "log_verbosity_level",
        "only_execute_path_to_fetches")],
    "a library that is not there": lambda ort: ort.SessionOptions().register_custom_ops_library(
        "/nowhere/ops.so"),
    "a severity outside": lambda ort: ort.set_default_logger_severity(9),
    "a seed": lambda ort: ort.set_seed(1),
    # values
    "facts of a value": lambda ort: [getattr(
        ort.OrtValue.ortvalue_from_numpy(A), name)() for name in (
            "shape", "data_type", "element_type", "device_name", "is_tensor", "has_value",
            "is_tensor_sequence", "is_sparse_tensor", "tensor_size_in_bytes")],
    "a value's array": lambda ort: ort.OrtValue.ortvalue_from_numpy(A).numpy(),
    "a value is the array": lambda ort: ort.OrtValue.ortvalue_from_numpy(A).data_ptr()
    == A.ctypes.data,
    "a value of shape and type": lambda ort: ort.OrtValue.ortvalue_from_shape_and_type(
        (2, 3), np.float32).numpy().shape,
    "a value of shape and number": lambda ort: ort.OrtValue.ortvalue_from_shape_and_type(
        (2, 3), 1).data_type(),
    "raw bits as a value": lambda ort: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(
        np.zeros(2, np.uint16), 16).data_type(),
    "a value on a device that is not there": lambda ort: ort.OrtValue.ortvalue_from_numpy(
        A, "cuda", 0),
    "a value from DLPack": lambda ort: ort.OrtValue.from_dlpack(A).shape(),
    "a value to DLPack": lambda ort: np.from_dlpack(ort.OrtValue.ortvalue_from_numpy(A)),
    "a value as an array": lambda ort: np.asarray(ort.OrtValue.ortvalue_from_numpy(A)),
    "run a value": lambda ort: session(ort, ADD).run(
        None, {"a": ort.OrtValue.ortvalue_from_numpy(A), "b": B}),
    "run with values": lambda ort: [value.numpy() for value in session(
        ort, ADD).run_with_ort_values(["sum"], {
            "a": ort.OrtValue.ortvalue_from_numpy(A), "b": ort.OrtValue.ortvalue_from_numpy(B)})],
}


@call
def fixed_dimension(ort):
    options = quiet(ort)
    options.add_free_dimension_override_by_name("batch", 2)
    return args(ort.InferenceSession(t.DIGITS, options, providers=CPU).get_inputs())


@call
def fixed_dimension_then_another(ort):
    options = quiet(ort)
    options.add_free_dimension_override_by_name("batch", 2)
    ort.InferenceSession(t.DIGITS, options, providers=CPU).run(None, {"image": IMAGES})


@call
def configuration_entry(ort):
    options = quiet(ort)
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    return options.get_session_config_entry("session.set_denormal_as_zero")


@call
def levels_and_threads(ort):
    results = []
    for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
                  ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = quiet(ort)
        options.graph_optimization_level = level
        options.intra_op_num_threads = 1
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        results.append(ort.InferenceSession(t.DIGITS, options, providers=CPU).run(
            None, {"image": IMAGES})[0].round(3))
    return results


@call
def terminated_run(ort):
    run = ort.RunOptions()
    run.terminate = True
    session(ort, ADD).run(None, {"a": A, "b": B}, run)


@call
def update_inplace(ort):
    array = A.copy()
    value = ort.OrtValue.ortvalue_from_numpy(array)
    value.update_inplace(B)
    return [array, value.numpy()]


@call
def update_inplace_of_another_size(ort):
    ort.OrtValue.ortvalue_from_numpy(A.copy()).update_inplace(np.zeros(3, np.float32))


@call
def binding_to_the_host(ort):
    one = session(ort, ADD)
    binding = one.io_binding()
    binding.bind_cpu_input("a", A)
    binding.bind_ortvalue_input("b", ort.OrtValue.ortvalue_from_numpy(B))
    binding.bind_output("difference")
    binding.bind_output("sum")
    one.run_with_iobinding(binding)
    return [binding.copy_outputs_to_cpu(), [v.numpy() for v in binding.get_outputs()]]


@call
def binding_to_memory(ort):
    one, out = session(ort, ADD), np.zeros(2, np.float32)
    binding = one.io_binding()
    binding.bind_input("a", "cpu", 0, np.float32, [2], A.ctypes.data)
    binding.bind_cpu_input("b", B)
    binding.bind_output("sum", "cpu", 0, np.float32, [2], out.ctypes.data)
    one.run_with_iobinding(binding)
    return out


@call
def binding_of_nothing(ort):
    one = session(ort, ADD)
    one.run_with_iobinding(one.io_binding())


@call
def binding_of_an_unknown_input(ort):
    session(ort, ADD).io_binding().bind_cpu_input("q", A)


@call
def binding_of_a_wrong_type(ort):
    one = session(ort, ADD)
    binding = one.io_binding()
    binding.bind_cpu_input("a", A.astype(np.float64))
    binding.bind_cpu_input("b", B)
    binding.bind_output("sum")
    one.run_with_iobinding(binding)


@call
def asynchronous_run(ort):
    done, seen = threading.Event(), []

    def callback(results, data, error):
        seen.extend([results, data, error])
        done.set()

    session(ort, ADD).run_async(["sum"], {"a": A, "b": B}, callback, "mine")
    done.wait(60)
    return seen


@call
def profile(ort):
    with tempfile.TemporaryDirectory() as folder:
        options = quiet(ort)
        options.enable_profiling = True
        options.profile_file_prefix = os.path.join(folder, "p")
        one = ort.InferenceSession(ADD, options, providers=CPU)
        one.run(None, {"a": A, "b": B})
        name = one.end_profiling()
        return [os.path.basename(name)[:2], name.endswith(".json"), os.path.exists(name),
                one.get_profiling_start_time_ns() > 0]


@call
def no_profile(ort):
    one = session(ort, ADD)
    return [one.end_profiling(), one.get_profiling_start_time_ns()]


@call
def assignment(ort):
    options = quiet(ort)
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    rows = ort.InferenceSession(ADD, options, providers=CPU).get_provider_graph_assignment_info()
    nodes = [node for row in rows for node in row.get_nodes()]
    return [sorted({row.ep_name for row in rows}), sorted(n.op_type for n in nodes),
            sorted({n.domain for n in nodes})]


@call
def providers_set_again(ort):
    one = session(ort, ADD)
    one.set_providers(CPU)
    return one.run(None, {"a": A, "b": B})


@call
def exceptions_by_module(ort):
    from importlib import import_module
    state = import_module(ort.__name__ + ".capi.onnxruntime_pybind11_state")
    try:
        session(ort, "/nowhere/model.onnx")
    except state.NoSuchFile:
        return "caught"


def outcome(function, ort):
    """What a call gives, in a form that can be compared."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            return "gives", plain(function(ort))
        except Exception as error:
            return "raises", type(error).__name__


def plain(value):
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.shape, value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


class SameCalls(unittest.TestCase):
    maxDiff = None


def add_test(name, function):
    def test(self):
        self.assertEqual(outcome(function, tenon), outcome(function, onnxruntime))

    setattr(SameCalls, "test_" + name.replace(" ", "_").replace("'", ""), test)


for call_name, expression in EXPRESSIONS.items():
    add_test(call_name, expression)
for one_call in CALLS:
    add_test(one_call.__name__, one_call)

if __name__ == "__main__":
    unittest.main()
