#!/usr/bin/env python3
"""Random models of one operator of ai.onnx.ml (trees apart), answered by Tenon, by ONNX Runtime
and by ONNX's reference evaluator; prints every disagreement that KNOWN does not explain.

    PYTHONPATH=bindings/python LIBTENON=... TENON_PLUGIN_PATH=... ml_differential.py [--count N] [--only OP]

Exits with 77 (a skipped test) when onnxruntime is not installed.
"""
import argparse
import collections
import re
import sys
import warnings
import zlib

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper
    from onnx.reference import ReferenceEvaluator
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import tenon

warnings.filterwarnings("ignore")
onnxruntime.set_default_logger_severity(4)
NUMBERS = (np.float32, np.float64, np.int32, np.int64)
POSTS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")

# Disagreements that are not ours, or are chosen: operator, oracle, a pattern of the case and the
# difference, reason. The first that matches counts.
KNOWN = (
    ("FeatureVectorizer", "reference", "shape", "takes a vector as a column"),
    ("Normalizer", "reference", "MAX", "divides by the largest absolute value; the text says X / max(X)"),
    ("Normalizer", ".*", r"x0=float\d+\[\d+\]", "the reference evaluator takes no vectors"),
    ("OneHotEncoder", "reference", r"float\d+\[", "does not truncate floats to integers"),
    ("LinearRegressor", "reference", r"x0=\w+\[\d+\]", "gives a vector for a vector"),
    ("SVMClassifier", "reference", r"prob_a.* output 1", "its coupling sums over pairs where the method has "
     "each alone"),
    ("SVMClassifier", "reference", r"rho=\[-?[\d.]+\].*output 0", "with positive coefficients alone it labels "
     "everything with the second class"),
    ("LinearClassifier", "reference", "PROBIT.*output 0", "labels by the transformed scores, which PROBIT disorders"),
    ("LinearClassifier", "ort", r"coefficients: 1 rows", "one row for two labels: ONNX Runtime writes 1 - s "
     "for NONE and leaves SOFTMAX out"),
    ("LinearClassifier", "reference", "'ascii|invalid literal|strings", "the reference evaluator casts labels to integers"),
    ("Linear.*|SVM.*", "ort", "PROBIT", "PROBIT of 0 and 1 is 0; ONNX Runtime gives infinities"),
    ("Linear.*|SVM.*", "ort", "SOFTMAX_ZERO", "zeros count in the sum, and a row of them is 0.5 each; "
     "ONNX Runtime leaves them out"),
    ("LabelEncoder", "ort", "repeated", "of a repeated key ONNX Runtime takes the first, the text the last"),
    ("LabelEncoder", "ort|reference", "nan", "every NaN is one key"),
    ("LabelEncoder", "reference", "tensor|'float' object|could not convert", "the reference evaluator confuses kinds of attributes"),
)


def ints(rng, low, high, n):
    return [int(v) for v in rng.integers(low, high, n)]


def floats(rng, n):
    return [float(np.float32(v)) for v in np.round(rng.normal(0, 2, n), 2)]


def matrix(rng, cols, dtype, rows=None, vector=True):
    rows = rng.integers(0, 6) if rows is None else rows
    shape = (cols,) if vector and rng.random() < 0.1 else (rows, cols)
    return np.round(rng.normal(0, 3, shape), 1).astype(dtype)


def number(rng):
    return NUMBERS[rng.integers(0, 4)]


def words(rng, n):
    return [f"w{i}" for i in rng.permutation(50)[:n]]


def binarizer(rng):
    return [matrix(rng, 3, number(rng))], {"threshold": float(rng.integers(-2, 3))}, 1


def extractor(rng):
    cols = int(rng.integers(1, 8))
    x = matrix(rng, cols, number(rng))
    if rng.random() < 0.3:
        x = np.array([f"s{v}" for v in x.ravel()], object).reshape(x.shape)
    shape = [(3,), (1, 2), (2, 2)][rng.integers(0, 3)]
    return [x, rng.integers(0, cols, shape)], {}, 1


def vectorizer(rng):
    widths = [int(v) for v in rng.integers(1, 5, rng.integers(1, 4))]
    rows, dtype = int(rng.integers(1, 4)), number(rng)
    return [matrix(rng, w, dtype, rows, False) for w in widths], {
        "inputdimensions": [max(1, w + int(rng.integers(-1, 2))) for w in widths]}, 1


def scaler(rng):
    cols = int(rng.integers(1, 6))
    n = cols if rng.random() < 0.7 else 1
    return [matrix(rng, cols, number(rng))], {"offset": floats(rng, n), "scale": floats(rng, n)}, 1


def normalizer(rng):
    x = matrix(rng, int(rng.integers(1, 6)), number(rng))
    if rng.random() < 0.2:
        x = x * 0
    return [x], {"norm": ("MAX", "L1", "L2")[rng.integers(0, 3)]}, 1


def imputer(rng):
    cols, dtype = int(rng.integers(1, 5)), (np.float32, np.int64)[rng.integers(0, 2)]
    x = matrix(rng, cols, dtype, None, False)
    n = cols if rng.random() < 0.7 else 1
    if dtype == np.int64:
        return [x], {"imputed_value_int64s": ints(rng, 0, 9, n), "replaced_value_int64": int(rng.integers(-2, 3))}, 1
    x[rng.random(x.shape) < 0.3] = np.nan
    return [x], {"imputed_value_floats": floats(rng, n), "replaced_value_float": float("nan")}, 1


def label_encoder(rng):
    """Version 2 and 4: lists of every kind of key and value."""
    n, kinds = int(rng.integers(1, 9)), ("int64s", "strings", "floats")
    made = {"int64s": lambda: [int(v) for v in (rng.permutation(40)[:n] - 20) * 10 ** rng.integers(0, 9)],
            "strings": lambda: words(rng, n), "floats": lambda: [v / 4 for v in ints(rng, -50, 50, n)]}
    key, value = kinds[rng.integers(0, 3)], kinds[rng.integers(0, 3)]
    keys = made[key]()
    if key == "floats":
        keys = list(dict.fromkeys(keys))
        if rng.random() < 0.3:
            keys[-1] = float("nan")
        n = len(keys)
    values = made[value]()[:n]
    values += values[:n - len(values)]
    dtype = {"int64s": np.int64, "strings": object, "floats": np.float32}[key]
    extra = {"int64s": [7777], "strings": ["unknown", ""], "floats": [0.123]}[key]
    pool = keys + extra
    x = np.array([pool[i] for i in rng.integers(0, len(pool), (4, 2)).ravel()], dtype).reshape(4, 2)
    return [x], {f"keys_{key}": keys, f"values_{value}": values[:n]}, 1


def label_tensor(rng):
    n = int(rng.integers(1, 6))
    types = (np.int16, np.int32, np.float64, np.int64, np.float32)
    key, value = types[rng.integers(0, 5)], types[rng.integers(0, 5)]
    keys = (rng.permutation(30)[:n] - 15).astype(key)
    values = rng.integers(-9, 9, n).astype(value)
    x = np.array(rng.integers(-15, 15, (3, 2)), key)
    return [x], {"keys_tensor": onnx.numpy_helper.from_array(keys), "values_tensor": onnx.numpy_helper.from_array(
        values), "default_tensor": onnx.numpy_helper.from_array(np.array([5], value))}, 1


def category_mapper(rng):
    n = int(rng.integers(1, 6))
    numbers, names = [int(v) for v in rng.permutation(30)[:n]], words(rng, n)
    x = np.array(rng.integers(0, 30, (2, 3))) if rng.random() < 0.5 else np.array(
        [(names + ["?"])[i] for i in rng.integers(0, n + 1, 4)], object)
    return [x], {"cats_int64s": numbers, "cats_strings": names}, 1


def one_hot(rng):
    n = int(rng.integers(1, 6))
    if rng.random() < 0.3:
        names = words(rng, n)
        return [np.array([(names + ["?"])[i] for i in rng.integers(0, n + 1, (3, 1)).ravel()], object)], {
            "cats_strings": names}, 1
    return [matrix(rng, 2, number(rng))], {"cats_int64s": [int(v) for v in rng.permutation(9)[:n] - 4]}, 1


def linear_regressor(rng):
    cols, targets = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    return [matrix(rng, cols, number(rng))], {"coefficients": floats(rng, cols * targets), "targets": targets,
                                             "intercepts": floats(rng, targets)}, 1


def linear_classifier(rng):
    cols, classes = int(rng.integers(1, 6)), int(rng.integers(2, 5))
    rows = 1 if classes == 2 and rng.random() < 0.5 else classes
    attrs = {"coefficients": floats(rng, cols * rows), "intercepts": floats(rng, rows),
             "post_transform": POSTS[rng.integers(0, 5)]}
    attrs |= {"classlabels_strings": words(rng, classes)} if rng.random() < 0.3 else {
        "classlabels_ints": ints(rng, 0, 90, classes)}
    return [matrix(rng, cols, number(rng), vector=False)], attrs, 2


def svm_kernel(rng, cols):
    return {"kernel_type": ("LINEAR", "POLY", "RBF", "SIGMOID")[rng.integers(0, 4)],
            "kernel_params": [float(np.float32(rng.random() / cols)), float(rng.integers(0, 2)), float(rng.integers(1, 4))]}


def svm_regressor(rng):
    cols, n = int(rng.integers(1, 6)), int(rng.integers(0, 6))
    attrs = {"rho": floats(rng, 1), "n_supports": n, "one_class": int(rng.random() < 0.2)} | svm_kernel(rng, cols)
    attrs |= {"coefficients": floats(rng, n), "support_vectors": floats(rng, n * cols)} if n else {
        "coefficients": floats(rng, cols)}
    return [matrix(rng, cols, number(rng), vector=False)], attrs, 1


def svm_classifier(rng):
    cols, classes = int(rng.integers(1, 5)), int(rng.integers(2, 5))
    per_class = [int(v) for v in rng.integers(1, 4, classes)]
    n, pairs = sum(per_class), classes * (classes - 1) // 2
    attrs = {"rho": floats(rng, pairs), "vectors_per_class": per_class, "support_vectors": floats(rng, n * cols),
             "coefficients": floats(rng, (classes - 1) * n), "classlabels_ints": ints(rng, 0, 90, classes)}
    if rng.random() < 0.5:
        attrs |= {"prob_a": [-abs(v) for v in floats(rng, pairs)], "prob_b": floats(rng, pairs)}
    return [matrix(rng, cols, number(rng), vector=False)], attrs | svm_kernel(rng, cols), 2


def cdist(rng):
    cols, dtype = int(rng.integers(1, 9)), NUMBERS[rng.integers(0, 2)]
    return [matrix(rng, cols, dtype, int(rng.integers(1, 5)), False), matrix(rng, cols, dtype, int(
        rng.integers(1, 5)), False)], {"metric": ("euclidean", "sqeuclidean")[rng.integers(0, 2)]}, 1


CASES = {
    "Binarizer": (binarizer, 1), "ArrayFeatureExtractor": (extractor, 1), "FeatureVectorizer": (vectorizer, 1),
    "Scaler": (scaler, 1), "Normalizer": (normalizer, 1), "Imputer": (imputer, 1),
    "LabelEncoder": (label_encoder, 2), "LabelEncoder ": (label_encoder, 4), "LabelEncoder  ": (label_tensor, 4),
    "CategoryMapper": (category_mapper, 1), "OneHotEncoder": (one_hot, 1),
    "LinearRegressor": (linear_regressor, 1), "LinearClassifier": (linear_classifier, 1),
    "SVMRegressor": (svm_regressor, 1), "SVMClassifier": (svm_classifier, 1), "CDist": (cdist, 1),
}


def build(name, version, inputs, attrs, n_outputs, symbolic):
    domain = "com.microsoft" if name == "CDist" else "ai.onnx.ml"
    infos = [helper.make_tensor_value_info(
        f"x{i}", 8 if x.dtype == object else helper.np_dtype_to_tensor_dtype(x.dtype),
        [None] * x.ndim if symbolic else x.shape) for i, x in enumerate(inputs)]
    outputs = [f"y{i}" for i in range(n_outputs)]
    node = helper.make_node(name, [i.name for i in infos], outputs, domain=domain, **attrs)
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info(o) for o in outputs])
    model = helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 21), helper.make_opsetid(domain, version)])
    return model


def ask_ort(model, feeds, types):
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for value, y in zip(model.graph.output, types):  # it wants to know
        value.type.tensor_type.elem_type = 8 if y.dtype == object else helper.np_dtype_to_tensor_dtype(y.dtype)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def ask_reference(model, feeds, types):
    """Its outputs keep the type of the input where the schema says float: integers would be cut."""
    if types[-1].dtype == np.float32:
        feeds = {k: v.astype(np.float64) if v.dtype.kind == "i" else v for k, v in feeds.items()}
    answers = ReferenceEvaluator(model).run(None, feeds)
    return [np.asarray(a).astype(t.dtype) if t.dtype == np.float32 else a for a, t in zip(answers, types)]


def differs(ours, theirs):
    """The first difference as a text, or None."""
    for i, (a, b) in enumerate(zip(ours, theirs)):
        b = np.asarray(b)
        if b.dtype.kind in "US":
            b = b.astype(object)
        if a.dtype != b.dtype:
            return f"output {i} is {a.dtype}, expected {b.dtype}"
        if a.shape != b.shape:
            return f"output {i} has shape {a.shape}, expected {b.shape}"
        same = a == b if a.dtype == object or a.dtype.kind in "iu" else np.isclose(
            a, b, rtol=2e-5, atol=1e-5, equal_nan=True)
        if not np.all(same):
            at = tuple(int(v[0]) for v in np.nonzero(~np.asarray(same)))
            return f"output {i} at {at} is {a[at]!r}, expected {b[at]!r}"
    return None


def describe(name, version, inputs, attrs):
    parts = [f"{k}={v if not isinstance(v, onnx.TensorProto) else 'tensor'}" for k, v in attrs.items()]
    if name == "LinearClassifier" and len(attrs["intercepts"]) == 1:
        parts.append("coefficients: 1 rows")
    shapes = [f"x{i}={x.dtype}[{','.join(map(str, x.shape))}]" for i, x in enumerate(inputs)]
    return f"{name}-{version} {' '.join(shapes)} {' '.join(parts)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    counts, failures = collections.Counter(), 0
    for key, (make, version) in CASES.items():
        name = key.strip()
        for k in range(args.count if args.only in name else 0):
            rng = np.random.default_rng([zlib.crc32(key.encode()), k])
            inputs, attrs, n_outputs = make(rng)
            text = describe(name, version, inputs, attrs)
            model = build(name, version, inputs, attrs, n_outputs, rng.random() < 0.4)
            feeds = {f"x{i}": x for i, x in enumerate(inputs)}
            try:
                ours = tenon.Model(model.SerializeToString()).run(feeds)
            except tenon.TenonError as error:
                print(f"REFUSED {text}: {error}")
                failures += 1
                continue
            answered = 0
            for oracle, ask in (("ort", ask_ort), ("reference", ask_reference)):
                try:
                    theirs = ask(model, feeds, ours)
                except Exception:  # the oracle refuses, or falls over
                    counts[f"{oracle} has no answer"] += 1
                    continue
                problem = differs(ours, theirs)
                answered += problem is None
                if problem is None:
                    counts[f"agree with {oracle}"] += 1
                elif any(re.fullmatch(op, name) and re.fullmatch(who, oracle) and re.search(part, f"{text} {problem}")
                         for op, who, part, _ in KNOWN):
                    counts[f"known: {oracle}"] += 1
                else:
                    print(f"DIFFERS from {oracle}: {text}: {problem}")
                    failures += 1
            counts["no oracle agrees"] += answered == 0
    print(", ".join(f"{v} {k}" for k, v in sorted(counts.items())), f"; {failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
