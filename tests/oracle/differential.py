#!/usr/bin/env python3
"""Random models of one node, answered by Tenon and by ONNX Runtime (or, where that has no
kernel, by ONNX's reference evaluator); prints every disagreement that KNOWN does not explain.

    PYTHONPATH=bindings/python LIBTENON=.../libtenon.so TENON_PLUGIN_PATH=... differential.py
        [--count N] [--first K] [--ops Conv,Gemm] [--only SEED]

Each case runs on several instruction sets and levels, with shapes known and unknown at load,
and with some inputs as initializers. A crash or a hang costs one case and is named. Exits with 77 (a skipped
test) when onnxruntime is not installed.
"""
import argparse
import re
import subprocess
import sys
import warnings
import zlib

try:
    import ml_dtypes
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import cases
import cases_more  # noqa: F401: adds its rows
import chains
import tenon

warnings.filterwarnings("ignore")
PATIENCE = 300
TOLERANCE = {"float64": 1e-9, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}

# Disagreements that are not ours, or are chosen (docs/numerics.md): operator, a pattern of the
# message, reason. The first that matches counts.
KNOWN = (
    ("Erf|HardSwish|GroupNormalization", r"float64.*\[reference\]",
     "the reference evaluator computes in float32, or with a constant of float32"),
    ("ConvTranspose|Conv", r"1 of .*\(-?0\.0", "one sum near 0 that cancels"),
    ("MaxPool|AveragePool|LpPool", "differ, at.*auto_pad': 'SAME|shape.*[[]reference.*auto_pad': 'SAME", "strides beyond the window would pad "
     "less than nothing: as in TensorFlow, and as for Conv, that is nothing"),
    ("Shape|Slice", "bfloat16", "the reference evaluator slices as Python does, without the text's clamping"),
    ("Shrink|Gelu|Selu|Celu|Elu", r"float64.*\[(ort|reference)\]", "the oracle rounds constants to float32"),
    ("Mish|Gelu", r"-0(\.0\))?, expected .*nan", "x times a factor that vanishes has the limit 0 at -inf"),
    ("Pow", r"np.int\d+\(0\), expected np.int\d+\(-\d{8}", "a NaN becomes 0 as an integer, never INT_MIN"),
    ("PRelu", "REFUSED.*rank 1 does not broadcast to an output of rank 0",
     "a slope of rank 1 does not broadcast one way to a scalar"),
    ("Sum|Mean", "float16.*[[]ort", "sums are kept in float32 and rounded once"),
    ("ReduceProd|ReduceSum|ReduceSumSquare|ReduceL1", "np.int.*[[]ort", "integers wrap; ONNX Runtime saturates"),
    ("ReduceLogSumExp|ReduceLogSum", "np.int.*[[]ort", "ONNX Runtime truncates within the sum"),
    ("Hardmax", "[[]reference[]] opset 11", "the reference evaluator has version 13 only"),
    ("MatMulInteger", r"int8\[([^]]* )?0[],]", "ONNX Runtime leaves a product over nothing unwritten"),
    ("ConvTranspose", "shape.*auto_pad': 'SAME", "SAME means input * stride; ONNX Runtime misses it when a "
     "stride exceeds the kernel"),
    ("ConvTranspose", "'group': [2-9].*[[]reference|[[]reference.*'group': [2-9]", "the reference evaluator "
     "adds the bias of the wrong channels to groups"),
    ("MaxPool|AveragePool|LpPool", "shape.*dilations.*auto_pad': 'SAME",
     "SAME means ceil(input / stride); ONNX Runtime forgets dilations"),
    ("GlobalMaxPool", "[[]reference", "the reference evaluator gives a wrong rank"),
    ("LRN", "[[]reference", "the reference evaluator's window of even size lacks its last channel"),
    ("Slice", "9223372036854775807", "ONNX Runtime takes INT64_MAX backwards as the front; the text clamps it"),
    ("LpPool|AveragePool|QLinearConv|ConvTranspose", "[[]reference", "the reference evaluator errs in ceil_mode, "
     "dilations and groups: direct sums agree with ours"),
    ("GroupNormalization|InstanceNormalization", "float32.*[[](reference|ort)", "the oracle cancels "
     "in groups of nearly equal values: float64 agrees with ours"),
    ("Gelu", "[[]reference.*bfloat16", "the reference evaluator rounds to bfloat16 after each step"),
    ("Gather", "expected ''", "ONNX Runtime leaves strings behind the first empty"),
    ("Sign", r"float16\(nan\)", "the sign of NaN is NaN"),
    ("Clip", r"inf\), expected", "no bound is no bound; ONNX Runtime takes the largest finite number"),
    ("QLinearMatMul", r"int8\[([^]]* )?0[],]", "ONNX Runtime leaves a product over nothing unwritten"),
    ("Resize", "align_corners|pytorch_half_pixel", "lengths are scale * size, unrounded, "
     "as ONNX's own tests have it; ONNX Runtime rounds them, and its scales, first"),
    ("GridSample", "cubic', 'padding_mode': 'border", "ONNX's reference clamps the position, ONNX Runtime "
     "and PyTorch each of the 16 pixels"),
    ("AffineGrid", "align_corners': 1", "along an axis of size 1 the reference takes -1, ONNX Runtime 1"),
    ("HannWindow|HammingWindow|BlackmanWindow", r"values \[1\]", "a symmetric window of one is 1, not 0/0"),
    ("MeanVarianceNormalization", "nan", "the body's 1e-9 keeps a variance of 0 from dividing"),
    ("NonZero", r"shape \(0, \d+\), expected \(1", "the text gives a scalar's index rank 0"),
)


def build(case, name, m, types=None):
    """The model, its feeds, and what failed. `types` are the outputs' when they are known."""
    names, graph_inputs, initializers, feeds = [], [], [], {}
    symbolic = m.chance(0.4)
    for i, x in enumerate(case.inputs):
        if x is None:
            names.append("")
            continue
        x = np.asarray(x)
        names.append(f"x{i}")
        if i in case.constant:
            initializers.append(onnx.numpy_helper.from_array(x, f"x{i}"))
            continue
        elem = 8 if x.dtype == object else helper.np_dtype_to_tensor_dtype(x.dtype)
        shape = [f"d{i}_{k}" for k in range(x.ndim)] if symbolic else x.shape
        graph_inputs.append(helper.make_tensor_value_info(f"x{i}", elem, shape))
        feeds[f"x{i}"] = x
    while names and not names[-1]:
        names.pop()
    outputs = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(name, names, outputs, domain=case.domain, **case.attrs)
    try:
        inferred = [helper.make_empty_tensor_value_info(o) for o in outputs]
        graph = helper.make_graph([node], "g", graph_inputs, inferred, initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=10)
        if types is None:
            inferred = onnx.shape_inference.infer_shapes(model, data_prop=False).graph.output
            types = [value.type.tensor_type.elem_type for value in inferred]
        for value, elem in zip(model.graph.output, types):
            value.type.tensor_type.elem_type = elem
    except Exception as error:  # the generator's own mistake
        return None, None, str(error)
    return model, feeds, None


def oracle(model, feeds):
    """Outputs, who gave them, and why ONNX Runtime did not."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    plain = all(x.dtype != ml_dtypes.bfloat16 for x in feeds.values())
    why = "bfloat16"
    try:
        if plain:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
            return session.run(None, feeds), "ort", ""
    except Exception as error:
        why = str(error).split("\n")[0][:200]
    try:
        from onnx.reference import ReferenceEvaluator
        return ReferenceEvaluator(model).run(None, feeds), "reference", why
    except Exception as error:
        return None, why, str(error)[:100]


def second_opinion(model, feeds, got, case):
    """Whether ONNX's reference evaluator agrees with us against ONNX Runtime."""
    try:
        from onnx.reference import ReferenceEvaluator
        want = ReferenceEvaluator(model).run(None, feeds)
    except Exception:
        return False
    return not any(differ(y, e, case) for y, e in zip(got, want))


def differ(got, want, case):
    """Why two outputs disagree, or None."""
    if want is None or isinstance(want, list):
        return None
    want = np.asarray(want)
    if got is None:
        return "no tensor"
    if want.dtype.kind in "US" or want.dtype == object:
        want = want.astype(object)
    if got.dtype != want.dtype:
        return f"type {got.dtype}, expected {want.dtype}"
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if got.size == 0:
        return None
    if got.dtype == object or case.exact or got.dtype.kind in "biu":
        slack = 1 if case.tolerance == -1 else 0
        wrong = got != want if not slack else abs(got.astype(np.int64) - want.astype(np.int64)) > slack
        if case.exact and got.dtype.kind not in "biuO":
            wrong &= ~(np.isnan(got.astype(np.complex128)) & np.isnan(want.astype(np.complex128)))
    else:
        t = TOLERANCE[got.dtype.name] * abs(case.tolerance)
        a, b = got.astype(np.float64), want.astype(np.float64)
        with np.errstate(all="ignore"):
            wrong = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (abs(a - b) <= t * (0.1 + abs(b))))
    if case.tolerance == -2:  # a rounding apart at a quantiser is a step apart behind it
        wrong = np.asarray((abs(a - b) > 0.6) & True)
    if not wrong.any():
        return None
    i = tuple(int(v[0]) for v in np.nonzero(wrong)) if wrong.ndim else ()
    return f"{int(wrong.sum())} of {wrong.size} differ, at {i}: {got[i]!r}, expected {want[i]!r}"


RUNTIMES = {}  # kept, so that not every case loads the plugins


def answer(model, feeds, isa, **settings):
    rows = {key.replace("_", "."): value for key, value in settings.items()}
    session = tenon.Model(
        model.SerializeToString(), {"cpu.isa": isa, "threads": 1, "log.level": "error", **rows})
    RUNTIMES[isa] = session.runtime
    session.run(feeds)
    return session.run(feeds)  # a second time: plans and memory are reused


def one(name, seed):
    m = cases.Maker(seed)
    case = cases.OPS[name](m)
    if case is None:
        return "none"
    model, feeds, why = chains.build(m, case) if name in chains.KINDS else build(case, name, m)
    if model is None:
        return f"GENERATOR {why}"
    want, who, why = oracle(model, feeds)
    tail = f" [{who}] {describe(case, model)}"
    for isa, level in (("best", "all"), ("scalar", "none"), (m.pick(["avx2", "avx512"]), "all")):
        try:
            got = answer(model, feeds, isa, level=level)
        except (tenon.TenonError, ValueError) as error:
            if want is None:
                return "both refuse"
            return f"REFUSED ({isa}, {level}): {error}{tail}"
        if want is None:
            return f"alone: {why}"
        for i, (y, e) in enumerate(zip(got, want)):
            if text := differ(y, e, case):
                if who == "ort" and second_opinion(model, feeds, got, case):
                    return "split: ONNX Runtime alone gives " + text
                return f"WRONG ({isa}, {level}) output {i}: {text}{tail}"
    return "ok " + who


def describe(case, model):
    if case.graph:
        return "; ".join(f"{n.op_type}({', '.join(n.input)})->{n.output[0]}" for n in case.graph.nodes)
    shapes = [None if x is None else f"{np.asarray(x).dtype}{list(np.asarray(x).shape)}" for x in case.inputs]
    small = [None if x is None or np.asarray(x).size > 8 else np.asarray(x).tolist() for x in case.inputs]
    dims = model.graph.input and bool(model.graph.input[0].type.tensor_type.shape.dim) and \
        model.graph.input[0].type.tensor_type.shape.dim[0].HasField("dim_param")
    return f"opset {case.opset} {case.attrs} {shapes} values {small} constant {case.constant} symbolic {bool(dims)}"


EDGES = (0, 1, -1, 2, 3, -2, 7, 64, 1 << 20, 2**31, -2**31, 2**62, 2**63 - 1, -2**63)


def spoil(case, m):
    """Breaks a case in one to three places: attributes, shapes, types, contents, absences."""
    for _ in range(m.r.integers(1, 4)):
        kind, i = m.r.integers(6), int(m.r.integers(max(len(case.inputs), 1)))
        numbers = [k for k, v in case.attrs.items() if isinstance(v, (int, list))]
        x = case.inputs[i] if case.inputs else None
        if kind <= 1 and numbers:
            key = m.pick(numbers)
            old = case.attrs[key]
            if isinstance(old, int):
                case.attrs[key] = m.pick(EDGES)
            elif m.chance(0.3):
                case.attrs[key] = [1] * int(m.r.integers(0, 7))
            elif old:
                case.attrs[key] = [m.pick(EDGES) if m.chance(0.4) else v for v in old]
        elif x is None:
            continue
        elif kind == 2:
            case.inputs[i] = m.data(np.asarray(x).dtype, m.shape(0, 5))
        elif kind == 3:
            case.inputs[i] = m.data(m.pick(cases.ANY), np.asarray(x).shape)
        elif kind == 4 and np.asarray(x).dtype in (np.int32, np.int64):
            x = np.array(x)
            flat = x.reshape(-1)
            for k in range(flat.size):
                if m.chance(0.3):
                    flat[k] = np.array(m.pick(EDGES)).astype(np.int64).astype(x.dtype)
            case.inputs[i] = x
        elif kind == 5:
            case.inputs[i] = None
    case.constant = tuple(int(i) for i in np.nonzero(m.r.random(len(case.inputs)) < 0.3)[0])


def hostile(name, seed):
    """Only a crash, a hang or an internal error is a failure."""
    m = cases.Maker(seed)
    case = cases.OPS[name](m)
    if case is None:
        return "none"
    model, _, why = build(case, name, m)
    if model is None:
        return "none: " + why
    spoil(case, m)
    try:  # ONNX's inference may crash on what follows
        types = [value.type.tensor_type.elem_type for value in model.graph.output]
        model, feeds, why = build(case, name, m, types)
    except Exception as error:
        return f"none: {error}"
    if model is None:
        return "none: " + why
    texts = set()
    for isa, level in (("best", "all"), ("scalar", "none")):
        try:
            answer(model, feeds, isa, level=level, limits_tensor_bytes="64M", limits_run_bytes="256M")
            texts.add("runs")
        except (tenon.TenonError, ValueError) as error:
            if isinstance(error, tenon.errors.EngineError):
                return f"INTERNAL {error} {describe(case, model)}"
            texts.add("refused")
    return "ok " + " ".join(texts)


def work(names, args):
    one_ = hostile if args.hostile else one
    for name in names:
        for k in range(args.resume if name == names[0] else args.first, args.first + args.count):
            seed = zlib.crc32(name.encode()) % 100000 * 10000 + k
            print(f"BEGIN {name} {k} {seed}", flush=True)
            result = one_(name, seed).replace("\n", " ")
            print(f"END {result}", flush=True)


def explained(name, text):
    return next((reason for ops, pattern, reason in KNOWN
                 if name in ops.split("|") and re.search(pattern, text)), None)


def drive(args, names):
    """Runs a worker, and another after each crash; returns {name: [(seed, result)]}."""
    results, at = {n: [] for n in names}, {}
    worker_args = ["--count", str(args.count), "--first", str(args.first)]
    worker_args += ["--hostile"] if args.hostile else []
    left = list(names)
    while left:
        worker = subprocess.Popen([sys.executable, __file__, "--worker", ",".join(left), *worker_args,
            "--resume", str(at.get(left[0], args.first))], stdout=subprocess.PIPE,
            text=True, stderr=subprocess.DEVNULL)
        current = None
        for line in worker.stdout:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "BEGIN":
                name, k, seed = rest.split()
                current = (name, int(k), seed)
            elif word == "END" and current:
                results[current[0]].append((current[2], rest))
                current = None
        code = worker.wait()
        if code == 0:
            break
        if current is None:
            print("worker failed", code)
            break
        results[current[0]].append((current[2], f"CRASH (exit {code})"))
        left = left[left.index(current[0]):]
        at[current[0]] = current[1] + 1
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--ops", default=",".join(cases.OPS))
    parser.add_argument("--only", type=int)
    parser.add_argument("--hostile", action="store_true", help="broken cases: none may crash")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--resume", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        names = args.worker.split(",")
        return work(names, args)
    names = args.ops.split(",")
    if args.only is not None:
        print((hostile if args.hostile else one)(names[0], args.only))
        return 0
    bad = 0
    for name, rows in drive(args, names).items():
        oks = sum(r.startswith("ok") for _, r in rows)
        kinds = {}
        for seed, text in rows:
            if text[0].isupper():
                reason = explained(name, text)
                kinds.setdefault(reason, []).append((seed, text))
        new = kinds.get(None, [])
        bad += len(new)
        split = sum(r.startswith("split") for _, r in rows)
        print(f"{name}: {oks} of {len(rows)} agree, {split} with the reference against ONNX Runtime, {sum(r.startswith('alone') for _, r in rows)} without an "
              f"oracle, {len(new)} disagree" + "".join(f"; {len(v)}: {k}" for k, v in kinds.items() if k))
        for seed, text in new[:6]:
            print(f"    --ops {name} --only {seed}: {text[:600]}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
