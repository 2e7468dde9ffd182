#!/usr/bin/env python3
"""Trains three models with scikit-learn, exports them with skl2onnx, and compares Tenon's answers
with scikit-learn's own.

forest.onnx    a random forest that tells three kinds of wine apart
boosted.onnx   gradient-boosted trees that predict the progress of diabetes
pipeline.onnx  a ColumnTransformer over numbers and words with missing values, and a classifier

Writes each model, its inputs and scikit-learn's answers (.npy) beside this script; they are
committed. With --compare it only runs the committed models through Tenon's Python package.

Needs: pip install scikit-learn skl2onnx pandas tenon
"""
import argparse
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ("forest", "boosted", "pipeline")


def forest():
    from sklearn.datasets import load_wine
    from sklearn.ensemble import RandomForestClassifier
    x, y = load_wine(return_X_y=True)
    x = x.astype(np.float32)
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(x[::2], y[::2])
    rows = x[1::2]
    return model, {"X": rows}, {"label": model.predict(rows),
                                "probabilities": model.predict_proba(rows)}


def boosted():
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import GradientBoostingRegressor
    x, y = load_diabetes(return_X_y=True)
    x = x.astype(np.float32)
    model = GradientBoostingRegressor(n_estimators=40, max_depth=3, random_state=0)
    model.fit(x[::2], y[::2])
    rows = x[1::2]
    return model, {"X": rows}, {"variable": model.predict(rows).reshape(-1, 1)}


def passengers():
    """A table as one meets them: ages and fares with holes, towns and classes, some unknown."""
    import pandas
    rng = np.random.default_rng(0)
    n = 240
    table = pandas.DataFrame({
        "age": rng.integers(1, 80, n).astype(np.float32),
        "fare": (rng.gamma(2, 16, n) * 4).round().astype(np.float32) / 4,
        "town": rng.choice(["Cherbourg", "Queenstown", "Southampton"], n),
        "class": rng.choice(["first", "second", "third"], n)})
    saved = (table.age < 16) | (table["class"] == "first") & (table.fare > 30)
    table.loc[rng.random(n) < 0.2, "age"] = np.nan
    table.loc[rng.random(n) < 0.1, "fare"] = np.nan
    table.loc[rng.random(n) < 0.1, "town"] = ""
    return table, np.where(saved, "saved", "lost")


def pipeline():
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    table, goal = passengers()
    numbers, words = ["age", "fare"], ["town", "class"]
    model = make_pipeline(
        ColumnTransformer([
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            ("words", OneHotEncoder(handle_unknown="ignore"), words)]),
        LogisticRegression())
    model.fit(table[:160], goal[:160])
    rows = table[160:].copy()
    rows.iloc[0, 2] = "Belfast"  # a town that no row of the training had
    inputs = {name: rows[[name]].to_numpy(np.float32 if name in numbers else str)
              for name in table.columns}
    return model, inputs, {"label": model.predict(rows),
                           "probabilities": model.predict_proba(rows)}


def export(model, inputs):
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    types = [(name, (StringTensorType if x.dtype.kind in "OU" else FloatTensorType)(
        [None, x.shape[1]])) for name, x in inputs.items()]
    options = {"zipmap": False} if hasattr(model, "predict_proba") else None
    return to_onnx(model, initial_types=types, target_opset=18,
                   options={id(model): options} if options else None)


def train(name):
    model, inputs, answers = {"forest": forest, "boosted": boosted, "pipeline": pipeline}[name]()
    (HERE / f"{name}.onnx").write_bytes(export(model, inputs).SerializeToString())
    for key, x in inputs.items():
        np.save(HERE / f"{name}_{key}.npy", x)
    for key, y in answers.items():
        y = y.astype(np.float32) if y.dtype.kind == "f" else y
        np.save(HERE / f"{name}_{key}.npy", y.astype(str) if y.dtype.kind == "O" else y)


def compare(name):
    import tenon
    session = tenon.InferenceSession(str(HERE / f"{name}.onnx"))
    feeds = {i.name: np.load(HERE / f"{name}_{i.name}.npy") for i in session.get_inputs()}
    for output, got in zip(session.get_outputs(), session.run(None, feeds)):
        want = np.load(HERE / f"{name}_{output.name}.npy")
        if want.dtype.kind in "Ui":
            print(f"{name} {output.name}: {(got == want).sum()} of {len(want)} labels equal")
        else:
            error = (np.abs(got - want) / np.maximum(np.abs(want), 0.1)).max()
            print(f"{name} {output.name}: largest relative error {error:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compare", action="store_true", help="run the committed models only")
    args = parser.parse_args()
    for name in MODELS:
        if not args.compare:
            train(name)
        compare(name)


if __name__ == "__main__":
    main()
