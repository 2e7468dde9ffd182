#!/usr/bin/env python3
"""ONNX's own BackendTest on tenon.backend, unchanged, from the `onnx` that Python has.

Counts what passes, fails, is refused (an operator that no plugin has, or a model that is not
compatible) and what is skipped because no plugin serves its device; lists every test that does
not pass with its reason. Only refusals of unknown operators and the tests that
tests/conformance/expected_failures.txt and expected_failures_backend.txt explain are in order.
Debian's onnx 1.12 serves too, but for its real models, which are not in the package.

    backend_test.py [--verbose] [PATTERN]
"""
import argparse
import collections
import faulthandler
import os
import pathlib
import re
import sys
import tempfile
import time
import unittest
import warnings

HERE = pathlib.Path(__file__).resolve().parent
LISTS = [HERE.parent / "conformance" / "expected_failures.txt",
         HERE / "expected_failures_backend.txt"]
OLD_LIST = HERE.parent / "conformance" / "expected_failures_package.txt"
KINDS = {"NodeModel": "node", "SimpleModel": "simple", "RealModel": "real",
         "PyTorchConvertedModel": "pytorch-converted", "PyTorchOperatorModel": "pytorch-operator"}


def read_reasons(old):
    """Reasons of the tests that do not pass, by kind/name."""
    paths = [*LISTS, *([OLD_LIST] if old else [])]
    lines = [line.strip() for path in paths for line in path.read_text("utf-8").splitlines()]
    return dict(line.split(" ", 1) for line in lines if line and not line.startswith("#"))


def name_of(test):
    """kind/name of a test, as the lists have it."""
    kind = re.sub(r"^OnnxBackend|Test$", "", type(test).__name__)
    return f"{KINDS[kind]}/{test.id().rpartition('.')[2].removesuffix('_cpu')}"


def incompatibility(name):
    """What is_compatible found: the suite keeps that to itself."""
    import onnx.backend.test
    import tenon.backend

    path = pathlib.Path(onnx.backend.test.__file__).parent / "data" / name / "model.onnx"
    try:
        if path.exists():
            tenon.backend.prepare(path)
    except tenon.TenonError as error:
        return error
    return None


class Result(unittest.TestResult):
    """What became of each test: name → (outcome, sentence)."""

    def __init__(self):
        super().__init__()
        self.outcomes = {}
        self.unknown = set()  # refused for an operator that no plugin has
        self.devices = collections.Counter()

    def addSuccess(self, test):
        self.outcomes[name_of(test)] = "passed", ""

    def addFailure(self, test, err):
        lines = str(err[1]).strip().splitlines()
        wrong = [line for line in lines if line.startswith(("Mismatched", "Max "))]
        self.outcomes[name_of(test)] = "failed", "; ".join(wrong or lines[:2])

    def addError(self, test, err):
        self._settle(name_of(test), err[1])

    def addSkip(self, test, reason):
        if "support device" in reason:
            self.devices[reason.rpartition(" ")[2]] += 1
        elif "include pattern" not in reason:
            self._settle(name_of(test), incompatibility(name_of(test)) or reason)

    def _settle(self, name, error):
        refused = getattr(error, "code", 0) == 3  # tenon.errors.UNSUPPORTED
        self.outcomes[name] = "refused" if refused else "failed", f"{type(error).__name__}: {error}"
        if refused and type(error).__name__ == "InvalidGraph":
            self.unknown.add(name)


def run(pattern, old):
    """Runs the suite; (result, seconds). Old versions of it want a name that numpy has dropped,
    and download their real models: those are left out."""
    import numpy
    import onnx.backend.test
    import tenon.backend

    if old:
        vars(numpy).setdefault("object", object)

    warnings.simplefilter("ignore")  # the cases of onnx divide by zero on purpose
    os.environ.setdefault("ONNX_MODELS", tempfile.mkdtemp(prefix="onnx-models-"))
    tests = onnx.backend.test.BackendTest(tenon.backend, __name__)
    if pattern:
        tests.include(pattern)
    result, start = Result(), time.monotonic()
    for name, case in tests.test_cases.items():
        if not (old and "Real" in name):
            unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result, time.monotonic() - start


def report(result, reasons, verbose):
    """Prints what did not pass; how many of them nobody explains."""
    groups = collections.defaultdict(list)
    surprises = []
    for name, (outcome, sentence) in sorted(result.outcomes.items()):
        reason = reasons.get(name, "")
        if outcome == "passed":
            if reason and not reason.startswith("by chance"):
                surprises.append(f"{name} passes, although it is listed: {reason}")
            continue
        if not reason and name in result.unknown:
            reason = f"operator not implemented: {sentence}"
        if not reason:
            surprises.append(f"{name} {outcome}: {sentence}")
        else:
            groups[outcome, re.sub(r"node #\d+", "node", reason)].append((name, sentence))
    for (outcome, reason), members in sorted(groups.items()):
        print(f"{outcome} {len(members)}: {reason}")
        for name, sentence in members if verbose else ():
            print(f"    {name}: {sentence}")
    for line in surprises:
        print(f"UNEXPLAINED {line}")
    return len(surprises)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--verbose", action="store_true", help="each test that does not pass")
    options.add_argument("pattern", nargs="?", help="only tests whose name matches")
    args = options.parse_args()
    try:
        import onnx
        import tenon
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    faulthandler.enable()
    old = tuple(map(int, onnx.__version__.split(".")[:2])) < (1, 15)
    result, seconds = run(args.pattern, old)
    surprises = report(result, read_reasons(old), args.verbose)
    counts = collections.Counter(outcome for outcome, _ in result.outcomes.values())
    print(f"onnx {onnx.__version__}, tenon {tenon.__version__}: {len(result.outcomes)} tests in "
          f"{seconds:.0f} s: pass {counts['passed']}, fail {counts['failed']}, "
          f"refused {counts['refused']}; other devices: "
          + (", ".join(f"{d} {n} skipped" for d, n in result.devices.items()) or "none"))
    print(f"{len(result.outcomes) - surprises} passed, {surprises} failed")  # as explained
    return int(surprises > 0 or not result.outcomes)


if __name__ == "__main__":
    sys.exit(main())
