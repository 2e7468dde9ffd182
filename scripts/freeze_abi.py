#!/usr/bin/env python3
"""Writes tests/abi/freeze_v0.inc: the plugin ABI spelled out, as the compiler sees it.

    scripts/freeze_abi.py            writes the list
    scripts/freeze_abi.py --check    says which rows the list lacks; 1 when there are any

The list is compiled against the headers (tests/abi/test_freeze.c): what stands in it holds. A
change of the ABI changes the list in the same commit; within a major rows are only added, and the
size of a growable struct (one that begins with struct_size) is not part of it. Needs clang."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
LIST = TOP / "tests/abi/freeze_v0.inc"
HEADERS = ["tenon/status.h", "tenon/types.h", "tenon/plugin.h", "tenon/graph.h", "tenon/op.h",
           "tenon/provider.h", "tenon/tenon.h", "tenon/ext/draft/pass.h", "tenon/ext/draft/gemm.h"]
INCLUDES = "".join(f'#include "{h}"\n' for h in HEADERS)
# numbers that grow with the ABI, or depend on how this file is compiled
LOOSE = re.compile(r"_SIZE$|_COUNT$|^TN_ABI_MINOR$|^TN_SANITIZER_CURRENT$|^TENON_")
HEAD = """/* The plugin ABI of major 0, row by row: written by scripts/freeze_abi.py, never by hand. A
 * change of the ABI changes this file in the same commit; within a major rows are only added. */
/* clang-format off */
"""


def clang(*args, text=None):
    return subprocess.run(["clang", "-std=gnu11", f"-I{TOP}/sdk/include", *args], input=text,
                          check=True, capture_output=True, text=True).stdout


def declarations():
    """The top-level declarations of the headers, each once."""
    tree = json.loads(clang("-x", "c", "-fsyntax-only", "-Xclang", "-ast-dump=json", "-",
                            text=INCLUDES))
    return [node for node in tree["inner"] if not node.get("isImplicit")]


def spelled(node):
    kind = node["type"]
    text = kind.get("desugaredQualType", kind["qualType"])
    return text if "(*" in text or "unsigned" not in text else kind["qualType"]


def fields(record, prefix=""):
    """(path, type or None) of every field; those of a nameless union follow the union itself."""
    last = None  # the union without a name that the next field is of
    for node in record.get("inner", []):
        if node["kind"] == "RecordDecl":
            last = node
        elif node["kind"] == "FieldDecl":
            path = prefix + node["name"]
            if re.search("unnamed|anonymous", node["type"]["qualType"]):
                yield path, None
                yield from fields(last, path + ".")
            else:
                yield path, spelled(node)


def answers_of(statements):
    """The lines that a program of these statements prints."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"
        clang("-x", "c", "-", "-o", str(program), text=INCLUDES +
              "#include <stdio.h>\nint main(void) {" + "\n".join(statements) + "}")
        return iter(subprocess.run([program], check=True, capture_output=True,
                                   text=True).stdout.splitlines())


def layout(paths):
    """Size of every struct, offset and size of each of its fields: asked of the compiler."""
    lines = []
    for struct, names in paths.items():
        lines.append(f'printf("%zu\\n", sizeof(struct {struct}));')
        for path, _ in names:
            lines.append(f'printf("%zu %zu\\n", offsetof(struct {struct}, {path}), '
                         f'sizeof(((struct {struct} *)0)->{path}));')
    return answers_of(lines)


def struct_rows(nodes):
    paths = {n["name"]: list(fields(n)) for n in nodes
             if n["kind"] == "RecordDecl" and n.get("completeDefinition")
             and n.get("name", "").startswith("tn_")}
    answers = layout(paths)
    for struct, names in paths.items():
        size = next(answers)
        growable = names[0][0] == "struct_size"
        yield f"GROWS({struct})" if growable else f"SIZE({struct}, {size})"
        for path, kind in names:
            at, bytes_ = next(answers).split()
            if kind is None:
                yield f"PLACE({struct}, {path}, {at}, {bytes_})"
            else:
                yield f"FIELD({struct}, {path}, {at}, {bytes_}, {kind})"


def other_rows(nodes):
    for node in nodes:
        name = node.get("name", "")
        if node["kind"] == "TypedefDecl" and name.startswith("tn_"):
            yield f"TYPE({name}, {spelled(node)})"
        elif node["kind"] == "FunctionDecl" and name.startswith("tn_") and \
                node.get("storageClass") != "static":
            result, args = node["type"]["qualType"].split("(", 1)
            yield f"FUNCTION({name}, {result.rstrip()} (*)({args})"
        elif node["kind"] == "EnumDecl":
            for constant in node.get("inner", []):
                if constant["kind"] == "EnumConstantDecl":
                    yield constant["name"]


def numbers(enumerated):
    """NUMBER rows of the enumeration constants and of the macros that are integers."""
    defined = clang("-x", "c", "-dM", "-E", "-", text=INCLUDES)
    macros = [m for m in re.findall(r"^#define (TN_\w+) .", defined, re.M) if not LOOSE.search(m)]
    expanded = clang("-x", "c", "-P", "-E", "-",
                     text=INCLUDES + "".join(f"\n@ {m[:3]}@{m[3:]} {m}" for m in macros))
    names = {n for n in enumerated if not LOOSE.search(n)}
    for name, value in re.findall(r"^@ (TN_@\w+) (.+)$", expanded, re.M):
        words = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]*\b", "", value)
        if not re.search(r"[^\s()<>|~+*-]", words):
            names.add(name.replace("@", ""))
    names = sorted(names)
    answers = answers_of(f'printf("%lld\\n", (long long)({n}));' for n in names)
    for name, value in zip(names, answers):
        yield f"NUMBER({name}, {'INT64_MIN' if int(value) == -2 ** 63 else value})"


def rows():
    nodes = declarations()
    rest = list(other_rows(nodes))
    yield from struct_rows(nodes)
    yield from (r for r in rest if "(" in r)
    yield from numbers(r for r in rest if "(" not in r)


def main():
    found = list(rows())
    if sys.argv[1:] != ["--check"]:
        LIST.write_text(HEAD + "\n".join(found) + "\n")
        return 0
    kept = set(LIST.read_text().splitlines())
    lacking = [row for row in found if row not in kept]
    print("\n".join(["the headers have what the list lacks; run scripts/freeze_abi.py:"] + lacking
                    if lacking else ["the list has all of the headers"]))
    return 1 if lacking else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FileNotFoundError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
