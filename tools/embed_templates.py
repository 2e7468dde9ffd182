"""Prints the files of sdk/template as rows of C: {kind, path, text}.

    embed_templates.py FOLDER FILE... > plugin_templates.inc
"""
import os
import sys


def c_string(text):
    lines = []
    for line in text.splitlines(keepends=True):
        quoted = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
        lines.append('    "' + quoted.replace("\n", "\\n") + '"')
    return "\n".join(lines) or '    ""'


if __name__ == "__main__":
    folder = sys.argv[1]
    for path in sys.argv[2:]:
        kind, name = os.path.relpath(path, folder).split(os.sep, 1)
        with open(path, encoding="utf-8") as file:
            print('{"%s", "%s",\n%s},' % (kind, name, c_string(file.read())))
