# SPDX-License-Identifier: Apache-2.0
"""Reads the op table (ops.toml) and writes what is made from it.

  gen_ops.py --inc FILE    the entries of OpTable.h
  gen_ops.py --rules FILE  the shape rules that the table names
  gen_ops.py --composites FILE  the decompositions and the choice by op
  gen_ops.py --doc FILE    docs/reference/ops.md
  gen_ops.py --lower FILE  the lowering's functions and its choice by op
  gen_ops.py --ref FILE    backends/reference/ref_ops.h
  gen_ops.py --check DOC REF  fails when one of these two is stale
"""

import argparse
import pathlib
import sys

from op_page import write_doc
from op_table import ATTRIBUTE_KINDS, TYPE_SETS, camel, family_ops, load_ops


def _quote(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _strings(label, texts):
    entries = ", ".join(_quote(text) for text in texts)
    return f"constexpr std::string_view {label}[] = {{{entries}}};"


def _span(label, entries):
    return label if entries else "{}"


def write_inc(ops):
    """The C++ text of the table, sorted by name."""
    lines = ["// Made by gen_ops.py from ops.toml. Do not edit.", ""]
    ops = sorted(ops, key=lambda op: op["name"])
    for op in ops:
        name = op["name"]
        if op["operands"]:
            lines.append(_strings(f"{name}_operands", op["operands"]))
        if op["own_dtype"]:
            lines.append(_strings(f"{name}_own", op["own_dtype"]))
        if op["constraints"]:
            lines.append(_strings(f"{name}_constraints", op["constraints"]))
        if op["attributes"]:
            lines.append(f"constexpr AttributeSpec {name}_attributes[] = {{")
            for a in op["attributes"]:
                kind = ATTRIBUTE_KINDS[a["kind"]]
                required = "true" if a["required"] else "false"
                lines.append(
                    f"  {{{_quote(a['name'])}, AttributeKind::{kind}, "
                    f"{required}, {_quote(a['default'])}, "
                    f"{_quote('|'.join(a['choices']))}, {a['since']}}},"
                )
            lines.append("};")
    lines.append("")
    lines.append("constexpr OpSpec table[] = {")
    for op in ops:
        lines.append(_inc_entry(op))
    lines.append("};")
    return "\n".join(lines) + "\n"


def _inc_entry(op):
    name = op["name"]
    minimum = len(op["operands"]) - op["optional"]
    maximum = -1 if op["variadic"] else len(op["operands"])
    flag = {True: "true", False: "false"}
    fields = [
        _quote(name),
        str(op["version"]),
        flag[op["kind"] == "composite"],
        flag[op["elementwise"]],
        flag[not op["effects"]],
        str(minimum),
        str(maximum),
        str(op["results"]),
        _quote(op["class"]),
        _span(f"{name}_attributes", op["attributes"]),
        f"rules::{op['shape']}",
        f"TypeSet::{TYPE_SETS[op['types']]}",
        _span(f"{name}_operands", op["operands"]),
        _span(f"{name}_own", op["own_dtype"]),
        _span(f"{name}_constraints", op["constraints"]),
    ]
    return "  {" + ", ".join(fields) + "},"


def write_rules(ops):
    """The C++ declarations of the shape rules."""
    lines = ["// Made by gen_ops.py from ops.toml. Do not edit.", ""]
    for rule in sorted({op["shape"] for op in ops}):
        lines.append(f"Types {rule}(const OpUse &use);")
    return "\n".join(lines) + "\n"


def write_composites(ops):
    """The C++ declarations of the decompositions, of the operand or of several,
    and the choice between them."""
    lines = ["// Made by gen_ops.py from ops.toml. Do not edit.", ""]
    chosen = [op for op in ops if op["kind"] == "composite"]
    single = {op["name"] for op in chosen if len(op["operands"]) == 1}
    for op in chosen:
        operand = "ValueId x" if op["name"] in single else "const Operands &x"
        lines.append(f"ValueId {op['name']}(DecomposeBuilder &m, {operand});")
    lines += [
        "",
        "inline ValueId decompose(DecomposeBuilder &m, const Operands &x) {",
    ]
    for op in chosen:
        operand = "x[0]" if op["name"] in single else "x"
        lines.append(f"  if (m.op.name == {_quote(op['name'])})")
        lines.append(f"    return {op['name']}(m, {operand});")
    lines += [
        '  m.status = internalError(m.op.name + " is no composite");',
        "  return 0;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def write_lower(ops):
    """The C++ declarations of the lowering's functions, one for each op that is
    not elementwise, and the choice between them."""
    names = [camel(name) for name in family_ops(ops)]
    lines = ["// Made by gen_ops.py from ops.toml. Do not edit.", ""]
    lines += [
        f"LogicalResult lower{name}(Lowering &lowering, {name}Op op);"
        for name in names
    ]
    lines += [
        "",
        "/// Lowers an op by the function of its kind.",
        "inline LogicalResult lowerOp(Lowering &lowering, Operation *op) {",
        "  return llvm::TypeSwitch<Operation *, LogicalResult>(op)",
    ]
    lines += [
        f"      .Case([&]({name}Op o) {{ return lower{name}(lowering, o); }})"
        for name in names
    ]
    lines += [
        "      .Default([&](Operation *o) { return lowerElementwise(lowering, o); });",
        "}",
    ]
    return "\n".join(lines) + "\n"


def write_ref(ops):
    """The op list of the reference backend, which is kept in its folder so that
    a copy of the folder is complete."""
    lines = [
        "/* SPDX-License-Identifier: Apache-2.0 */",
        "/* Made by sdk/graph/gen_ops.py from ops.toml. Do not edit.",
        " *",
        " * ref_ops.h: REF_OP(op, newest version) for each op that is not",
        " * elementwise. */",
    ]
    versions = {op["name"]: op["version"] for op in ops}
    lines += [
        f"REF_OP({name}, {versions[name]})" for name in family_ops(ops)
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = pathlib.Path(__file__).parent
    parser.add_argument("--table", default=here / "ops.toml")
    parser.add_argument("--inc")
    parser.add_argument("--rules")
    parser.add_argument("--doc")
    parser.add_argument("--composites")
    parser.add_argument("--lower")
    parser.add_argument("--ref")
    parser.add_argument("--check", nargs=2)
    args = parser.parse_args()
    ops = load_ops(args.table)
    writers = {
        "inc": write_inc,
        "rules": write_rules,
        "composites": write_composites,
        "doc": write_doc,
        "lower": write_lower,
        "ref": write_ref,
    }
    for name, write in writers.items():
        if path := getattr(args, name):
            pathlib.Path(path).write_text(write(ops), encoding="utf-8")
    stale = 0
    for path, name in zip(args.check or [], ("doc", "ref")):
        page = pathlib.Path(path)
        found = page.read_text(encoding="utf-8") if page.exists() else ""
        if found != writers[name](ops):
            print(f"{page} is stale: run gen_ops.py --{name} {page}")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
