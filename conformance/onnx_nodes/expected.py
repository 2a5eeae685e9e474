# SPDX-License-Identifier: Apache-2.0
"""expected.toml: which tests are refused, and why."""
import dataclasses
import fnmatch
import re
import tomllib


@dataclasses.dataclass
class Entry:
    """Tests that are expected to be refused with a text."""
    name: str    # an op, or the first pattern
    says: str    # is in the refusal
    reason: str  # why the form is not supported
    tests: set   # names
    devices: tuple = ()  # none: all of them


def nodes_of(graph):
    """All nodes of a graph and of the graphs inside of them."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from nodes_of(inner)


class Expected:
    """The list, resolved against all tests of the collection."""

    def __init__(self, path, tests):
        self.problems = []
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        used = {test.name: {full_name(node) for node in nodes_of(test.model.graph)}
                for test in tests}
        self.entries = [
            self.entry(op, f"op '{op.rsplit('.', 1)[-1]}' of", reason,
                       {name for name, ops in used.items() if op in ops})
            for op, reason in table["ops"].items()]
        self.entries += [
            self.entry(form["tests"][0], form["says"], form["reason"],
                       self.matching(form["tests"], used), form.get("devices", ()))
            for form in table["forms"]]
        self.inexact = {}
        for item in table["inexact"]:
            for name in self.matching(item["tests"], used):
                self.inexact[name] = item["reason"]

    def matching(self, patterns, names):
        """Names by patterns; one with a ! in front takes names away."""
        found = set()
        for pattern in patterns:
            without = pattern.startswith("!")
            hits = fnmatch.filter(found if without else names, pattern.lstrip("!"))
            if not hits:
                self.problems.append(f"expected.toml: '{pattern}' matches no test")
            found = found.difference(hits) if without else found.union(hits)
        return found

    def entry(self, name, says, reason, tests, devices=()):
        if not tests:
            self.problems.append(f"expected.toml: '{name}' matches no test")
        return Entry(name, says, reason, tests, devices)

    def of(self, name, device):
        return [entry for entry in self.entries if name in entry.tests
                and (not entry.devices or device in entry.devices)]

    def reason(self, name, device, refusal):
        """Why a refusal is as listed, or None."""
        for entry in self.of(name, device):
            if re.search(entry.says, refusal):
                return entry.reason
        return None


def full_name(node):
    """"Softmax", or with the domain when that is not ai.onnx."""
    domain = "" if node.domain in ("", "ai.onnx") else node.domain + "."
    return domain + node.op_type
