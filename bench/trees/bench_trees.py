#!/usr/bin/env python3
"""Tenon's forests against ONNX Runtime, the training libraries' own predictors, lleaves and
treelite, one thread each, in one run:

    bench/trees/make_tree_models.py models
    bench/trees/bench_trees.py models build/bench --ort libonnxruntime.so [--markdown]

Rounds go through all rivals of a model in turn; the best of the rounds counts. Tenon and ONNX
Runtime share a process (bench_trees, bench_models --load) and are called from C; the libraries
through their fastest Python call, whose overhead does not matter at 10,000 rows. Exits 1 when a
figure is below its floor (FLOORS) or the scores of a model differ. TENON_PLUGIN_PATH names the
plugins of an uninstalled build.
"""
import argparse
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time

import numpy as np

FEATURES, ROUNDS, TOLERANCE = 28, 3, 1e-5
# model, what is varied -> least times faster than ONNX Runtime
FLOORS = {
    ("xgb_100x6", "batch"): 12, ("xgb_500x6", "batch"): 18, ("xgb_1000x8", "batch"): 7,
    ("rf_100_deep", "batch"): 5, ("xgb_100x6", "avx2"): 7, ("rf_100_deep", "load"): 5,
    ("xgb_100x6", "row"): 4, ("xgb_500x6", "row"): 4, ("xgb_1000x8", "row"): 4,
    ("rf_100_deep", "row"): 4,
}
# model -> least times faster with two threads than with one
TWO_THREADS = {"xgb_500x6": 1.8, "xgb_1000x8": 1.8, "rf_100_deep": 1.8}


def predictors(name, model, rows):
    """Name and call of each other way to predict `rows` with one thread."""
    if name.startswith("xgb"):
        import xgboost
        booster = model.get_booster()
        booster.set_param({"nthread": 1})
        yield "xgboost", lambda: booster.inplace_predict(rows)
        yield from treelite_predictors(lambda t: t.frontend.from_xgboost(booster), rows)
    elif name.startswith("lgbm"):
        booster = model.booster_
        yield "lightgbm", lambda: booster.predict(rows, num_threads=1)
        yield from treelite_predictors(lambda t: t.frontend.from_lightgbm(booster), rows)
        yield from lleaves_predictors(booster, rows)
    elif name.startswith("catboost"):
        yield "catboost", lambda: model.predict(rows, thread_count=1)
    else:
        model.n_jobs = 1
        predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
        yield "scikit-learn", lambda: predict(rows)
        yield from treelite_predictors(lambda t: t.sklearn.import_model(model), rows)


def treelite_predictors(read, rows):
    try:
        import treelite
        import treelite.gtil
        model = read(treelite)
    except Exception as error:  # a rival that does not install or read the model is left out
        print(f"  treelite: {type(error).__name__}: {error}", file=sys.stderr)
        return
    yield "treelite (gtil)", lambda: treelite.gtil.predict(model, rows, nthread=1)
    nodes = sum(tree["num_nodes"] for tree in model_trees(model))
    if nodes > 20000:
        return  # its C code takes a compiler longer than a bench should
    try:
        import tl2cgen
        folder = tempfile.mkdtemp()
        tl2cgen.export_lib(model, toolchain="gcc", libpath=f"{folder}/model.so",
                           params={"parallel_comp": 8}, nthread=1)
        predictor = tl2cgen.Predictor(f"{folder}/model.so", nthread=1)
        matrix = tl2cgen.DMatrix(rows)
    except Exception as error:
        print(f"  tl2cgen: {type(error).__name__}: {error}", file=sys.stderr)
        return
    yield "treelite (tl2cgen)", lambda: predictor.predict(matrix)


def model_trees(model):
    import json
    return json.loads(model.dump_as_json())["trees"]


def lleaves_predictors(booster, rows):
    try:
        import lleaves
        with tempfile.NamedTemporaryFile(suffix=".txt") as file:
            booster.save_model(file.name)
            model = lleaves.Model(model_file=file.name)
            model.compile()
    except Exception as error:
        print(f"  lleaves: {type(error).__name__}: {error}", file=sys.stderr)
        return
    yield "lleaves", lambda: model.predict(rows, n_jobs=1)


def best_call(call, seconds=0.7):
    call()
    best, end = 1e9, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best * 1e6


class Runs:
    """The C programs."""

    def __init__(self, options):
        self.options = options

    def trees(self, name, *more, ort=True, **env):
        folder = self.options.models
        command = [self.options.build / "bench_trees", "--rows", f"{folder / 'rows.f32'}:{FEATURES}",
                   "--seconds", str(self.options.seconds), *more, folder / f"{name}.onnx"]
        if ort:
            command[1:1] = ["--ort", self.options.ort]
        line = subprocess.run(list(map(str, command)), env={**os.environ, **env}, check=True,
                              capture_output=True, text=True).stdout.splitlines()[-1].split()
        return [float(x) for x in line[1:]]

    def load(self, name):
        command = [self.options.build / "bench_models", "--ort", self.options.ort, "--load",
                   self.options.models / f"{name}.onnx"]
        words = subprocess.run(list(map(str, command)), check=True, capture_output=True,
                               text=True).stdout.split()
        return float(words[1]) * 1e3, float(words[words.index("onnxruntime") + 1]) * 1e3


def bench(name, runs, rows, table, faults):
    others = list(predictors(name, pickle.loads((runs.options.models / f"{name}.pickle").read_bytes()),
                             rows))
    best = {}

    def note(key, value):
        best[key] = min(best.get(key, 1e18), value)

    for _ in range(ROUNDS):
        tenon, _, ort, _, _, _, difference = runs.trees(name)
        note("batch", tenon), note("batch, ort", ort)
        if not difference <= TOLERANCE:
            faults.append(f"{name}: scores differ from ONNX Runtime's by {difference:.1e}")
        tenon, _, ort, *_ = runs.trees(name, "--batch", "1")
        note("row", tenon), note("row, ort", ort)
        tenon, _, ort, *_ = runs.trees(name, TENON_CPU_ISA="avx2")
        note("avx2", tenon), note("avx2, ort", ort)
        note("two", runs.trees(name, "--threads", "2", ort=False)[0])
        tenon, ort = runs.load(name)
        note("load", tenon), note("load, ort", ort)
        for other, call in others:
            note(other, best_call(call))
    ratios = {what: best[f"{what}, ort"] / best[what] for what in ("batch", "row", "avx2", "load")}
    ratios["two"] = best["batch"] / best["two"]
    for what, ratio in ratios.items():
        floor = TWO_THREADS.get(name) if what == "two" else FLOORS.get((name, what))
        if floor and ratio < floor:
            faults.append(f"{name}, {what}: {ratio:.2f} times, floor {floor}")
    table.append((name, best, ratios, [other for other, _ in others]))
    report(*table[-1], len(rows))


def report(name, best, ratios, others, n):
    print(f"{name}: ns a row at {n} rows: Tenon {best['batch'] * 1e3 / n:.0f}, ONNX Runtime "
          f"{best['batch, ort'] * 1e3 / n:.0f} ({ratios['batch']:.1f} times), " +
          ", ".join(f"{o} {best[o] * 1e3 / n:.0f} ({best[o] / best['batch']:.1f})" for o in others))
    print(f"  one row: {best['row']:.2f} us, ONNX Runtime {best['row, ort']:.2f} ({ratios['row']:.1f}); "
          f"AVX2 only: {ratios['avx2']:.1f} times; two threads: {ratios['two']:.2f} times; "
          f"loading: {best['load'] / 1e3:.1f} ms, ONNX Runtime {best['load, ort'] / 1e3:.1f} "
          f"({ratios['load']:.1f})", flush=True)


def markdown(table, n):
    print("\n| model | Tenon, ns a row | ONNX Runtime | times | others (ns a row) | one row | AVX2 only | "
          "two threads | loading |\n|---|---|---|---|---|---|---|---|---|")
    for name, best, ratios, others in table:
        rivals = ", ".join(f"{o} {best[o] * 1e3 / n:,.0f}" for o in others)
        print(f"| {name} | {best['batch'] * 1e3 / n:,.0f} | {best['batch, ort'] * 1e3 / n:,.0f} | "
              f"{ratios['batch']:.1f} | {rivals} | {ratios['row']:.1f} × ({best['row']:.2f} us) | "
              f"{ratios['avx2']:.1f} × | {ratios['two']:.2f} × | {ratios['load']:.1f} × |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path, help="folder of bench_trees and bench_models")
    parser.add_argument("--ort", default=os.environ.get("TENON_TEST_ORT"))
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--only", help="part of the names of the models to take")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    if not options.ort:
        parser.error("--ort or TENON_TEST_ORT must name ONNX Runtime's library")
    rows = np.fromfile(options.models / "rows.f32", np.float32).reshape(-1, FEATURES)
    table, faults = [], []
    for path in sorted(options.models.glob("*.onnx")):
        if not options.only or options.only in path.stem:
            bench(path.stem, Runs(options), rows, table, faults)
    if options.markdown:
        markdown(table, len(rows))
    for fault in faults:
        print(f"BELOW: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
