#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices that do a part of the op set, judged by `bp conformance`: for a
profile, and with the help of the host.

The device is the reference device, the target `picky` of the tests of split
graphs, which refuses the ops that it is told to: all but those of the profile `dense` and the
primitives of its composites, or more. The last line counts the tests.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "profiles"
PICKY = ROOT / "build/lib/backplane/split/picky.bp.json"
PLUGINS = ROOT / "build" / "lib" / "backplane" / "plugins"
# What composites of the profile are made of.
PRIMITIVES = {"expm1", "log1p"}
# What may stand in a dispatch of any profile.
STRUCTURAL = {"constant", "dim", "weight"}
failures = []
passed = 0


def check(name, right, text=""):
    global passed  # pylint: disable=global-statement
    if right:
        passed += 1
    else:
        failures.append(name)
        print(f"FAILED {name}\n{text[-3000:]}")


def ops_of(profile):
    listed = subprocess.run([ROOT / "build/bin/bp", "conformance", "--profiles"], text=True,
                            check=True, capture_output=True).stdout
    section = listed.split(f"## {profile}\n")[1].split("\n## ")[0]
    return set(re.findall(r"`(\w+)`", section.split("Ops: ")[1]))


def all_ops():
    table = tomllib.loads((ROOT / "sdk/graph/ops.toml").read_text(encoding="utf-8"))
    return {op["name"] for op in table["op"]} | {
        op for family in table["family"] for op in family["ops"]}


def write_driver():
    """The reference device without its compiler."""
    manifest = json.loads((PLUGINS / "ref.bp.json").read_text(encoding="utf-8"))
    del manifest["compiler"]
    (OUT / "ref.bp.json").write_text(json.dumps(manifest), encoding="utf-8")
    shutil.copy(PLUGINS / "libbp-ref.so", OUT)


def run(taken, out, *arguments, device="ref"):
    refused = ",".join(sorted(all_ops() - taken))
    environment = dict(os.environ, BP_PICKY_REFUSES=refused,
                       BACKPLANE_PLUGIN_FILES=f"{OUT}/ref.bp.json:{PICKY}:"
                       f"{PLUGINS}/host.bp.json:{PLUGINS}/x86.bp.json")
    done = subprocess.run([ROOT / "build/bin/bp", "conformance", "--device", device,
                           "--env", "BP_PICKY_REFUSES", "--out", out, *arguments], text=True,
                          check=False, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    summary = out / "summary.json"
    return done, json.loads(summary.read_text(encoding="utf-8")) if summary.exists() else {}


def test_badge(ops):
    done, summary = run(ops, OUT / "whole", "--profile", "dense")
    check("no case of the profile is bad or refused",
          done.returncode == 0 and summary.get("bad") == 0 and summary.get("refused") == 0
          and summary.get("profile") == "dense", done.stdout)
    check("the badge names the profile", summary.get("title", "").startswith(
        "Core badge (profile dense"), str(summary.get("title")))
    verified = subprocess.run([ROOT / "build/bin/bp", "conformance", "verify",
                               "--unsealed", OUT / "whole"], text=True, check=False, capture_output=True)
    check("the run is verified", verified.returncode == 0, verified.stdout + verified.stderr)


def test_refusal(ops):
    less = ops - {"tanh"}
    done, summary = run(less, OUT / "less", "--profile", "dense", "--filter",
                        "L3/tanh/f32/*", "--filter", "L3/add/f32/*")
    check("what is refused is no failure", done.returncode == 0 and summary.get("bad") == 0
          and summary.get("refused", 0) > 0, done.stdout)
    check("the verdict says what and why", "refused: tanh, " in done.stdout and
          "there is no tanh" in done.stdout, done.stdout)
    done, _ = run(less, OUT / "none", "--profile", "dnse", "--filter", "*")
    check("a wrong name is refused", done.returncode != 0 and "transformer" in done.stdout,
          done.stdout)


def test_help(ops):
    """Cases that are all the host's are not counted for the device, nor those in
    which it had a part."""
    done, summary = run(ops - {"tanh"}, OUT / "help", "--filter", "L3/tanh/f32/*", "--filter",
                        "L3/add/f32/*", "--filter", "L4/epilogue/f32/*", device="ref+host")
    records = [json.loads(line) for line in
               (OUT / "help/records.jsonl").read_text(encoding="utf-8").splitlines()]
    statuses = {op: {record["status"] for record in records if record["op"] == op}
                for op in ("tanh", "add")}
    statuses["graphs"] = {record["status"] for record in records if record["layer"] >= 4}
    check("what the host does alone is refused", statuses["tanh"] == {"Refused"}, done.stdout)
    check("what the device does alone is good", statuses["add"] <= {"Pass", "QualityWarning"},
          done.stdout)
    check("what both do is assisted", "Assisted" in statuses["graphs"] and
          summary.get("bad") == 0 and "right with the help" in done.stdout, done.stdout)
    check("no badge is earned with help", done.returncode == 0 and summary["partial"] and
          summary["badge"] == "no badge" and "another device may help" in done.stdout,
          done.stdout)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    write_driver()
    ops = ops_of("dense") | PRIMITIVES | STRUCTURAL
    test_refusal(ops)
    test_badge(ops)
    test_help(ops)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
