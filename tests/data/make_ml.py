#!/usr/bin/env python3
"""Makes tests/data/ml: small models of every operator of ai.onnx.ml (trees apart) and of CDist, in
the layout of ONNX's backend tests, with the answers of ONNX Runtime or, where that has none, of
ONNX's reference evaluator; and two larger models for the tests of threads and memory.

    LIBTENON=... PYTHONPATH=tests/oracle make_ml.py

Cases on which the answer may differ for a known reason (ml_differential.KNOWN) are left out."""
import pathlib
import re
import shutil
import zlib

import ml_differential as source
import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = pathlib.Path(__file__).parent
OUT = HERE / "ml" / "node"
PER_OPERATOR = 4


def value(array):
    return numpy_helper.from_array(np.asarray(array)).SerializeToString()


def map_value(keys, values):
    """A MapProto: its values are a sequence of scalars."""
    proto = onnx.MapProto()
    if isinstance(keys[0], str):
        proto.key_type = onnx.TensorProto.STRING
        proto.string_keys.extend(k.encode() for k in keys)
    else:
        proto.key_type = onnx.TensorProto.INT64
        proto.keys.extend(keys)
    proto.values.elem_type = onnx.SequenceProto.TENSOR
    for v in values:
        proto.values.tensor_values.append(numpy_helper.from_array(np.array(v)))
    return proto.SerializeToString()


def write(name, model, inputs, outputs):
    folder = OUT / f"test_{name}"
    (folder / "test_data_set_0").mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, values in (("input", inputs), ("output", outputs)):
        for i, raw in enumerate(values):
            (folder / "test_data_set_0" / f"{kind}_{i}.pb").write_bytes(raw)


def is_known(oracle, name, text):
    """Whether the oracle's answer to this case may be one of the known differences."""
    return any(re.fullmatch(op, name) and re.fullmatch(who, oracle) and (not part or re.search(part, text))
               for op, who, part, _ in source.KNOWN)


def answer(model, feeds, types, name, text):
    """What ONNX Runtime says, else the reference evaluator; None where neither is to be trusted."""
    for oracle, ask in (("ort", source.ask_ort), ("reference", source.ask_reference)):
        try:
            outputs = ask(model, feeds, types)
        except Exception:  # it has no kernel for these types
            continue
        return None if is_known(oracle, name, f"{text} output 0 output 1 shape") else outputs
    return None


def typed(name, n_outputs, dtype):
    """What an output's type is, for ONNX Runtime: as the operators' texts say."""
    label = {"LinearClassifier": np.int64, "SVMClassifier": np.int64}.get(name)
    same = name in ("Binarizer", "ArrayFeatureExtractor", "Imputer", "CDist")
    first = np.zeros(0, label or (dtype if same else np.float32))
    return [first, np.zeros(0, np.float32)][:n_outputs]


def write_operators():
    for key, (make, version) in source.CASES.items():
        written = 0
        for k in range(200):
            rng = np.random.default_rng([zlib.crc32(b"data" + key.encode()), k])
            inputs, attrs, n_outputs = make(rng)
            name = key.strip()
            text = source.describe(name, version, inputs, attrs)
            if written == PER_OPERATOR or any(x.size == 0 for x in inputs) or "strings" in text and n_outputs == 2:
                continue
            types = typed(name, n_outputs, inputs[0].dtype)
            if name in ("LabelEncoder", "CategoryMapper"):
                types = [np.zeros(0, {"strings": object, "int64s": np.int64, "floats": np.float32}.get(
                    next((a[7:] for a in attrs if a.startswith("values_")), ""), np.int64))]
                if "values_tensor" in attrs:
                    types = [numpy_helper.to_array(attrs["values_tensor"])]
                if name == "CategoryMapper" and inputs[0].dtype != object:
                    types = [np.zeros(0, object)]
            model = source.build(name, version, inputs, attrs, n_outputs, True)
            outputs = answer(model, {f"x{i}": x for i, x in enumerate(inputs)}, types, name, text)
            if outputs is None:
                continue
            outputs = [np.asarray(o).astype(object) if np.asarray(o).dtype.kind == "U" else np.asarray(o)
                       for o in outputs]
            write(f"{make.__name__}_{version}_{written}", model, map(value, inputs), map(value, outputs))
            written += 1


def write_maps():
    """Maps in, a table of maps out: expected by the operators' texts."""
    def model(name, key, elem, out_type, **attrs):
        x = helper.make_value_info("x", helper.make_map_type_proto(key, helper.make_tensor_type_proto(elem, None)))
        node = helper.make_node(name, ["x"], ["y"], domain="ai.onnx.ml", **attrs)
        graph = helper.make_graph([node], "g", [x], [helper.make_tensor_value_info("y", out_type, None)])
        return helper.make_model(graph, ir_version=9, opset_imports=[
            helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 1)])

    write("dictvectorizer_1_0", model("DictVectorizer", 8, 1, 1, string_vocabulary=["b", "a"]),
          [map_value(["a", "z"], [np.float32(1.5), np.float32(2)])], [value(np.array([[0, 1.5]], np.float32))])
    write("dictvectorizer_1_1", model("DictVectorizer", 7, 8, 8, int64_vocabulary=[3, 70000000000]),
          [map_value([70000000000], ["v"])], [value(np.array([["", "v"]], object))])
    write("castmap_1_0", model("CastMap", 7, 8, 1, cast_to="TO_FLOAT", map_form="SPARSE", max_map=4),
          [map_value([2, 0], ["2.5", "-1"])], [value(np.array([[-1, 0, 2.5, 0]], np.float32))])
    write("castmap_1_1", model("CastMap", 7, 1, 7, cast_to="TO_INT64"),
          [map_value([5, 1], [np.float32(2.9), np.float32(-3)])], [value(np.array([[-3, 2]]))])
    x = helper.make_tensor_value_info("x", 1, [None, 2])
    maps = helper.make_sequence_type_proto(
        helper.make_map_type_proto(7, helper.make_tensor_type_proto(1, None)))
    node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[4, 9])
    zipped = helper.make_model(helper.make_graph([node], "g", [x], [helper.make_value_info("y", maps)]),
                               ir_version=9, opset_imports=[helper.make_opsetid("", 21),
                                                            helper.make_opsetid("ai.onnx.ml", 1)])
    rows, sequence = np.array([[0.25, 0.75], [1, 0]], np.float32), onnx.SequenceProto()
    sequence.elem_type = onnx.SequenceProto.MAP
    for row in rows:
        sequence.map_values.append(onnx.MapProto.FromString(map_value([4, 9], list(row))))
    write("zipmap_1_0", zipped, [value(rows)], [sequence.SerializeToString()])


def write_pipelines():
    """A table through imputer, scaler, one-hot columns, a linear classifier and a support vector
    machine: large enough for several threads."""
    rng = np.random.default_rng(5)
    nodes = [
        helper.make_node("Imputer", ["x"], ["a"], domain="ai.onnx.ml", imputed_value_floats=[0.5],
                         replaced_value_float=float("nan")),
        helper.make_node("Scaler", ["a"], ["b"], domain="ai.onnx.ml", offset=[0.1] * 8, scale=[2.0] * 8),
        helper.make_node("ArrayFeatureExtractor", ["x", "i"], ["c"], domain="ai.onnx.ml"),
        helper.make_node("OneHotEncoder", ["c"], ["d"], domain="ai.onnx.ml", cats_int64s=[-1, 0, 1]),
        helper.make_node("Reshape", ["d", "s"], ["e"]),
        helper.make_node("Concat", ["b", "e"], ["f"], axis=1),
        helper.make_node("LinearClassifier", ["f"], ["label", "g"], domain="ai.onnx.ml", post_transform="SOFTMAX",
                         classlabels_ints=[0, 1, 2], intercepts=[0.1, 0.2, 0.3],
                         coefficients=rng.normal(size=33).astype(np.float32).tolist()),
        helper.make_node("SVMRegressor", ["b"], ["h"], domain="ai.onnx.ml", kernel_type="RBF", n_supports=50,
                         kernel_params=[0.25, 0.0, 3.0], rho=[0.5],
                         coefficients=rng.normal(size=50).astype(np.float32).tolist(),
                         support_vectors=rng.normal(size=400).astype(np.float32).tolist()),
        helper.make_node("Concat", ["g", "h"], ["y"], axis=1),
        helper.make_node("ZipMap", ["g"], ["z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2])]
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(7, helper.make_tensor_type_proto(1, None)))
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, ["n", 8])],
        [helper.make_tensor_value_info("y", 1, ["n", 4]), helper.make_tensor_value_info("label", 7, ["n"]),
         helper.make_value_info("z", maps)],
        [numpy_helper.from_array(np.array([3]), "i"), numpy_helper.from_array(np.array([-1, 3]), "s")])
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 21),
                                                                  helper.make_opsetid("ai.onnx.ml", 3)])
    (HERE / "ml_pipeline.onnx").write_bytes(model.SerializeToString())
    x = np.round(rng.normal(size=(3000, 8)), 1).astype(np.float32)
    x[rng.random(x.shape) < 0.05] = np.nan
    np.save(HERE / "ml_pipeline_input.npy", x)


def write_isolation_forest():
    """skl2onnx's isolation forest, with the answers of scikit-learn."""
    from skl2onnx import to_onnx
    from sklearn.ensemble import IsolationForest
    x = np.random.default_rng(3).normal(size=(40, 4)).astype(np.float32)
    forest = IsolationForest(n_estimators=4, max_samples=24, random_state=0).fit(x)
    model = to_onnx(forest, x[:1], target_opset={"": 18, "ai.onnx.ml": 3})
    write("isolation_forest", model, [value(x)], [
        value(forest.predict(x).astype(np.int64).reshape(-1, 1)),
        value(forest.decision_function(x).astype(np.float32).reshape(-1, 1))])


if __name__ == "__main__":
    shutil.rmtree(OUT, ignore_errors=True)
    write_operators()
    write_maps()
    write_isolation_forest()
    write_pipelines()
