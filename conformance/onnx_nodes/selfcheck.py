# SPDX-License-Identifier: Apache-2.0
"""Checks of the judgement itself, which every run starts with."""
import dataclasses


@dataclasses.dataclass
class FakeTest:
    name: str
    op: str = "Op"
    expanded: bool = False


def record(status, reason="", data="oracle"):
    return {"status": status, "reason": reason, "data": data}


# Name of the test, device, its record, what it must come to and why.
CHECKS = (
    ("plain", "host", record("Pass"), "passed", ""),
    ("plain", "host", record("QualityWarning"), "passed", ""),
    ("plain", "host", record("Fail", "wrong"), "FAILED", "Fail: wrong"),
    ("plain", "host", record("Crash", "signal 11"), "FAILED", "Crash: signal 11"),
    ("plain", "host", record("NotSupported", "no op"), "FAILED", "not listed"),
    ("plain", "oracle", record("NotSupported", "no answer", "stored"), "skipped",
     "no answer"),
    ("listed", "host", record("NotSupported", "no op"), "refused", "a reason"),
    ("listed", "host", record("NotSupported", "a bug"), "FAILED", "another reason"),
    ("listed", "host", record("Fail", "wrong"), "FAILED", "Fail: wrong"),
    ("listed", "host", record("Pass"), "FAILED", "take it off"),
    ("hosts", "ref", record("Pass"), "passed", ""),
    ("hosts", "ref", record("NotSupported", "no op"), "FAILED", "not listed"),
    ("inexact", "oracle", record("Fail", "far off"), "passed", ""),
    ("inexact", "oracle", record("Pass"), "FAILED", "take it off"),
    ("inexact", "host", record("Fail", "far off"), "FAILED", "Fail: far off"),
)


def problems(listed, judge):
    """What `judge` gets wrong with a list of its own."""
    expected = listed.Expected.__new__(listed.Expected)
    expected.problems = []
    expected.entries = [
        listed.Entry("listed", "no op", "a reason", {"listed"}),
        listed.Entry("hosts", "no op", "a reason", {"hosts"}, ("host",))]
    expected.inexact = {"inexact": "a reason"}
    for name, device, given, kind, why in CHECKS:
        got = judge(expected, FakeTest(name), device, [record("Pass"), given])
        if got.kind != kind or why not in got.why:
            yield (f"self-check: {name} on {device} with {given['status']} is "
                   f"{got.kind} ({got.why}), not {kind}")
    if expected.matching(["plai?", "none*"], ["plain"]) != {"plain"} or not any(
            "none*" in problem for problem in expected.problems):
        yield "self-check: a pattern that matches nothing is not found"
