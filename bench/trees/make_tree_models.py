#!/usr/bin/env python3
"""Trains and exports the forests of bench_trees.py: bench/trees/make_tree_models.py FOLDER

28 features, normal data; each model in ONNX form and, beside it, as its library saves it. rows.f32
holds 10,000 rows that no model was trained on.

Needs: pip install numpy scikit-learn skl2onnx xgboost lightgbm catboost onnxmltools
"""
import pathlib
import pickle
import sys

import numpy as np
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
import skl2onnx

FEATURES, ROWS = 28, 10000
GENERATOR = np.random.default_rng(1)


def rows(n):
    return GENERATOR.standard_normal((n, FEATURES)).astype(np.float32)


def target(x):
    return (np.sin(x[:, 0] * 2) * x[:, 1] + np.abs(x[:, 2] - x[:, 3]) + x[:, 4:12].sum(1) * 0.3 +
            (x[:, 12] > 0.3) * x[:, 13] * x[:, 14] + GENERATOR.standard_normal(len(x)) * 0.3)


def classes(y, n):
    return np.digitize(y, np.quantile(y, np.arange(1, n) / n))


def xgboost_model(kind, trees, depth, n=60000):
    import xgboost
    x = rows(n)
    y = target(x)
    settings = dict(n_estimators=trees, max_depth=depth, tree_method="hist", learning_rate=0.1, n_jobs=1)
    if kind == "regressor":
        model = xgboost.XGBRegressor(**settings, base_score=0.0).fit(x, y)
    else:
        model = xgboost.XGBClassifier(**settings).fit(x, classes(y, 5))
    return model, convert_xgboost(model, "xgboost", [("x", FloatTensorType([None, FEATURES]))])


def lightgbm_model(trees, leaves):
    import lightgbm
    x = rows(60000)
    model = lightgbm.LGBMRegressor(n_estimators=trees, num_leaves=leaves, n_jobs=1, verbose=-1)
    model.fit(x, target(x))
    return model, convert_lightgbm(model, "lightgbm", [("x", FloatTensorType([None, FEATURES]))])


def forest_model(kind, trees, n, **settings):
    from sklearn import ensemble
    x = rows(n)
    y = target(x)
    if kind == "regressor":
        model = ensemble.RandomForestRegressor(trees, n_jobs=1, random_state=0, **settings).fit(x, y)
    else:
        model = ensemble.RandomForestClassifier(trees, n_jobs=1, random_state=0, **settings)
        model.fit(x, classes(y, 3))
    options = {"zipmap": False} if kind == "classifier" else None
    return model, skl2onnx.to_onnx(
        model, initial_types=[("x", skl2onnx.common.data_types.FloatTensorType([None, FEATURES]))],
        options={id(model): options} if options else None)


def catboost_model(folder, name, trees, depth):
    import catboost
    x = rows(60000)
    model = catboost.CatBoostRegressor(iterations=trees, depth=depth, verbose=0, thread_count=1,
                                       allow_writing_files=False)
    model.fit(x, target(x))
    model.save_model(str(folder / f"{name}.onnx"), format="onnx")
    return model


MODELS = {
    "xgb_100x6": lambda: xgboost_model("regressor", 100, 6),
    "xgb_500x6": lambda: xgboost_model("regressor", 500, 6),
    "xgb_1000x8": lambda: xgboost_model("regressor", 1000, 8),
    "rf_100_deep": lambda: forest_model("regressor", 100, 10000),
    "xgb_5_classes_100x6": lambda: xgboost_model("classifier", 100, 6),
    "lgbm_100x31_leaves": lambda: lightgbm_model(100, 31),
    "rf_3_classes_100x8": lambda: forest_model("classifier", 100, 20000, max_depth=8),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rows(ROWS).tofile(folder / "rows.f32")
    for name, make in MODELS.items():
        if (folder / f"{name}.pickle").exists():
            continue
        model, exported = make()
        (folder / f"{name}.onnx").write_bytes(exported.SerializeToString())
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(model))
        print(name, flush=True)
    name = "catboost_500x6"
    if not (folder / f"{name}.pickle").exists():
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(catboost_model(folder, name, 500, 6)))
        print(name)


if __name__ == "__main__":
    main()
