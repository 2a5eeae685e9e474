# SPDX-License-Identifier: Apache-2.0
"""Sums up a day: cases judged by the oracle, goldens, and speed beside others."""
import json
import pathlib
import re
import subprocess

import pack

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Name of a row -> the other system, and the share of its speed that is wanted.
WANTED = {"product": ("cuBLAS", 0.7), "rows": ("torch.compile", 0.9),
          "gelu": ("torch.compile", 0.9), "attention": ("torch.compile", 0.9)}


def judge_cases(folder, name):
    """What the oracle says of a bundle of cases."""
    results = folder / f"results/{name}.bpr"
    if not results.exists():
        return {"status": "absent", "said": f"no results of {name} came back"}
    done = subprocess.run([ROOT / "build/bin/bp", "bundle", "judge", folder / f"{name}.bpb",
                           results], text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=pack.environment())
    (folder / f"results/{name}-judged.txt").write_text(done.stdout, encoding="utf-8")
    counts = {name: int(number) for number, name in
              re.findall(r"(\d+) ([A-Z]\w+)", done.stdout)}
    lines = done.stdout.strip().splitlines()
    return {"status": "failed" if done.returncode else "ok", "counts": counts,
            "said": lines[-1] if lines else f"exit code {done.returncode}"}


def compare(ours, theirs):
    """Rows with the share of the other's speed, where both have a time."""
    others = {row["name"]: row["ms"] for row in theirs}
    for row in ours:
        row["others"] = others.get(row["name"], {})
        for part, (name, share) in WANTED.items():
            if part in row["name"] and row.get("kernel_ms") and name in row["others"]:
                row["of"], row["wanted"] = name, share
                row["share"] = row["others"][name] / row["kernel_ms"]
    return ours


def lines_of(summary):
    yield f"device {summary['device']}, target {summary['target']}"
    for step in summary["steps"]:
        yield f"{step['name']:9} {step['status']:11} {step['seconds']:6.1f} s  {step['said']}"
    for name in ("cases", "library"):
        yield f"{name:9} {summary[name]['status']:11} {summary[name]['said']}"
    for row in summary["speed"]:
        ms = row.get("kernel_ms")
        yield (f"  {row['name']:24} {f'{ms:9.3f} ms' if ms else row.get('said', '')}"
               + (f"  {row['share']:.2f} of {row['of']}, wanted {row['wanted']}"
                  if "share" in row else ""))


def judge(folder):
    """Writes the summary; 0 when nothing is wrong."""
    found = json.loads((folder / "results/there.json").read_text(encoding="utf-8"))
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    steps = {step["name"]: step for step in found["steps"]}
    summary = {"device": found["device"], "target": plan["target"], "quick": plan["quick"],
               "steps": found["steps"], "cases": judge_cases(folder, "cases"),
               "library": judge_cases(folder, "library"),
               "speed": compare(steps["speed"]["rows"], steps["peers"]["rows"])}
    (folder / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    text = "\n".join(lines_of(summary))
    (folder / "summary.txt").write_text(text + "\n", encoding="utf-8")
    print(text)
    wrong = [step for step in found["steps"] if step["status"] in ("failed", "out of time")]
    return int(bool(wrong) or summary["cases"]["status"] != "ok" or
               summary["library"]["status"] == "failed")
