# SPDX-License-Identifier: Apache-2.0
"""Reads the op table (ops.toml) and writes what is made from it.

  gen_ops.py --inc FILE    the entries of OpTable.h
  gen_ops.py --rules FILE  the shape rules that the table names
  gen_ops.py --composites FILE  the decompositions and the choice by op
  gen_ops.py --doc FILE    docs/reference/ops.md
  gen_ops.py --lower FILE  the lowering's functions and its choice by op
  gen_ops.py --ref FILE    backends/reference/ref_ops.h
  gen_ops.py --check DOC REF  fails when one of these two is stale

Other generators import load_ops().
"""

import argparse
import pathlib
import sys
import tomllib

ATTRIBUTE_KINDS = {
    "i64": "I64",
    "bool": "Bool",
    "dtype": "DType",
    "f64": "F64",
    "string": "String",
    "i64s": "I64s",
    "dims": "Dims",
    "bytes": "Bytes",
}
TYPE_SETS = {
    "any": "Any",
    "float": "Float",
    "int": "Int",
    "number": "Number",
    "bool": "Bool",
    "bits": "Bits",
}
DEFAULTS = {
    "results": 1,
    "version": 1,
    "kind": "primitive",
    "elementwise": False,
    "effects": False,
    "dispatched": True,
    "own_dtype": [],
    "attributes": [],
    "constraints": [],
}
KEYS = {"name", "summary", "operands", "types", "shape", "class", *DEFAULTS}


def _attribute(op, entry):
    if len(entry) not in (4, 5, 6):
        raise ValueError(f"{op}: an attribute has 4 to 6 entries: {entry}")
    name, kind, default, meaning = entry[:4]
    if kind not in ATTRIBUTE_KINDS:
        raise ValueError(f"{op}: {name} has unknown kind {kind}")
    required = default == "required"
    if kind == "i64s" and default not in ("required", ""):
        raise ValueError(f"{op}: the default of the list {name} is empty")
    return {
        "name": name,
        "kind": kind,
        "required": required,
        "default": "" if required else default,
        "meaning": meaning,
        "choices": entry[4].split("|") if len(entry) > 4 and entry[4] else [],
        "since": entry[5] if len(entry) > 5 else 1,
    }


def _complete(op):
    """One op with all keys; `operands` loses its `...` and `?`."""
    unknown = set(op) - KEYS
    missing = KEYS - set(DEFAULTS) - set(op)
    if unknown or missing:
        raise ValueError(
            f"{op.get('name')}: unknown keys {unknown}, missing {missing}"
        )
    op = {**DEFAULTS, **op}
    name = op["name"]
    if op["types"] not in TYPE_SETS:
        raise ValueError(f"{name}: unknown types {op['types']}")
    op["variadic"] = bool(op["operands"]) and op["operands"][-1].endswith(
        "..."
    )
    op["optional"] = bool(op["operands"]) and op["operands"][-1].endswith("?")
    op["operands"] = [
        operand.removesuffix("...").removesuffix("?")
        for operand in op["operands"]
    ]
    if set(op["own_dtype"]) - set(op["operands"]):
        raise ValueError(f"{name}: own_dtype names no operand")
    op["attributes"] = [_attribute(name, a) for a in op["attributes"]]
    if any(a["since"] > op["version"] for a in op["attributes"]):
        raise ValueError(f"{name}: an attribute is newer than the op")
    op["constraints"] = list(op["constraints"])
    return op


def load_ops(path):
    """All ops of the table in its order, families expanded.

    Each is a dict with name, summary, operands (names), variadic, optional
    (the last operand may be left out), results, types, shape, class, kind, elementwise, effects, dispatched, own_dtype, attributes
    (dicts with name, kind, required, default, meaning, choices, since), constraints
    and version.
    """
    # tomllib gives [[op]] and [[family]] as two lists, so the order of the file
    # is found again by the line of each name.
    text = pathlib.Path(path).read_text(encoding="utf-8")
    table = tomllib.loads(text)
    ops = list(table.get("op", []))
    for family in table.get("family", []):
        shared = {
            k: v for k, v in family.items() if k not in ("ops", "summary")
        }
        for name in family["ops"]:
            summary = family["summary"][name]
            ops.append({"name": name, "summary": summary, **shared})
    ops = [_complete(op) for op in ops]
    names = [op["name"] for op in ops]
    if len(set(names)) != len(names):
        raise ValueError("an op stands in the table twice")
    ops.sort(key=lambda op: text.index(f'"{op["name"]}"'))
    return ops


def family_ops(ops):
    """The names of the ops that each executor has a function of its own for:
    primitives that reach a backend, without the elementwise ones, which share
    a loop."""
    return [
        op["name"]
        for op in ops
        if op["kind"] == "primitive"
        and op["dispatched"]
        and not op["effects"]
        and not op["elementwise"]
    ]


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


def camel(name):
    """The name of an op in the classes of the dialect, without `Op`."""
    return "".join(part.capitalize() for part in name.split("_"))


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


def _doc_op(op):
    suffix = "..." if op["variadic"] else "?" if op["optional"] else ""
    operands = ", ".join(op["operands"]) + suffix
    lines = [f"### {op['name']}", "", f"`{op['name']}({operands})`", ""]
    lines.append(op["summary"])
    lines.append("")
    facts = [
        f"dtypes: {op['types']}",
        f"numeric class: {op['class']}",
        f"version: {op['version']}",
    ]
    if op["own_dtype"]:
        facts.append("dtype of its own: " + ", ".join(op["own_dtype"]))
    if op["results"] != 1:
        facts.append(f"results: {op['results']}")
    if op["elementwise"]:
        facts.append("elementwise")
    if op["effects"]:
        facts.append("has effects")
    lines += ["; ".join(facts), ""]
    for a in op["attributes"]:
        default = f"default {a['default']}" if a["default"] else "default empty"
        default = "required" if a["required"] else default
        choices = ", one of " + ", ".join(a["choices"]) if a["choices"] else ""
        since = f", from version {a['since']}" if a["since"] > 1 else ""
        lines.append(
            f"- `{a['name']}` ({a['kind']}, {default}{choices}{since}): "
            f"{a['meaning']}"
        )
    if op["attributes"]:
        lines.append("")
    for number, text in enumerate(op["constraints"], 1):
        lines.append(f"- C{number}: {text}")
    if op["constraints"]:
        lines.append("")
    return lines


def write_doc(ops):
    """The reference page."""
    lines = [
        "<!-- Made by sdk/graph/gen_ops.py from ops.toml. Do not edit. -->",
        "",
        "# Ops of the portable graph",
        "",
        "Primitives are what a backend can do one way or another. Composites "
        "have a",
        "decomposition into primitives, which runs wherever a backend does not "
        "claim",
        "them. There is no implicit broadcast and no type promotion: unless an "
        "op says",
        "otherwise its operands share one dtype. Constraints are numbered; "
        "messages and",
        "tests cite them.",
        "",
        "Precision. Sums and products of floats narrower than f32 accumulate in "
        "f32 or",
        "wider, in every op that has them (matmul, conv, conv_transpose, reduce, "
        "pool,",
        "cumulative, scatter), and are rounded to the dtype once. A composite on "
        "narrow",
        "floats is computed in f32 or wider throughout - squares, means, "
        "exponentials -",
        "and its result is rounded once; so is its decomposition. What an "
        "attention",
        "multiplies with v is rounded for it.",
        "",
        "What an element is not made of does not reach it: a NaN or an infinity of "
        "an",
        "operand is in those results that use it, and in no other. Only conv "
        "leaves it",
        "open whether the zeros of its padding are multiplied.",
        "",
    ]
    for kind, title in (("primitive", "Primitives"), ("composite", "Composites")):
        chosen = [op for op in ops if op["kind"] == kind]
        links = ", ".join(f"[{op['name']}](#{op['name']})" for op in chosen)
        lines += [f"## {title}", "", links, ""]
        for op in chosen:
            lines += _doc_op(op)
    return "\n".join(lines).rstrip() + "\n"


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
