#!/usr/bin/env python3
"""Runs one file of tests and prints "N passed, N failed". Leaves with 77 (skipped) where numpy
is missing."""
import importlib.util
import pathlib
import sys
import unittest


def main():
    if importlib.util.find_spec("numpy") is None:
        print("skipped: Python has no numpy (Debian: python3-numpy)")
        return 77
    path = pathlib.Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(path.parent))
    try:
        suite = unittest.defaultTestLoader.loadTestsFromName(path.stem)
    except unittest.SkipTest as reason:
        print(f"skipped: {reason}")
        return 77
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    passed = result.testsRun - failed - skipped
    print(f"{passed} passed, {failed} failed")
    if not failed and not passed:
        return 77
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
