#!/usr/bin/env python3
"""Runs skl2onnx's or onnxmltools' own unit tests, with ONNX Runtime or with Tenon answering.

    git clone https://github.com/onnx/sklearn-onnx && git clone https://github.com/onnx/onnxmltools
    converter_suites.py run sklearn-onnx --runtime ort --out ort.tsv
    converter_suites.py run sklearn-onnx --runtime tenon --out tenon.tsv
    converter_suites.py compare ort.tsv tenon.tsv

The suites import `onnxruntime`; for Tenon, the stand-in beside this file (standin/onnxruntime)
comes first on the path and answers through bindings/python and the library LIBTENON. Every test
file runs in a process of its own, so that a crash or a hang costs one file and is named. The
result is one line a test: outcome, name, message. `compare` ends with 1 if Tenon passes fewer.

This file is also the pytest plugin that writes the lines.
"""
import argparse
import collections
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = ("tests", "tests_onnxmltools")
PATIENCE = 1200  # seconds for one test file


# ---- as a pytest plugin ----------------------------------------------------------------------

def _write(outcome, name, message=""):
    with open(os.environ["SUITE_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{outcome}\t{name}\t{message}\n")


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        text = str(report.longrepr or "").strip().splitlines() if report.failed else []
        lines = [t[1:].strip() for t in text if t.startswith("E ")] or text[-1:]
        _write(report.outcome if report.when == "call" or report.skipped else "error",
               report.nodeid, " | ".join(lines)[:400].replace("\t", " "))


def pytest_collectreport(report):
    if report.failed:
        last = (str(report.longrepr or "").strip().splitlines() or [""])[-1]
        _write("error", report.nodeid, last[:400].replace("\t", " "))


# ---- as a command ----------------------------------------------------------------------------

def environment(source, runtime, log):
    path = [str(source), str(source / "tests"), str(HERE)]
    if runtime == "tenon":
        path[:0] = [str(HERE / "standin"), str(HERE.parents[1] / "bindings/python")]
    path += filter(None, [os.environ.get("PYTHONPATH")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), "SUITE_LOG": str(log),
            "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}


def run_file(source, test, runtime, log):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "converter_suites",
               "-p", "no:cacheprovider", "--rootdir", str(source), str(test)]
    try:
        done = subprocess.run(
            command, cwd=source, env=environment(source, runtime, log), timeout=PATIENCE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return f"crashed by signal {-done.returncode}" if done.returncode < 0 else ""
    except subprocess.TimeoutExpired:
        return f"no end after {PATIENCE} s"


def run(args):
    source = args.source.resolve()
    log = args.out.resolve()
    log.write_text("")
    tests = sorted(t for f in FOLDERS for t in (source / f).rglob("test_*.py"))
    for test in tests:
        name = test.relative_to(source)
        if args.filter not in str(name):
            continue
        fault = run_file(source, test, args.runtime, log)
        if fault:
            with log.open("a") as out:
                out.write(f"error\t{name}\t{fault}\n")
        print(name, fault, flush=True)
    report(args.out)
    return 0


def read(path):
    rows = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        outcome, name, message = (line.split("\t") + ["", ""])[:3]
        if name not in rows or outcome in ("failed", "error"):  # subtests share a name
            rows[name] = (outcome, message)
    return rows


def report(path):
    counts = collections.Counter(outcome for outcome, _ in read(path).values())
    print(f"{path}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return counts["passed"]


def compare(args):
    rival, ours = read(args.rival), read(args.ours)
    for name in sorted(rival.keys() | ours.keys()):
        before, after = rival.get(name, ("absent", "")), ours.get(name, ("absent", ""))
        if before[0] != after[0]:
            print(f"{before[0]} -> {after[0]}  {name}\n    {after[1] or before[1]}")
    return 1 if report(args.rival) > report(args.ours) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    one = verbs.add_parser("run")
    one.add_argument("source", type=pathlib.Path, help="a clone of sklearn-onnx or onnxmltools")
    one.add_argument("--runtime", choices=("ort", "tenon"), required=True)
    one.add_argument("--out", type=pathlib.Path, required=True)
    one.add_argument("--filter", default="", help="only test files whose path contains this")
    one.set_defaults(verb=run)
    two = verbs.add_parser("compare")
    two.add_argument("rival", type=pathlib.Path)
    two.add_argument("ours", type=pathlib.Path)
    two.set_defaults(verb=compare)
    args = parser.parse_args()
    return args.verb(args)


if __name__ == "__main__":
    sys.exit(main())
