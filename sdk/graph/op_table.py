# SPDX-License-Identifier: Apache-2.0
"""Reads the op table (ops.toml), for the generators of what is made from it."""

import pathlib
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


def camel(name):
    """The name of an op in the classes of the dialect, without `Op`."""
    return "".join(part.capitalize() for part in name.split("_"))
