# SPDX-License-Identifier: Apache-2.0
"""Which ops pass how many node tests, as a page of the documentation."""
import collections
import dataclasses

HEAD = """<!-- Written by conformance/onnx_nodes/run_node_tests.py --write; do not edit. -->
# ONNX node tests by op

The node tests of the Python package `onnx` {version} on `{devices}`: {passed} of {total} pass and
{refused} are refused with a reason; of the {all_expanded} in which an op is spelled out by
others, {expanded} pass. A test passes when each device's outputs lie within the limits that the
oracle derives for them ([how](../explanation/conformance.md#onnx-node-tests)). Reasons are in
`conformance/onnx_nodes/expected.toml`.

| op | passed | refused | tests | spelled out | reasons |
|---|---|---|---|---|---|
"""


@dataclasses.dataclass
class Row:
    passed: int = 0
    refused: int = 0
    total: int = 0
    expanded: int = 0
    all_expanded: int = 0
    reasons: list = dataclasses.field(default_factory=list)

    def add(self, outcome):
        if outcome.expanded:
            self.all_expanded += 1
            self.expanded += outcome.kind == "passed"
            return
        self.total += 1
        self.passed += outcome.kind == "passed"
        self.refused += outcome.kind == "refused"
        if outcome.kind == "refused" and outcome.why not in self.reasons:
            self.reasons.append(outcome.why)


def rows(outcomes):
    """Op to row, sorted."""
    table = collections.defaultdict(Row)
    for outcome in outcomes:
        table[outcome.op].add(outcome)
    return dict(sorted(table.items()))


def text(table):
    """For the terminal."""
    lines = [f"{'op':32} passed refused tests"]
    for op, row in table.items():
        lines.append(f"{op:32} {row.passed:6} {row.refused:7} {row.total:5}")
    return "\n".join(lines)


def page(table, version, devices):
    total = {key: sum(getattr(row, key) for row in table.values())
             for key in ("passed", "refused", "total", "expanded", "all_expanded")}
    out = HEAD.format(version=version, devices="` and `".join(devices), **total)
    for op, row in table.items():
        spelled = f"{row.expanded} of {row.all_expanded}" if row.all_expanded else ""
        reasons = "; ".join(row.reasons)
        out += (f"| {op} | {row.passed} | {row.refused or ''} | {row.total} | {spelled} "
                f"| {reasons} |\n")
    return out
