#!/usr/bin/env python3
"""Makes tests/sklearn/fixtures: models that converters write, inputs, and the answers of the
libraries themselves; cases.tsv, how near Tenon must come; coverage.tsv, every class of skl2onnx's
registry with its fixtures or the converter's reason to refuse.

    pip install scikit-learn xgboost lightgbm catboost onnxruntime pandas \
        git+https://github.com/onnx/sklearn-onnx@33c9f268 git+https://github.com/onnx/onnxmltools@0934091a
    python tests/sklearn/make_fixtures.py [--only TEXT] [--to FOLDER]

It also prints how near ONNX Runtime and onnx's own evaluator come; no answer is taken from them.
Where both read in a file something else than the library answers, the file is wrong: those rows
are left out of the comparison, counted in cases.tsv, and explained (fixture_faults.py)."""
import argparse
import collections
import os
import pathlib
import re
import signal
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")
os.environ["OMP_NUM_THREADS"] = "1"
if os.environ.get("PYTHONHASHSEED") != "0":  # converters walk sets: the same files every time
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"})

import skl2onnx  # noqa: E402
from skl2onnx._supported_operators import sklearn_operator_name_map  # noqa: E402
from skl2onnx.common import data_types  # noqa: E402

import fixture_boosters  # noqa: E402
import fixture_faults  # noqa: E402
import fixture_sklearn  # noqa: E402
from fixture_case import STRICT, Case  # noqa: E402

PATIENCE = 30  # seconds for one conversion: one of the converters may not end
HERE = pathlib.Path(__file__).resolve().parent
TYPES = {"float": (data_types.FloatTensorType, np.float32),
         "double": (data_types.DoubleTensorType, np.float64)}


def options_of(row, model):
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    options, plain = dict(row.options or {}), dict(row.options or {})
    if hasattr(last, "predict") and (hasattr(last, "classes_") or hasattr(last, "predict_proba")):
        options.setdefault("zipmap", False)
    return [{id(model): o} if o else None for o in (options, plain)]


def convert(row, model, inputs):
    opset = row.opset or 21
    for i, options in enumerate(options_of(row, model)):
        try:
            return skl2onnx.convert_sklearn(
                model, initial_types=[(n, t) for n, t, _ in inputs], options=options,
                target_opset=opset)
        except (NameError, KeyError):  # a converter without the option zipmap
            if i == 1:
                raise


def inputs_of(row, model, kind):
    if row.inputs:
        return row.inputs
    make, number = TYPES[kind]
    x = row.train[2].astype(number)
    if row.extra:
        x = np.concatenate([x, row.extra(model, row.train[2], kind)])
    return [("X", make([None, x.shape[1]]), x)]


def case_of(row, kind):
    model = row.model
    if row.train is not None and not hasattr(model, "classes_") or row.train is not None:
        model = model.fit(row.train[0], row.train[1]) if row.train[1] is not None else (
            model if row.name == "_ConstantPredictor" else model.fit(row.train[0]))
    inputs = inputs_of(row, model, kind)
    answers = row.answers or fixture_sklearn._usual
    asked = None if row.inputs else inputs[0][2].astype(np.float64)
    outputs = answers(model, asked)
    onx = convert(row, model, inputs)
    outputs += [None] * (len(onx.graph.output) - len(outputs))
    name = f"{row.name}_{kind}".rstrip("_")
    limits = row.limits.get(kind)
    return Case(name, "skl2onnx", onx, [x for _, _, x in inputs], outputs, limits,
                row.reason if limits else "")


def estimators_in(row):
    """The names of the registry's classes that a row's model consists of."""
    text = re.sub(r"\s+", " ", repr(row.model))
    return {cls.__name__ for cls in sklearn_operator_name_map
            if re.search(rf"\b{cls.__name__}\(", text)} | {type(row.model).__name__}


def sklearn_cases(only, coverage):
    for row in fixture_sklearn.rows():
        for kind in row.types:
            if only not in f"{row.name}_{kind}":
                continue
            signal.alarm(PATIENCE)
            try:
                case = case_of(row, kind)
            except Exception as fault:  # noqa: BLE001 - the converter's refusal is a result
                why = f"{type(fault).__name__}: {fault}".splitlines()[0][:160]
                coverage[type(row.model).__name__].append((f"{row.name} {kind}", why))
                print(f"{row.name}_{kind}: not exported: {why}", flush=True)
                continue
            finally:
                signal.alarm(0)
            for name in estimators_in(row):
                coverage[name].append((case.name, None))
            yield case


def give_up(*_):
    raise TimeoutError(f"the converter did not end in {PATIENCE} s")


def write_coverage(path, coverage):
    """A line a class: how many fixtures it is part of, and what its converter refused."""
    lines = ["# class of skl2onnx's registry\tfixtures\trefused by the converter"]
    for name in sorted({cls.__name__ for cls in sklearn_operator_name_map}):
        made = sum(why is None for _, why in coverage[name])
        refused = [f"{what}: {why}" for what, why in coverage[name] if why]
        if not made and not refused:
            raise SystemExit(f"no row for {name}")
        lines.append(f"{name}\t{made}\t{'; '.join(refused)}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--to", type=pathlib.Path, default=HERE)
    args = parser.parse_args()
    folder = args.to / "fixtures"
    signal.signal(signal.SIGALRM, give_up)
    folder.mkdir(parents=True, exist_ok=True)
    coverage, rows, size = collections.defaultdict(list), [], 0
    for source in (sklearn_cases(args.only, coverage), fixture_boosters.cases(args.only)):
        for case in source:
            print(f"{case.name}: {case.judge()}", flush=True)
            fault = fixture_faults.explain(case)
            if fault:
                print("    left out: " + fault, flush=True)
                for name in coverage:
                    coverage[name] = [(what, fault if what == case.name else why)
                                      for what, why in coverage[name]]
                continue
            size += case.write(folder)
            rows.append(case.row())
    print(f"{len(rows)} fixtures, {size} bytes")
    if not args.only:
        head = f"# fixture\tlargest relative error an output ({STRICT:g} unless there is a reason; = the same bits)\trows left out\treason"
        (args.to / "cases.tsv").write_text("\n".join([head] + sorted(rows)) + "\n", "utf-8")
        write_coverage(args.to / "coverage.tsv", coverage)


if __name__ == "__main__":
    main()
