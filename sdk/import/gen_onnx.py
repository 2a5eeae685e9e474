# SPDX-License-Identifier: Apache-2.0
"""Makes the table of ONNX ops from onnx_ops.toml and the schemas of the `onnx`
package.

  gen_onnx.py                  writes OnnxTable.inc and the page
                               docs/reference/onnx.md
  gen_onnx.py --check          fails when one of them is stale
  gen_onnx.py --handlers FILE  writes the header that declares the handlers,
                               for which the build needs no package
"""

import argparse
import pathlib
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs/reference/onnx.md"
KEYS = {"handler", "target", "note", "since", "outputs", "without"}
UNLIMITED = 2**31 - 1
MADE = "Made by sdk/import/gen_onnx.py from onnx_ops.toml. Do not edit."


def schemas_by_opset(first, last):
    """{name: {opset: schema}} of the ops of ai.onnx that are not deprecated."""
    import onnx.defs

    history = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            history.setdefault(schema.name, []).append(schema)
    result = {}
    for name, versions in history.items():
        for opset in range(first, last + 1):
            known = [s for s in versions if s.since_version <= opset]
            newest = max(known, key=lambda s: s.since_version, default=None)
            if newest and not newest.deprecated:
                result.setdefault(name, {})[opset] = newest
    return result


def least_inputs(schema):
    """The inputs before the first that may be left out."""
    count = 0
    for parameter in schema.inputs:
        option = type(parameter.option)
        if parameter.option == option.Variadic:
            return count + parameter.min_arity
        if parameter.option != option.Single:
            break
        count += 1
    return count


def most(numbers):
    """The greatest; -1 when any number is allowed."""
    number = max(numbers)
    return -1 if number >= UNLIMITED else number


def attribute_ranges(schemas, without):
    """[(name, first opset, last opset)], by name."""
    opsets = {}
    for opset, schema in schemas.items():
        for name in schema.attributes:
            opsets.setdefault(name, []).append(opset)
    unknown = set(without) - set(opsets)
    if unknown:
        raise ValueError(f"no schema has the attributes {unknown}")
    return [
        (name, min(at), max(at))
        for name, at in sorted(opsets.items())
        if name not in without
    ]


def handler(name, row):
    return "onnx" + row.get("handler", name)


def complete(name, row, schemas):
    """One row with all columns."""
    if set(row) - KEYS:
        raise ValueError(f"{name}: unknown keys {set(row) - KEYS}")
    if not schemas:
        raise ValueError(f"{name}: no schema in these opsets")
    since = row.get("since", min(schemas))
    schemas = {opset: s for opset, s in schemas.items() if opset >= since}
    kinds = schemas.values()
    return {
        "name": name,
        "handler": handler(name, row),
        "target": row.get("target", ""),
        "note": row.get("note", ""),
        "since": since,
        "until": max(schemas),
        "least": min(least_inputs(schema) for schema in kinds),
        "most": most(schema.max_input for schema in kinds),
        "outputs": row.get(
            "outputs", most(schema.max_output for schema in kinds)
        ),
        "attributes": attribute_ranges(schemas, row.get("without", [])),
    }


def read_table():
    return tomllib.loads((HERE / "onnx_ops.toml").read_text(encoding="utf-8"))


def load():
    """The opsets (first, last) and the rows, by name."""
    table = read_table()
    first, last = table["opsets"]
    schemas = schemas_by_opset(first, last)
    rows = [
        complete(name, row, schemas.get(name))
        for name, row in sorted(table["ops"].items())
    ]
    return first, last, rows


def attribute_code(row):
    """ "name name@13 name@7-12": without what all opsets of the op have."""
    texts = []
    for name, first, last in row["attributes"]:
        if last != row["until"]:
            name += f"@{first}-{last}"
        elif first != row["since"]:
            name += f"@{first}"
        texts.append(name)
    return " ".join(texts)


def write_table(first, last, rows):
    """The rows of the table, as C++."""
    lines = [
        f"// {MADE}",
        f"static_assert(kOldestOpset == {first} && kNewestOpset == {last});",
        "constexpr OnnxOp kOps[] = {",
    ]
    for row in rows:
        until = "kNewestOpset" if row["until"] == last else row["until"]
        lines.append(
            f'    {{"{row["name"]}", {row["since"]}, {until}, '
            f"{row['least']}, {row['most']}, {row['outputs']},"
        )
        lines.append(
            f'     {row["handler"]}, "{row["target"]}", '
            f'"{attribute_code(row)}"}},'
        )
    return "\n".join(lines + ["};"]) + "\n"


def write_handlers():
    """The header that declares the handlers."""
    names = {handler(*op) for op in read_table()["ops"].items()}
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// {MADE}",
        "//",
        "// OnnxHandlers.h: the handlers of the ONNX ops. Each reads its node and",
        "// defines the node's outputs, or fails the node.",
        "#ifndef BACKPLANE_IMPORT_ONNXHANDLERS_H",
        "#define BACKPLANE_IMPORT_ONNXHANDLERS_H",
        "",
        '#include "sdk/import/Node.h"',
        "",
        "namespace backplane::frontend {",
        "",
    ]
    lines += [f"void {name}(Node &);" for name in sorted(names)]
    lines += [
        "",
        "} // namespace backplane::frontend",
        "",
        "#endif // BACKPLANE_IMPORT_ONNXHANDLERS_H",
    ]
    return "\n".join(lines) + "\n"


def write_page(first, last, rows):
    """The reference page."""

    def opsets(since, until):
        return f"{since}+" if until == last else f"{since}–{until}"

    def attribute(name, since, until, row):
        if (since, until) == (row["since"], row["until"]):
            return f"`{name}`"
        return f"`{name}` ({opsets(since, until)})"

    lines = [
        f"<!-- {MADE} -->",
        "# ONNX ops",
        "",
        f"Models of the opsets {first} to {last} of the domain `ai.onnx` are "
        "imported. Any other op, domain, attribute or element type is refused "
        "by name.",
        "Opsets in parentheses are those in which an attribute exists.",
        "",
        "A node that takes several ops that round is computed in f32 where its "
        "inputs are narrower floats, and each output is rounded once; the "
        "operands of Gemm, Conv and ConvTranspose stay narrow, and their sums "
        "are f32 until the bias is added.",
        "",
        "| op | opsets | attributes | limits |",
        "|---|---|---|---|",
    ]
    for row in rows:
        attributes = ", ".join(attribute(*a, row) for a in row["attributes"])
        lines.append(
            f"| {row['name']} | {opsets(row['since'], row['until'])} | "
            f"{attributes} | {row['note']} |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--handlers", type=pathlib.Path, metavar="FILE")
    args = parser.parse_args()
    if args.handlers:
        args.handlers.write_text(write_handlers(), encoding="utf-8")
        return 0
    table = load()
    stale = 0
    for path, write in (
        (HERE / "OnnxTable.inc", write_table),
        (PAGE, write_page),
    ):
        text = write(*table)
        if not args.check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            print(f"{path} is stale: run {pathlib.Path(__file__).name}")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
