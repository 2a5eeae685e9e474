# SPDX-License-Identifier: Apache-2.0
"""The C ABI as data, read from the headers by clang.

A layout is {"major", "minor", "structs", "types", "constants", "functions"}. A
struct is {"size", "growable", "members"}; a member is [name, offset, size,
type]. Growable structs start with a bp_header_t; all others are frozen.
"""
import json
import pathlib
import re
import subprocess
import tempfile

INCLUDES = "".join(f"#include <backplane/{name}.h>\n"
                   for name in ("backplane", "compiler", "graph", "hal", "kernel", "plugin"))
# Not part of what a binary depends on.
UNSTABLE = re.compile(r"BP_ABI_M(AJ|IN)OR|.*_$")
NUMBER = re.compile(r"\(?(-?(?:0x[0-9A-Fa-f]+|\d+))u?\)?")


def run(command, text=None):
    return subprocess.run(command, input=text, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def declarations(clang, include):
    tree = run([clang, "-x", "c", "-std=c11", "-I", include, "-Xclang", "-ast-dump=json",
                "-fsyntax-only", "-"], INCLUDES)
    return [node for node in json.loads(tree)["inner"]
            if node.get("name", "").startswith("bp_")]


def macros(clang, include):
    """Numbers that have names."""
    text = run([clang, "-x", "c", "-I", include, "-dM", "-E", "-"], INCLUDES)
    for name, value in re.findall(r"^#define (BP_\w+|bp_\w+_TYPE) (.+)$", text, re.M):
        number = NUMBER.fullmatch(value.strip())
        if number:
            yield name, int(number.group(1), 0)


def measure(clang, include, structs):
    """Sizes and offsets: {"s": size of s, "s.m": [offset, size]}."""
    lines = []
    for name, members in structs.items():
        lines.append(f'printf("{name} %zu 0\\n", sizeof({name}));')
        for member, _ in members:
            lines.append(f'printf("{name}.{member} %zu %zu\\n", offsetof({name}, {member}), '
                         f"sizeof((({name} *)0)->{member}));")
    body = "\n".join(lines)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "measure.c"
        source.write_text(f"{INCLUDES}#include <stddef.h>\n#include <stdio.h>\n"
                          f"int main(void) {{\n{body}\nreturn 0;\n}}\n", encoding="utf-8")
        program = pathlib.Path(folder) / "measure"
        run([clang, "-I", include, source, "-o", program])
        return {name: [int(first), int(second)] for name, first, second in
                (line.split() for line in run([program]).splitlines())}


def fields(node):
    return [(field["name"], field["type"]["qualType"]) for field in node.get("inner", [])
            if field["kind"] == "FieldDecl"]


def read(clang, include):
    """The layout that the headers below `include` declare."""
    nodes = declarations(clang, include)
    structs = {node["name"]: fields(node) for node in nodes
               if node["kind"] == "RecordDecl" and node.get("completeDefinition")}
    sizes = measure(clang, include, structs)
    named = dict(macros(clang, include))
    return {
        "major": named["BP_ABI_MAJOR"],
        "minor": named["BP_ABI_MINOR"],
        "structs": {name: {
            "size": sizes[name][0],
            "growable": bool(members) and members[0][1] == "bp_header_t",
            "members": [[member, *sizes[f"{name}.{member}"], kind] for member, kind in members],
        } for name, members in structs.items()},
        "types": {node["name"]: node["type"]["qualType"] for node in nodes
                  if node["kind"] == "TypedefDecl"
                  and not node["type"]["qualType"].startswith("struct ")},
        "constants": {name: value for name, value in sorted(named.items())
                      if not UNSTABLE.fullmatch(name)},
        "functions": {node["name"]: node["type"]["qualType"] for node in nodes
                      if node["kind"] == "FunctionDecl"},
    }
