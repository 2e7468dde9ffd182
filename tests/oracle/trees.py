#!/usr/bin/env python3
"""Random tree ensembles, answered by Tenon and by an evaluator written from the text: all
versions, types, modes, missing values, rows on thresholds and next to them, chains, sets, shared
nodes, every batch size and instruction set. Sums must have the same bits.

    PYTHONPATH=bindings/python LIBTENON=.../libtenon.so TENON_PLUGIN_PATH=... trees.py
        [--count N] [--only SEED]
"""
import argparse
import sys

try:
    import numpy as np
    import onnx
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import tenon
import tree_models as tm

ISAS = ("scalar", "avx2", "best")
BATCHES = (0, 1, 3, 8, 33, 70)


def thresholds_of(rng, dtype, whole):
    """Values that nodes compare with, some large, tiny or infinite."""
    values = rng.normal(size=40) * 10.0 ** rng.integers(-3, 4, size=40)
    values = np.concatenate([values, rng.integers(-5, 6, size=30), [0.0, -0.0, 1e-45, 16777216.0]])
    if whole:
        values = np.concatenate([values, [2.0**53, -2.0**53, 2.0**62, 16777217.0]])
    elif dtype != np.float16:
        values = np.concatenate([values, [np.inf, -np.inf, np.nan]])
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(dtype)


def inputs_of(rng, dtype, pool, n, features):
    """Rows of pool values, their neighbours in the input's type, and noise."""
    if np.dtype(dtype).kind == "i":
        info = np.iinfo(dtype)
        finite = [int(v) for v in pool if np.isfinite(v) and abs(v) < 2.0**62]
        near = [v + d for v in finite for d in (-1, 0, 1)] + [info.min, info.max, 0]
        near = [v for v in near if info.min <= v <= info.max]
        return np.array([[near[i] for i in row] for row in
                         rng.integers(len(near), size=(n, features))], dtype).reshape(n, features)
    with np.errstate(all="ignore"):
        base = pool.astype(np.float64).astype(dtype)
        near = np.concatenate([base, np.nextafter(base, dtype(np.inf)),
                               np.nextafter(base, dtype(-np.inf)),
                               np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype),
                               rng.normal(size=20).astype(dtype)])
    x = near[rng.integers(len(near), size=(n, features))]
    x[rng.random(x.shape) < 0.05] = np.nan
    if n and rng.random() < 0.5:
        x = np.nan_to_num(x, nan=1.0)
    return x


def random_votes(rng, n_targets, dtype, single, signed=True):
    def votes():
        n = 1 if single else int(rng.integers(0, n_targets + 1))
        weights = rng.normal(size=n) if signed else rng.random(n)
        targets = rng.integers(n_targets, size=n)
        return [(int(t), float(dtype(w))) for t, w in zip(targets, weights)]
    return votes


def make_case(seed):
    """A model, the rows' type and the thresholds, and a function that gives the outputs."""
    rng = np.random.default_rng(seed)
    kind = ("regressor", "ensemble", "classifier")[seed % 3]
    features = int(rng.choice([1, 2, 5, 30]))
    double = bool(rng.random() < 0.4)
    if kind == "ensemble":
        x_dtype = (np.float32, np.float64, np.float16)[int(rng.integers(3))]
        weight_dtype = t_dtype = x_dtype
    else:
        x_dtype = (np.float32, np.float64, np.int64, np.int32)[int(rng.integers(4))]
        weight_dtype = t_dtype = np.float64 if double else np.float32
    pool = thresholds_of(rng, t_dtype, np.dtype(x_dtype).kind == "i")
    modes = [[0], [1], [3], [0, 3], [1, 2], range(6), [4], [0, 4]][int(rng.integers(8))]
    if kind == "ensemble" and rng.random() < 0.5:
        modes = list(modes) + [tm.MEMBER]
    n_targets = int(rng.choice([1, 1, 2, 3, 9]))
    single = kind == "ensemble" or bool(rng.random() < 0.5)
    votes = random_votes(rng, n_targets, weight_dtype, single)
    depth = int(rng.choice([0, 1, 3, 6, 14]))
    trees = []
    for _ in range(int(rng.choice([1, 3, 8, 21]))):
        def value(_):
            return float(pool[rng.integers(len(pool))])
        if rng.random() < 0.2:
            n = int(rng.integers(1, 60))
            trees.append(tm.chain(int(rng.integers(features)), [value(0) for _ in range(n)], votes,
                                  bool(rng.random() < 0.5)))
        else:
            trees.append(tm.random_tree(rng, depth, features, value, list(modes), votes,
                                        share=float(rng.choice([0, 0.2])),
                                        stop=float(rng.choice([0, 0.2])) if depth > 6 else 0.1))
    sums_dtype = np.float64 if weight_dtype == np.float64 else np.float32
    if kind == "ensemble":
        aggregate = int(rng.integers(4))
        model = tm.ensemble(trees, x_dtype, n_targets, aggregate_function=aggregate)
        name = ("AVERAGE", "SUM", "MIN", "MAX")[aggregate]
        return model, x_dtype, pool, features, lambda x: [
            divided(tm.raw_sums(trees, x, n_targets, sums_dtype, name), name, trees).astype(x_dtype)]
    base = [float(sums_dtype(v)) for v in rng.normal(size=n_targets)] if rng.random() < 0.5 else None
    scatter = bool(rng.random() < 0.3)
    version = 1 if not double and rng.random() < 0.3 else int(rng.choice([3, 5]))
    if kind == "regressor":
        name = ("SUM", "SUM", "AVERAGE", "MIN", "MAX")[int(rng.integers(5))]
        model = tm.regressor(trees, x_dtype, n_targets, rng, double, scatter, version,
                             aggregate_function=name, base_values=base)
        return model, x_dtype, pool, features, lambda x: [regressed(
            trees, x, n_targets, sums_dtype, name, base)]
    n_classes = n_targets + int(rng.integers(3)) if n_targets > 1 else 3
    strings = bool(rng.random() < 0.5)
    labels = [f"label {i}" if strings else 10 * i - 3 for i in range(n_classes)]
    base = [float(sums_dtype(v)) for v in rng.normal(size=n_classes)] if base else None
    model = tm.classifier(trees, x_dtype, labels, rng, double, scatter, version, base_values=base)
    used = {t for tree in trees for node in tree for t, _ in node.votes}
    if n_classes == 2 and len(used) == 1:
        return make_case(seed + 300000)  # the binary rules have tests of their own
    return model, x_dtype, pool, features, lambda x: classified(
        trees, x, labels, sums_dtype, base)


def divided(sums, aggregate, trees):
    return (sums / sums.dtype.type(len(trees))).astype(sums.dtype) if aggregate == "AVERAGE" else sums


def regressed(trees, x, n_targets, dtype, aggregate, base):
    if aggregate == "SUM":
        return tm.raw_sums(trees, x, n_targets, dtype, "SUM", base).astype(np.float32)
    sums = divided(tm.raw_sums(trees, x, n_targets, dtype, aggregate), aggregate, trees)
    return (sums + np.array(base, dtype) if base else sums).astype(np.float32)


def classified(trees, x, labels, dtype, base):
    sums = tm.raw_sums(trees, x, len(labels), dtype, "SUM", base)
    best = [int(np.argmax(row)) for row in sums]
    kind = object if isinstance(labels[0], str) else np.int64
    return [np.array([labels[i] for i in best], kind), sums.astype(np.float32)]


def same(got, expected):
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if got.dtype == object:
        return bool(np.all(got == expected))
    return np.array_equal(got, expected, equal_nan=got.dtype.kind == "f")


RUNTIMES = {}  # kept, so that not every case loads the plugins


def run_case(seed):
    model, x_dtype, pool, features, evaluate = make_case(seed)
    rng = np.random.default_rng(seed + 1)
    x = inputs_of(rng, x_dtype, pool, max(BATCHES), features)
    expected = evaluate(x)
    what = f"seed {seed}: {model.graph.node[0].op_type} {np.dtype(x_dtype)} {features} features"
    failures = 0
    for isa in ISAS:
        session = tenon.Model(model.SerializeToString(), {
            "cpu.isa": isa, "threads": 2, "log.level": "error"})
        RUNTIMES[isa] = session.runtime
        for n in BATCHES:
            got = session.run({"X": x[:n]})
            for g, e in zip(got, expected):
                if same(g, e[:n]):
                    continue
                failures += 1
                bad = [i for i in range(n) if g.shape == e[:n].shape and not same(g[i:i + 1], e[i:i + 1])]
                print(f"{what}, {isa}, {n} rows: shape {g.shape} {g.dtype}, {len(bad)} rows differ")
                if bad:
                    print("   row", bad[0], x[bad[0]], "gives", g[bad[0]], "expected", e[bad[0]])
        if features == x.shape[1] and len(x):
            got = session.run({"X": x[0]})
            if not all(same(g, e[:1]) for g, e in zip(got, expected)):
                failures += 1
                print(f"{what}, {isa}: a vector gives {got}")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--only", type=int)
    args = parser.parse_args()
    failures = 0
    for seed in [args.only] if args.only is not None else range(args.count):
        try:
            failures += run_case(seed)
        except tenon.TenonError as error:
            failures += 1
            print(f"seed {seed}: refused: {error}")
    print(f"{failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
