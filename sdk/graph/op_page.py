# SPDX-License-Identifier: Apache-2.0
"""The reference page of the ops, docs/reference/ops.md."""


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
