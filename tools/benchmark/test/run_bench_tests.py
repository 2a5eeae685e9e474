#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/bench without peers. The rows of two seeds are valid models, which
differ from seed to seed and not from run to run. The host runs some, with the results
of the reference device. What a report says is checked on made-up times."""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
sys.path.insert(0, str(HERE.parent))

import numpy  # noqa: E402

import backplane  # noqa: E402
import bench  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402

SEEDS, LEAST = (1, 2), 150
RUN = ["softmax-0", "reduce-outer-0", "reduce-middle-2", "transpose-0", "transpose-5",
       "depthwise-8", "sort-2", "small-4", "broadcast-3"]


class Suite:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, good, detail=""):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f"FAILED {name}: {detail}")

    def rows(self):
        """Every row makes a model that ONNX takes."""
        described = []
        for seed in SEEDS:
            drawn = rows.draw(seed)
            described.append([row.what for row in drawn])
            broken = []
            for row in drawn:
                try:
                    row.make()
                except Exception as error:  # each is reported by its row
                    broken.append(f"{row.name} ({row.what}): {str(error)[:200]}")
            self.check(f"models of seed {seed}", not broken, "; ".join(broken))
            self.check(f"number of rows of seed {seed}", len(drawn) >= LEAST, len(drawn))
        same = sum(a == b for a, b in zip(*described))
        self.check("seeds draw other shapes", same < len(described[0]) / 2, f"{same} are the same")
        self.check("a seed draws the same again",
                   described[0] == [row.what for row in rows.draw(SEEDS[0])])

    def runs(self, folder):
        """Rows run, with the reference device's results."""
        for row in rows.draw(SEEDS[0]):
            if row.name not in RUN:
                continue
            bench.write(row, folder / row.name)
            made, failure = self.bp(folder / row.name, "ref", "expected")
            if made:
                made, failure = self.bp(folder / row.name, "host", "results", *(
                    f"--expect={path.stem}={path}"
                    for path in sorted((folder / row.name / "expected").glob("*.npy"))))
            self.check(f"{row.name} ({row.what})", made, failure)

    def bp(self, folder, device, outputs, *more):
        names = (folder / "inputs.txt").read_text(encoding="utf-8").split()
        result = subprocess.run(
            [ROOT / "build/bin/bp", "run", folder / "model.onnx", "--device", device,
             *(f"--input={name}={folder / f'{i}.npy'}" for i, name in enumerate(names)),
             "--output-dir", folder / outputs, *more],
            text=True, capture_output=True, check=False)
        return result.returncode == 0, result.stderr.strip() or result.stdout.strip()

    def tool(self, *arguments):
        return subprocess.run([sys.executable, HERE.parent / "bench.py", *arguments], text=True,
                              capture_output=True, check=False)

    def measures(self, folder):
        """The tool measures a row, stores it and compares it with another run."""
        stored = folder / "run.json"
        options = ["--peers=-", "--only=^small-0 ", "--seconds=0.01", "--rounds=1",
                   f"--folder={folder / 'work'}"]
        result = self.tool(*options, f"--json={stored}")
        self.check("a run", result.returncode == 0 and stored.exists(), result.stderr)
        run = json.loads(stored.read_text(encoding="utf-8"))
        self.check("a stored row", run["rows"]["small-0"]["times"]["bp"]["best"] > 0, run)
        run["rows"]["small-0"]["times"]["bp"]["best"] = 1e-9
        stored.write_text(json.dumps(run), encoding="utf-8")
        result = self.tool(*options, f"--compare={stored}")
        self.check("what is slower is named", result.returncode == 1 and "slower in time"
                   in result.stdout, result.stdout + result.stderr)
        for wrong, word in (("--classes=nothing", "no class"), ("--only=^$", "no row"),
                            ("--peers=nobody", "no peer")):
            result = self.tool(wrong)
            self.check(f"{wrong} is refused", result.returncode == 1 and word in result.stderr,
                       result.stderr)

    def judges(self, folder):
        """Of two results that differ the evaluator of ONNX says which is wrong."""
        row = rows.select(SEEDS[0], None, "^small-0 ")[0]
        name, = bench.write(row, folder)
        right = backplane.reference(folder)[0]
        for part in ("expected", "results"):
            (folder / part).mkdir()

        def judged(expected, results):
            numpy.save(folder / "expected/0.npy", expected)
            numpy.save(folder / "results" / f"{name}.npy", results)
            return backplane.judge(folder, [name])
        self.check("both are right", judged(right, right) == ("", ""))
        odd = right.copy()
        odd.flat[0], odd.flat[1] = numpy.inf, numpy.nan
        self.check("what is no number is the same",
                   backplane.difference([name], [odd], [odd], "a") == "")
        self.check("an infinity is missed",
                   "infinities" in backplane.difference([name], [odd], [right], "a"))
        own, peer = judged(right + 1, right)
        self.check("the peer is wrong", not own and "evaluator" in peer, (own, peer))
        own, peer = judged(right, right + 1)
        self.check("Backplane is wrong", "evaluator" in own and not peer, (own, peer))

    def reports(self):
        def row(peer, ours, group="a"):
            times = {"peer": {"best": peer}, "bp": {"best": ours}}
            return {"class": group, "what": "w", "times": times, "errors": {}, "wrong": "",
                    "ratio": report.ratio(times)}
        found = {"a-0": row(1, 1), "a-1": row(4, 1), "b-0": row(1, 2, "b")}
        groups = report.by_class(found)
        self.check("mean of a class", abs(groups["a"]["mean"] - 2) < 1e-9, groups)
        self.check("worst of a class", groups["b"]["worst"] == 0.5, groups)
        lines = list(report.slower({"a-0": row(1, 1.2), "a-1": row(4, 1.04)}, found))
        self.check("over 5 % slower", len(lines) == 1 and lines[0].startswith("a-0"), lines)
        text = report.table([{"threads": 2, "rows": found}])
        self.check("table", "| a | 2 | 2.00 | 1.00 |" in text, text)


def main():
    suite = Suite()
    suite.reports()
    suite.rows()
    with tempfile.TemporaryDirectory() as folder:
        suite.runs(pathlib.Path(folder))
        suite.measures(pathlib.Path(folder))
        suite.judges(pathlib.Path(folder) / "judged")
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
