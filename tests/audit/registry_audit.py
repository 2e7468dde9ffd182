#!/usr/bin/env python3
"""Holds what the plugins register against ONNX's table of schemas.

    registry_audit.py TENON check MISSING    fail on gaps that MISSING does not list
    registry_audit.py TENON write PAGE       write PAGE (docs/ops.md)
    registry_audit.py TENON diff PAGE        fail when PAGE is not what write would make

Each (operator, version, type) is native (a kernel takes it), expanded (the operator's body
does), upgraded (an older version that is rewritten at load) or missing. MISSING has lines
"domain.Operator what reason": `what` is a version ("v13") or a type ("T:complex64"), or a
pattern of these ("T*:float8*"); # begins a comment. A line whose gap has gone fails too.

The table is a file of tab-separated rows: domain, operator, version, deprecated, ..., with the
number of types of each variable ("T=4;") in the third column from the end but one. It is found
by TENON_ONNX_SCHEMAS; without it this exits with 77, a skipped test.
Python's standard library suffices.
"""
import collections
import contextlib
import difflib
import fnmatch
import io
import json
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
SHORT = {
    "float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool",
    "string": "string", "complex64": "c64", "complex128": "c128",
    **{f"{sign}int{bits}": f"{'u' if sign else 'i'}{bits}"
       for sign in ("", "u") for bits in (2, 4, 8, 16, 32, 64)},
}
GROUPS = (  # in the order they are printed
    ("float", "f16 bf16 f32 f64"), ("int", "i8 i16 i32 i64"), ("uint", "u8 u16 u32 u64"),
    ("complex", "c64 c128"), ("f8", "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz"),
    ("2/4 bits", "i4 u4 i2 u2"), ("f4/e8", "float4e2m1 float8e8m0"))


def read_table():
    path = os.environ.get("TENON_ONNX_SCHEMAS", "")
    if not os.path.isfile(path):
        print("skipped: no table of schemas (set TENON_ONNX_SCHEMAS)")
        sys.exit(SKIPPED)
    table = collections.defaultdict(dict)
    for line in open(path, encoding="utf-8"):
        field = line.rstrip("\n").split("\t")
        types = dict(item.split("=") for item in field[15].split(";") if item)
        table[f"{field[0] or 'ai.onnx'}.{field[1]}"][int(field[2])] = {
            "deprecated": field[3] == "1", "types": {k: int(v) for k, v in types.items()},
            "function": "=1" in field[4] or "=1" in field[5]}
    return table


def read_support(tenon):
    text = subprocess.run([tenon, "plugins", "--support", "--json"], check=True,
                          capture_output=True, text=True).stdout
    return {f"{op['domain']}.{op['name']}": op for op in json.loads(text)["operators"]}


def split(text):
    return {name for name in text.split(", ") if name}


def variables(op):
    """Type variables, and formals that have none: name -> (tensor types, number of all types,
    names that a kernel's constraint may carry)."""
    out = {}
    for name, var in op["type_vars"].items():
        formals = [f for side in ("inputs", "outputs") for f, v in op[side].items() if v == name]
        n = sum(len(split(types)) for types in var.values() if isinstance(types, str))
        if var["optional_sequences"]:
            n += len(split(var["sequences"]) or split(var["optionals"]))
        out[name] = (split(var["tensors"]), n, formals)
    for side in ("inputs", "outputs"):
        for formal, types in op[side].items():
            if types not in op["type_vars"]:
                out[formal] = (split(types), len(split(types)), [formal])
    return out


def native_types(op, name, types, formals):
    """Union over the kernels; a kernel that does not name the variable takes all of it."""
    union = set()
    for kernel in op["kernels"]:
        own = kernel["types"]
        rows = [split(own[key]) for key in [name, *formals] if key in own]
        union |= set.intersection(*rows) & types if rows else types
    return union


def gaps(name, op, rows):
    """What is missing of an operator: [(what, text)]."""
    found = [(f"v{v}", f"version {v} of the table is not registered")
             for v in sorted(set(rows) - set(op["versions"]))]
    found += [(f"v{v}", f"version {v} is registered, the table has none such")
              for v in sorted(set(op["versions"]) - set(rows)) if v < max(rows)]
    newest = rows[max(rows)]
    if newest["deprecated"]:
        return found
    ours = variables(op)
    for var, count in newest["types"].items():
        if var not in ours:  # a formal may name its types itself
            if count not in [own[1] for name, own in ours.items() if name not in op["type_vars"]]:
                found.append((f"{var}:*", f"variable {var} is not in the definition"))
        elif ours[var][1] < count:  # a definition newer than the table may take more
            found.append((f"{var}:*", f"{var} has {ours[var][1]} types, the schema {count}"))
    if op["expands"]:
        return found
    for var, (types, _, formals) in ours.items():
        for missing in sorted(types - native_types(op, var, types, formals)):
            found.append((f"{var}:{missing}", f"no kernel and no body takes {var} = {missing}"))
    return found


def read_missing(path):
    listed = {}
    for line in open(path, encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            name, what, reason = line.strip().split(" ", 2)
            listed[name, what] = reason
    return listed


def check(table, support, missing_path):
    listed, failures = read_missing(missing_path), []
    if not support:
        failures.append("no operator is registered: did the plugins load?")
    unused = set(listed)
    for name, op in sorted(support.items()):
        if name not in table:
            continue  # an operator of another party
        for what, text in gaps(name, op, table[name]):
            keys = [key for key in listed if key[0] == name and fnmatch.fnmatch(what, key[1])]
            unused -= set(keys)
            if not keys:
                failures.append(f"{name} {what}: {text}")
    failures += [f"{name} {what}: listed as missing, but it is there" for name, what in unused]
    print("\n".join(failures) or f"audit: {len(support)} operators, "
          f"{len(listed)} gaps are listed")
    return 1 if failures else 0


def compact(types):
    left = {SHORT.get(t, t) for t in types}
    out = []
    for group, members in GROUPS:
        if set(members.split()) <= left:
            left -= set(members.split())
            out.append(group)
    return " ".join(out + sorted(left))


def types_text(op):
    out = []
    for var, (types, _, formals) in variables(op).items():
        native = native_types(op, var, types, formals)
        if not types or (not native and op["expands"]):
            continue
        text = compact(native) or "none"
        if types - native and not op["expands"]:
            text += f" (without {compact(types - native)})"
        if (var, text) not in out:
            out.append((var, text))
    return "; ".join(f"{var}: {text}" for var, text in out)


def operator_row(name, op, rows):
    versions = " ".join(f"**{v}**" if v in op["upgrades"] else str(v) for v in op["versions"])
    runs = [label for label, there in (("kernel", op["kernels"]), ("body", op["expands"])) if there]
    notes = sorted({f"{v} deprecated" for v in op["deprecated"]})
    notes += [text for what, text in gaps(name, op, rows) if ":" not in what] if rows else []
    return f"| {name.rsplit('.', 1)[1]} | {versions} | {' + '.join(runs) or 'upgrade'} | " \
           f"{types_text(op)} | {', '.join(notes)} |"


def docs(table, support):
    print("# Operators\n")
    print("Generated by tests/audit/registry_audit.py from what the plugins register; do not edit.\n")
    print("A model of any listed version loads: older ones are rewritten to the newest, by an\n"
          "upgrade with meaning where the version is bold, as they are elsewhere. *Kernel*: runs\n"
          "natively on the element types shown; *body*: the operator's definition by others runs\n"
          "where no kernel does, and for every other type of the schema. `float` is f16, bf16, f32\n"
          "and f64; `int` and `uint` are those of 8 to 64 bits.")
    domains = sorted({name.rsplit(".", 1)[0] for name in support})
    for domain in domains:
        ops = {n: op for n, op in support.items() if n.rsplit(".", 1)[0] == domain}
        print(f"\n## {domain}: {len(ops)} operators\n")
        print("| operator | versions | runs as | types of the kernels | notes |\n|---|---|---|---|---|")
        for name, op in sorted(ops.items()):
            print(operator_row(name, op, table.get(name)))
    print("\n## Missing\n\nOperators of the standard that no plugin has; loading a model with one "
          "says so by name.\n")
    absent = collections.defaultdict(list)
    for name, rows in sorted(table.items()):
        if name not in support and not rows[max(rows)]["deprecated"]:
            absent[name.rsplit(".", 1)[0]].append(name.rsplit(".", 1)[1])
    for domain, names in sorted(absent.items()):
        print(f"- {domain} ({len(names)}): {', '.join(names)}")
    partly = {n: g for n, op in sorted(support.items()) if n in table and (g := gaps(n, op, table[n]))}
    print(f"\nOperators with gaps: {len(partly)}.\n")
    for name, found in partly.items():
        lacking = collections.defaultdict(list)
        for what, _ in found:
            lacking[what.partition(":")[0]].append(what.partition(":")[2])
        print(f"- {name}: " + "; ".join(
            f"version {what[1:]}" if types == [""] else f"{what}: {compact(types)}"
            for what, types in lacking.items()))


def page(table, support):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        docs(table, support)
    return out.getvalue()


def diff(new, path):
    old = pathlib.Path(path).read_text(encoding="utf-8")
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), path, "now", lineterm="", n=0)
    print("\n".join(lines))
    if old != new:
        print(f"{path} is stale: ninja ops-md")
    return old != new


def main():
    tenon, verb, path = sys.argv[1:]
    table, support = read_table(), read_support(tenon)
    if verb == "check":
        return check(table, support, path)
    if verb == "diff":
        return diff(page(table, support), path)
    pathlib.Path(path).write_text(page(table, support), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
