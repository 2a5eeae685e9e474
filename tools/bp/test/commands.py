# SPDX-License-Identifier: Apache-2.0
"""What each command of `bp` prints, with good and bad arguments."""
import json

import numpy

import checks
import models


def control_flow(suite, tool):
    """A model whose data choose what runs: on each device, and what is shown of it."""
    model = tool.file("control.onnx", models.with_control().SerializeToString())
    for device in ("host", "ref"):
        for sign in (1, -1):
            x = sign * numpy.arange(1, 13, dtype="f4").reshape(3, 4)
            numpy.save(tool.folder / "cx.npy", x)
            numpy.save(tool.folder / "cy.npy", numpy.cumsum(abs(x), axis=0))
            run = tool.run("run", model, "--device", device, "--input", "x=cx.npy",
                           "--expect", "y=cy.npy")
            suite.good(f"control flow on {device}", run, "match y")
    tool.run("compile", model, "-o", "control.bpx")
    shown = tool.run("inspect", "control.bpx").stdout
    for part in ("if, region 0, 1: If node '/choice'", "repeat n times, carries 1, region 2",
                 "region 0: If node '/choice', then", "region 2: Scan node '/sums', body, "
                 "counts in i"):
        suite.check("inspect shows regions", part in shown, shown)
    explained = tool.run("explain", "control.bpx").stdout
    suite.check("explain names regions", "in Scan node '/sums', body: " in explained, explained)


def repeats(suite, tool):
    """Layers that repeat are shown once, and what costs most first."""
    tool.run("compile", tool.file("layers.onnx", models.layers(7).SerializeToString()), "-o",
             "layers.bpx")
    shown = tool.run("inspect", "layers.bpx").stdout
    suite.check("inspect folds layers", "7 × 2 commands" in shown
                and shown.count("entry matmul") == 1 and "/layer.6/" not in shown, shown)
    costs = shown.split("most multiplications and additions\n")[-1]
    suite.check("inspect puts costs first", costs.startswith("  100 %: 7 × matmul_0: MatMul"), shown)
    explained = tool.run("explain", "layers.bpx").stdout
    suite.check("explain says each reason once", "  7 × matmul (" in explained
                and "/layer.5/" not in explained, explained)


def per_dispatch(suite, tool, model):
    """What `bp bench --per-dispatch` says of a product, and where it cannot."""
    bench = ["bench", model, "--per-dispatch", "--threads", "1", "--seconds", "0.05", "--dim", "n=8"]
    run = tool.run(*bench, "--json")
    suite.good("bench per dispatch", run)
    if run.returncode:
        return
    found = json.loads(run.stdout)["per_dispatch"]
    product = next((row for row in found["kernels"] if row["gflops"]), {})
    suite.check("work of a product of 8 x 4 and 4 x 3", product
                and abs(product["gflops"] * product["ms"] * 1e6 - 2 * 8 * 4 * 3) < 1
                and product["device"] == "host://cpu" and product["of_roof"] > 0, found)
    total = sum(row["ms"] for row in found["kernels"]) + found["gaps_ms"]
    suite.check("kernels and gaps make the call", found["calls"] >= 5
                and 0.5 < total / found["ms"] < 1.5 and found["roof"]["gflops"] > 0, found)
    shown = tool.run(*bench).stdout
    suite.check("bench per dispatch as a table", "gaps between dispatches" in shown
                and "roof of host://cpu, measured now with 1 threads" in shown, shown)
    refused = tool.run(*bench, "--device", "ref")
    suite.refused("times per dispatch of a device without timestamps", refused)
    suite.check("what the device lacks", "ref://interpreter has no table backplane.timestamps"
                in refused.stderr, refused.stderr)


def commands(suite, tool):
    """What each command prints, with good and bad arguments."""
    model = tool.file("good.onnx", models.good().SerializeToString())
    x = numpy.random.default_rng(1).standard_normal((5, 4)).astype("f4")
    numpy.save(tool.folder / "x.npy", x)
    proto = models.good()
    w, b = (models.numpy_helper.to_array(t) for t in proto.graph.initializer)
    numpy.save(tool.folder / "y.npy", numpy.maximum(x @ w + b, 0))
    numpy.save(tool.folder / "bad.npy", numpy.maximum(x @ w + b, 0) + 1)
    for device in ("host", "ref"):
        run = tool.run("run", model, "--device", device, "--input", "x=x.npy",
                       "--expect", "y=y.npy", "--output-dir", f"out_{device}")
        suite.good(f"run on {device}", run, "match y")
        suite.check(f"output file on {device}",
                    (tool.folder / f"out_{device}" / "y.npy").exists()
                    and numpy.allclose(numpy.load(tool.folder / f"out_{device}/y.npy"),
                                       numpy.maximum(x @ w + b, 0), 1e-5, 1e-6))
        run = tool.run("run", model, "--device", device, "--input", "x=x.npy",
                       "--expect", "y=bad.npy")
        suite.check(f"mismatch on {device}", run.returncode == 1
                    and "MISMATCH y" in run.stdout and "worst at [" in run.stdout, run.stdout)
    run = tool.run("compile", model, "-o", "good.bpx", "--target",
                   ",".join([*checks.OWN_TARGETS, "ref"]))
    suite.good("compile three variants", run)
    run = ["run", "good.bpx", "--input", "x=x.npy", "--expect", "y=y.npy"]
    suite.good("run the artifact", tool.run(*run))
    suite.good("run its other variant", tool.run(*run, "--device", "ref"))
    for command in (["run", "--random-inputs", "1", "--why"], ["bench", "--seconds", "0.01"]):
        suite.good(f"{command[0]} compiles for a variant",
                   tool.run(*command, model, "--variant", checks.OWN_TARGET))
    run = tool.run("bench", model, "--json", "--threads", "1", "--seconds", "0.05")
    suite.check("bench keys", run.returncode == 0 and set(json.loads(run.stdout)) == {
        "min_ms", "median_ms", "compile_cold_ms", "compile_cached_ms", "peak_rss_mb",
        "dispatches"}, run.stdout + run.stderr)
    per_dispatch(suite, tool, model)
    for command in ("inspect", "explain"):
        suite.good(command, tool.run(command, "good.bpx"), checks.OWN_TARGETS[0])


def questions(suite, tool):
    """Devices, help and misspelt names."""
    run = tool.run("devices", "--json")
    devices = json.loads(run.stdout) if run.returncode == 0 else []
    suite.check("devices", {"host", "ref"} <= {row["uri"].split(":")[0] for row in devices
                                               if row["usable"]}, run.stdout + run.stderr)
    suite.check("devices --why", "features:" in tool.run("devices", "--why").stdout)
    suite.check("help", all(word in tool.run("--help").stdout for word in
                            ("devices", "compile", "run", "bench", "inspect", "explain")))
    run = tool.run("run", "good.onnx", "--random-inputs", "1", "--device", "hots")
    suite.refused("unknown device", run)
    suite.check("unknown device gets a suggestion", "'host'" in run.stderr, run.stderr)
    run = tool.run("compile", "good.onnx", "-o", "z.bpx", "--target", "x86-64-v9")
    suite.refused("unknown target", run)
    suite.check("unknown target gets a suggestion", "x86-64-v" in run.stderr.split("v9")[-1],
                run.stderr)
    run = tool.run("run", "good.onnx", "--input", "xx=x.npy")
    suite.refused("unknown input", run)
    suite.check("unknown input gets a suggestion", "'x'" in run.stderr, run.stderr)
    run = tool.run("inspekt", "good.bpx")
    suite.check("unknown command gets a suggestion", run.returncode == 1
                and "'inspect'" in run.stderr, run.stderr)
    suite.refused("no inputs", tool.run("run", "good.onnx"))
    suite.refused("no model", tool.run("run", "absent.onnx", "--random-inputs", "1"))
    suite.refused("a folder", tool.run("run", str(tool.folder), "--random-inputs", "1"))
    numpy.save(tool.folder / "narrow.npy", numpy.zeros((5, 3), "f4"))
    suite.refused("wrong shape", tool.run("run", "good.onnx", "--input", "x=narrow.npy"))
    numpy.save(tool.folder / "double.npy", numpy.zeros((5, 4)))
    suite.refused("wrong dtype", tool.run("run", "good.onnx", "--input", "x=double.npy"))
    tool.file("cut.npy", (tool.folder / "x.npy").read_bytes()[:100])
    suite.refused("cut input file", tool.run("run", "good.onnx", "--input", "x=cut.npy"))
    suite.refused("output into a file", tool.run("run", "good.onnx", "--input", "x=x.npy",
                                                 "--output-dir", "x.npy"))
    suite.refused("output to nowhere", tool.run("compile", "good.onnx", "-o",
                                                "absent/folder/z.bpx"))


ALL = commands, control_flow, repeats, questions
