#!/usr/bin/env python3
"""Counts what a meson test log reports: a Check program by its checks, a program that prints
"N passed, N failed" by that line, any other as one. Prints "PASSED FAILED"."""
import json
import re
import sys

passed = failed = 0
with open(sys.argv[1], encoding="utf-8") as log:
    for line in log:
        test = json.loads(line)
        out = test.get("stdout", "") or ""
        good = test["result"] in ("OK", "EXPECTEDFAIL")
        checks = re.findall(r"Checks: (\d+), Failures: (\d+), Errors: (\d+)", out)
        sums = re.findall(r"(?m)(\d+) passed, (\d+) failed", out)
        if test["result"] == "SKIP":
            continue
        p = sum(int(n) - int(f) - int(e) for n, f, e in checks) + sum(int(p) for p, _ in sums)
        f = sum(int(f) + int(e) for _, f, e in checks) + sum(int(f) for _, f in sums)
        if not checks and not sums:
            p, f = int(good), int(not good)
        elif not good and f == 0:
            f = 1
        passed += p
        failed += f
print(passed, failed)
