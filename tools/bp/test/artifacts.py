# SPDX-License-Identifier: Apache-2.0
"""What artifacts hold: a graph that is compiled at load, weights once for many targets, a
plan of memory."""
import re

import numpy

import checks
import models
from tool import has_target


def jit(suite, tool):
    """An artifact that fits no device here is compiled from its stored graph."""
    tool.run("run", "control.onnx", "--input", "x=cx.npy", "--output-dir", "out_control")
    files = {"good": ["x=x.npy", "y=y.npy"],
             "control": ["x=cx.npy", "y=cy.npy", "--expect", "last=out_control/last.npy"]}
    for target, device in (("ref", "host"), (checks.FOREIGN_TARGET, "host"), (checks.OWN_TARGET, "ref")):
        if not has_target(tool, target):
            suite.skipped += 1
            continue
        for model, (inputs, *expected) in files.items():
            what = f"{model} for {target} on {device}"
            make = ["compile", f"{model}.onnx", "-o", "far.bpx", "--no-fallback", "--target",
                    target]
            run = ["run", "far.bpx", "--device", device, "--why", "--input", inputs, "--expect",
                   *expected]
            tool.run(*make)
            refused = tool.run(*run, "--jit")
            suite.refused(f"{what}: no graph", refused)
            suite.check(f"{what}: says that there is no graph", f"JIT for {device}://"
                        in refused.stderr and "--embed-graph" in refused.stderr, refused.stderr)
            tool.run(*make, "--embed-graph")
            suite.refused(f"{what}: without --jit", tool.run(*run))
            for source in ("now", "from the cache", "without a cache"):
                cache = {"BACKPLANE_CACHE_DIR": "-"} if source == "without a cache" else {}
                made = tool.run(*run, "--jit", **cache)
                suite.check(f"{what}: compiled {source}", made.returncode == 0
                            and "match y" in made.stdout
                            and f" on {device}://" in made.stdout.split("chosen: ")[1]
                            and "compiled at load from the stored graph" in made.stdout
                            and f"passed over: {target} on {device}://" in made.stdout,
                            made.stdout + made.stderr)


FAT = "x86-64-v3", "x86-64-v4", "aarch64", "aarch64+sve", "vulkan"


def weights_once(suite, tool, what, weights, options):
    """Compiles heavy.onnx; the size of an artifact that holds each weight once, in some order."""
    suite.good(f"compile for {what}", tool.run("compile", "heavy.onnx", "-o", "heavy.bpx", *options))
    data = (tool.folder / "heavy.bpx").read_bytes()
    for weight in weights:
        rows, columns = weight.shape
        blocks = weight.reshape(rows, columns // 16, 16).transpose(1, 0, 2)
        times = sum(data.count(order.tobytes()[:4096]) for order in (weight, blocks))
        suite.check(f"{what} holds a weight once", times == 1, times)
    shown = tool.run("inspect", "heavy.bpx").stdout
    total = sum(weight.nbytes for weight in weights)
    suite.check(f"{what} has a pool of {len(weights)} weights", re.search(
        rf"^weights: {len(weights)} with {total} bytes", shown, re.M), shown)
    suite.check(f"{what} has its variants", shown.count("variant ") == what.count(",") + 1, shown)
    return len(data)


def fat(suite, tool):
    """One artifact for many targets, or with its graph, holds the weights once."""
    model, weights = models.heavy()
    tool.file("heavy.onnx", model.SerializeToString())
    total = sum(weight.nbytes for weight in weights)
    targets = [target for target in FAT if has_target(tool, target)]
    suite.skipped += len(FAT) - len(targets)
    all_of = ",".join(targets)
    sizes = {name: weights_once(suite, tool, name, weights, ["--target", name])
             for name in (*targets, ",".join(targets[:2]), all_of)}
    x = numpy.random.default_rng(8).standard_normal((9, 512)).astype("f4")
    numpy.save(tool.folder / "heavy_x.npy", x)
    numpy.save(tool.folder / "heavy_y.npy", numpy.maximum(x @ weights[0], 0) @ weights[1])
    suite.good("an artifact of many targets runs", tool.run(
        "run", "heavy.bpx", "--input", "x=heavy_x.npy", "--expect", "y=heavy_y.npy", "--rtol",
        "1e-3", "--atol", "0.05"))
    code = sum(sizes[target] - total for target in targets)
    suite.check("all variants cost their code only", sizes[all_of] <= total + code
                and code < total / 2, sizes)
    weights_once(suite, tool, "an artifact with its graph", weights, ["--embed-graph"])


def chain(x, length):
    for i in range(length):
        x = numpy.tanh(x) if i % 2 else numpy.sin(x)
    return x


def arena(tool, artifact):
    """Bytes that `bp inspect` says are planned, -1 when the call decides."""
    match = re.search(r"^ arena (\d+) bytes", tool.run("inspect", artifact).stdout, re.M)
    return int(match.group(1)) if match else -1


def reuse(suite, tool):
    """A result takes the place of an operand that dies, where that is safe."""
    x = numpy.random.default_rng(2).standard_normal((64, 64)).astype("f4")
    numpy.save(tool.folder / "square.npy", x)
    h = chain(x.astype("f8"), 6)
    numpy.save(tool.folder / "chain.npy", chain(x.astype("f8"), 100).astype("f4"))
    numpy.save(tool.folder / "sum.npy", (h.T + h).astype("f4"))
    tool.file("chain.onnx", models.long_chain().SerializeToString())
    tool.file("sum.onnx", models.long_chain(6, True).SerializeToString())
    for device, target in (("host", checks.OWN_TARGET), ("ref", "ref")):
        for name, shared, least in (("chain", True, 1), ("sum", False, 2)):
            suite.good(f"compile {name} for {target}", tool.run(
                "compile", f"{name}.onnx", "-o", f"{name}.bpx", "--target", target))
            why = tool.run("explain", f"{name}.bpx").stdout
            suite.check(f"{name} for {target} explains its memory",
                        ("takes the place of operand 0, 16384 bytes" in why) == shared, why)
            planned = arena(tool, f"{name}.bpx")
            suite.check(f"{name} for {target} plans {least} buffers",
                        planned == least * x.nbytes, planned)
            suite.good(f"{name} on {device}", tool.run(
                "run", f"{name}.bpx", "--device", device, "--input", "x=square.npy", "--expect",
                f"y={name}.npy"))


def bounds(suite, tool):
    """A symbolic dim with a stated range."""
    x = numpy.random.default_rng(4).standard_normal((9, 64)).astype("f4")
    numpy.save(tool.folder / "nine.npy", x)
    numpy.save(tool.folder / "nine_y.npy", chain(x.astype("f8"), 100).astype("f4"))
    model = tool.file("rows.onnx", models.long_chain(rows="n").SerializeToString())
    for device, target in (("host", checks.OWN_TARGET), ("ref", "ref")):
        for dim, planned in (("1..16", 16 * 256), ("1..8", 8 * 256),
                             ("0..1000000000", -1), ("", -1)):
            flag = ["--dim", f"n={dim}"] if dim else []
            suite.good(f"compile n={dim} for {target}", tool.run(
                "compile", model, "-o", "rows.bpx", "--target", target, *flag))
            suite.check(f"arena with n={dim} for {target}",
                        arena(tool, "rows.bpx") == planned, arena(tool, "rows.bpx"))
            suite.check(f"explain n={dim} for {target}",
                        ("at the greatest sizes" in tool.run("explain", "rows.bpx").stdout)
                        == (planned > 0))
            run = tool.run("run", "rows.bpx", "--device", device, "--input", "x=nine.npy",
                           "--expect", "y=nine_y.npy")
            if dim == "1..8":
                suite.refused(f"nine rows with n={dim} on {device}", run)
                suite.check("the refusal has the range", "1 to 8" in run.stderr, run.stderr)
            else:
                suite.good(f"nine rows with n={dim} on {device}", run)
    run = tool.run("compile", model, "-o", "z.bpx", "--dim", "m=1..8")
    suite.refused("range of an unknown dim", run)
    suite.check("unknown dim gets the known ones", "there is n" in run.stderr, run.stderr)
    for bad in ("n", "n=x", "n=8..1", "n=-1..4", "n=a..b", "n=1..", "=1..2", "n=1..2..3"):
        run = tool.run("compile", model, "-o", "z.bpx", "--dim", bad)
        suite.check(f"--dim {bad}", run.returncode == 1 and "MIN..MAX" in run.stderr, run.stderr)


ALL = jit, fat, reuse, bounds
