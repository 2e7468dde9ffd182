"""Models of XGBoost and LightGBM through onnxmltools, and of CatBoost through its own exporter."""
import json
import pathlib
import re
import tempfile

import catboost
import lightgbm
import numpy as np
import onnx
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import DoubleTensorType, FloatTensorType

import fixture_data as data
from fixture_case import Case

OPSET = 15


def _ulps(x, pairs, number):
    """Rows of x with a feature exactly on a threshold, and one ulp to either side."""
    rows = []
    for feature, threshold in sorted(set(pairs))[:20]:
        at = number(threshold)
        for value in (at, np.nextafter(at, number(-np.inf)), np.nextafter(at, number(np.inf))):
            rows.append(x[len(rows) % len(x)].astype(number))
            rows[-1][feature] = value
    return np.array(rows, number).reshape(-1, x.shape[1])


# ---- XGBoost: it sums in float, so margins must have the same bits ------------------------------

def _xgb_model(model, sample):
    x, y, z = sample
    model.fit(x.astype(np.float32), y)
    table = model.get_booster().trees_to_dataframe()
    table = table[table.Feature != "Leaf"]
    pairs = [] if table.Split.isna().all() else [
        (int(f[1:]), t) for f, t in zip(table.Feature, table.Split)]
    z = np.concatenate([z.astype(np.float32), _ulps(z, pairs, np.float32)])
    onx = convert_xgboost(model, initial_types=[("X", FloatTensorType([None, x.shape[1]]))],
                          target_opset=OPSET)
    return z, onx


def _attempt(name, convert, *args, **more):
    """What `convert` gives, or None where the converter refuses, which is reported."""
    try:
        return convert(*args, **more)
    except Exception as fault:  # noqa: BLE001 - any refusal is a result
        print(f"{name}: not exported: {type(fault).__name__} {fault}"[:200])
        return None


def _margins(onx):
    """The file without the transform of its scores."""
    copy = onnx.ModelProto()
    copy.CopyFrom(onx)
    for node in copy.graph.node:
        for attr in node.attribute:
            if attr.name == "post_transform":
                attr.s = b"NONE"
    return copy


def _xgb_cases():
    two, many, reg = data.binary(), data.multi(), data.regression()
    small = {"n_estimators": 6, "max_depth": 3, "learning_rate": 0.4, "n_jobs": 1}
    zero = {**small, "base_score": 0.5}

    def holes(sample):
        return data.holes(sample[0]), sample[1], data.holes(sample[2])

    classifiers = {
        "binary": (zero, two), "binary_nan": (zero, holes(two)), "binary_base": (small, two),
        "multi": (small, many), "multi_nan": (small, holes(many)),
        "stump": ({**zero, "n_estimators": 1, "max_depth": 1}, two),
        "dart": ({**zero, "booster": "dart"}, two),
        "rounds": ({**zero, "num_parallel_tree": 2}, two)}
    for title, (args, sample) in classifiers.items():
        name, model = f"XGBClassifier_{title}", xgboost.XGBClassifier(**args)
        made = _attempt(name, _xgb_model, model, sample)
        if not made:
            continue
        z, onx = made
        yield Case(name, "onnxmltools", onx, [z], [model.predict(z), model.predict_proba(z)])
        yield Case(name + "_margins", "onnxmltools", _margins(onx), [z],
                   [None, model.predict(z, output_margin=True)],
                   ["=", 1e-5 if title.endswith("base") else "="])
    regressors = {
        "squares": ({**small, "base_score": 0.0}, reg), "base": (small, reg),
        "nan": ({**small, "base_score": 0.0}, holes(reg)),
        "logistic": ({**zero, "objective": "reg:logistic"}, (two[0], two[1], two[2])),
        "poisson": ({**small, "objective": "count:poisson"}, data.positive_target()),
        "gamma": ({**small, "objective": "reg:gamma"}, data.positive_target()),
        "tweedie": ({**small, "objective": "reg:tweedie"}, data.positive_target()),
        "absolute": ({**small, "objective": "reg:absoluteerror"}, reg)}
    for title, (args, sample) in regressors.items():
        name, model = f"XGBRegressor_{title}", xgboost.XGBRegressor(**args)
        made = _attempt(name, _xgb_model, model, sample)
        exact = ["="] if title in ("squares", "nan") else None
        if made:
            yield Case(name, "onnxmltools", made[1], [made[0]], [model.predict(made[0])], exact)
    forest = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "random_state": 0}
    for make, sample in ((xgboost.XGBRFClassifier, two), (xgboost.XGBRFRegressor, reg)):
        model = make(**forest)
        made = _attempt(make.__name__, _xgb_model, model, sample)
        if made:
            z, onx = made
            yield Case(make.__name__, "onnxmltools", onx, [z],
                       [model.predict(z)] + ([model.predict_proba(z)] if sample is two else []))
    yield from _xgb_categories()


def _xgb_categories():
    """Splits by sets of categories (codes 0..6), with holes and codes never seen."""
    import pandas
    rng = np.random.default_rng(3)
    code, number = rng.integers(0, 7, 120), data.features(120, 1)[:, 0]
    y = np.isin(code, [1, 4, 6]).astype(int) ^ (number > 1)
    table = pandas.DataFrame({"f0": pandas.Categorical(code, categories=range(7)), "f1": number})
    for title, one_hot in (("sets", 1), ("one_hot", 10)):
        model = xgboost.XGBClassifier(n_estimators=4, max_depth=3, enable_categorical=True,
                                      max_cat_to_onehot=one_hot, base_score=0.5, n_jobs=1)
        model.fit(table[:90], y[:90])
        z = np.stack([code[90:], number[90:]], axis=1).astype(np.float32)
        name = f"XGBClassifier_categories_{title}"
        onx = _attempt(name, convert_xgboost, model, target_opset=OPSET,
                       initial_types=[("X", FloatTensorType([None, 2]))])
        if onx:
            yield Case(name, "onnxmltools", onx, [z],
                       [model.predict(table[90:]), model.predict_proba(table[90:])])


# ---- LightGBM: it sums in double ----------------------------------------------------------------

def _lgbm_thresholds(booster):
    table = booster.trees_to_dataframe()
    table = table[(table.decision_type == "<=")]
    return [(int(re.sub(r"\D", "", f)), float(t)) for f, t in
            zip(table.split_feature, table.threshold)]


def _lgbm_case(name, model, sample, kind, ulps=True, convert=None, **fit):
    x, y, z = sample
    number = np.float32 if kind == "float" else np.float64
    model.fit(x, y, **fit)
    z = z.astype(number)
    if ulps:
        z = np.concatenate([z, _ulps(z, _lgbm_thresholds(model.booster_), number)])
    wide = z.astype(np.float64)
    onx = convert_lightgbm(
        model, initial_types=[("X", (FloatTensorType if kind == "float" else DoubleTensorType)(
            [None, x.shape[1]]))], target_opset=OPSET, **(convert or {}))
    outputs, zipmap = [model.predict(wide)], {}
    if hasattr(model, "predict_proba"):
        outputs.append(model.predict_proba(wide))
        if not (convert and convert.get("zipmap") is False):
            zipmap[1] = list(model.classes_)
    return Case(f"{name}_{kind}", "onnxmltools", onx, [z], outputs, zipmap=zipmap)


def _lgbm_cases():
    two, many, reg = data.binary(), data.multi(), data.regression()
    small = {"n_estimators": 5, "num_leaves": 6, "min_child_samples": 4, "verbose": -1,
             "n_jobs": 1, "random_state": 0}
    plain = {"zipmap": False}

    def holes(sample):
        return data.holes(sample[0]), sample[1], data.holes(sample[2])

    rng = np.random.default_rng(5)
    mixed = np.stack([rng.integers(0, 9, 140), data.features(140, 1)[:, 0]], axis=1)
    goal = np.isin(mixed[:, 0], [0, 3, 4, 8]).astype(int) ^ (mixed[:, 1] > 1)
    sets = (mixed[:110], goal[:110], np.concatenate([mixed[110:], [[42, 0.5], [-1, 2.0]]]))
    forest = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7}
    rows = []
    for kind in ("float", "double"):
        classifier, regressor = lightgbm.LGBMClassifier, lightgbm.LGBMRegressor
        rows += [
            ("LGBMClassifier_binary", classifier(**small), two, kind, True, plain, {}),
            ("LGBMClassifier_zipmap", classifier(**small), two, kind, False, None, {}),
            ("LGBMClassifier_multi", classifier(**small), many, kind, True, plain, {}),
            ("LGBMClassifier_strings", classifier(**small), data.multi(("a", "b", "c")), kind,
             False, plain, {}),
            ("LGBMClassifier_nan", classifier(**small), holes(two), kind, False, plain, {}),
            ("LGBMClassifier_categories", classifier(**small, max_cat_to_onehot=1, cat_smooth=1,
                                                     min_data_per_group=1),
             sets, kind, False, plain, {"categorical_feature": [0]}),
            ("LGBMClassifier_rf", classifier(**small, **forest), two, kind, False, plain, {}),
            ("LGBMClassifier_ova", classifier(**small, objective="multiclassova"), many, kind,
             False, plain, {}),
            ("LGBMRegressor", regressor(**small), reg, kind, True, None, {}),
            ("LGBMRegressor_nan", regressor(**small), holes(reg), kind, False, None, {}),
            ("LGBMRegressor_zero_as_missing", regressor(**small, zero_as_missing=True), reg, kind,
             False, None, {}),
            ("LGBMRegressor_poisson", regressor(**small, objective="poisson"),
             data.positive_target(), kind, False, None, {}),
            ("LGBMRegressor_rf", regressor(**small, **forest), reg, kind, False, None, {}),
            ("LGBMRegressor_split", regressor(**small), reg, kind, False, {"split": 2}, {}),
            ("LGBMRegressor_rough_thresholds", regressor(**small), _rough(reg), kind, True, None,
             {})]
    for name, model, sample, kind, ulps, convert, fit in rows:
        case = _attempt(f"{name}_{kind}", _lgbm_case, name, model, sample, kind, ulps, convert,
                        **fit)
        if case:
            yield case


def _rough(sample):
    """Values whose midpoints, the thresholds, are no floats."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=sample[0].shape).astype(np.float32).astype(float)
    return x, x[:, 0] + x[:, 1] ** 2, rng.normal(size=(10, 4)).astype(np.float32).astype(float)


# ---- CatBoost -----------------------------------------------------------------------------------

def _catboost_case(name, model, sample, ulps=True):
    x, y, z = sample
    model.fit(x, y)
    pairs = [(f, b) for f, borders in enumerate(_borders(model)) for b in borders]
    z = z.astype(np.float32)
    if ulps:
        z = np.concatenate([z, _ulps(z, pairs[::max(1, len(pairs) // 20)], np.float32)])
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.onnx"
        model.save_model(str(path), format="onnx")
        onx = onnx.load(str(path))
    outputs, zipmap = [np.ravel(model.predict(z))], {}
    if hasattr(model, "predict_proba"):
        outputs.append(model.predict_proba(z))
        zipmap[1] = list(model.classes_)
    return Case(name, "catboost", onx, [z], outputs, zipmap=zipmap)


def _borders(model):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.json"
        model.save_model(str(path), format="json")
        features = json.loads(path.read_text())["features_info"]["float_features"]
    return [f.get("borders") or [] for f in features]


def _catboost_cases():
    two, many, reg = data.binary(), data.multi(), data.regression()
    small = {"iterations": 5, "depth": 3, "verbose": False, "thread_count": 1, "random_seed": 0,
             "allow_writing_files": False, "learning_rate": 0.3}
    rows = [
        ("CatBoostClassifier_binary", catboost.CatBoostClassifier(**small), two),
        ("CatBoostClassifier_strings", catboost.CatBoostClassifier(**small),
         data.binary(("no", "yes"))),
        ("CatBoostClassifier_multi", catboost.CatBoostClassifier(**small), many),
        ("CatBoostRegressor", catboost.CatBoostRegressor(**small), reg),
        ("CatBoostRegressor_nan", catboost.CatBoostRegressor(**small),
         (data.holes(reg[0]), reg[1], data.holes(reg[2])))]
    for name, model, sample in rows:
        case = _attempt(name, _catboost_case, name, model, sample, not name.endswith("nan"))
        if case:
            yield case


def cases(only):
    for family in (_xgb_cases, _lgbm_cases, _catboost_cases):
        for case in family():
            if only in case.name:
                yield case
