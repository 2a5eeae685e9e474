# SPDX-License-Identifier: Apache-2.0
"""The Vulkan driver: asked for when its devices are, gone, with and without subgroups."""
import re

import numpy

import checks
import models
from tool import has_vulkan


def laziness(suite, tool):
    """Drivers whose devices nobody asks for do not look for any."""
    def vulkan(*arguments):
        run = tool.run(*arguments, LD_DEBUG="libs", LD_DEBUG_OUTPUT=str(tool.folder / "ld"))
        asked = False
        for log in tool.folder.glob("ld.*"):
            asked |= "find library=libvulkan.so" in log.read_text(errors="replace")
            log.unlink()
        suite.check(f"{arguments[0]} under LD_DEBUG", run.returncode == 0, run.stderr[-500:])
        return asked
    if not has_vulkan(suite, tool):
        return
    suite.check("devices asks for Vulkan", vulkan("devices"))
    for file in ("good.bpx", "good.onnx"):
        for device in ("host", "ref,host"):
            suite.check(f"{file} on {device} does without Vulkan", not vulkan(
                "run", file, "--device", device, "--input", "x=x.npy"))


def unplugged(suite, tool):
    """A machine whose Vulkan driver was removed."""
    if not has_vulkan(suite, tool):
        return

    def run(file, device):
        return tool.run("run", file, "--device", device, "--input", "x=x.npy", "--expect",
                        "y=y.npy", "--why", VK_DRIVER_FILES="/nonexistent")
    made = tool.run("compile", "good.onnx", "-o", "both.bpx", "--target", f"vulkan,{checks.OWN_TARGET}")
    suite.good("compile for Vulkan without a driver", made)
    for file in ("both.bpx", "good.onnx"):
        alone, joined, listed = (run(file, device) for device in (
            "vulkan", "vulkan+host", "vulkan,host"))
        for result in (alone, joined):
            suite.refused(f"{file} without a driver of Vulkan", result)
            suite.check(f"{file}: why there is no device",
                        "mesa-vulkan-drivers" in result.stderr, result.stderr)
        suite.good(f"{file} goes on with the host", listed, "on host://cpu")
    listed = run("both.bpx", "vulkan,host")
    suite.check("--why says what Vulkan lacks", "mesa-vulkan-drivers" in listed.stdout,
                listed.stdout)


def rows(suite, tool):
    """A cluster of a subgroup for each of many rows, which is for those who ask for it."""
    model = tool.file("rows.onnx", models.sums(101, 333).SerializeToString())
    x = numpy.random.default_rng(3).standard_normal((101, 333)).astype("f4")
    numpy.save(tool.folder / "rx.npy", x)
    numpy.save(tool.folder / "ry.npy", x.mean(axis=1, dtype="f8").astype("f4"))
    for targets, chosen in (("vulkan+rows", "vulkan+rows"), ("vulkan,vulkan+rows", "vulkan")):
        made = tool.run("compile", model, "-o", "rows.bpx", "--no-fallback", "--target", targets)
        ran = tool.run("run", "rows.bpx", "--device", "vulkan", "--why", "--input", "x=rx.npy",
                       "--expect", "y=ry.npy", LP_NATIVE_VECTOR_WIDTH="256",
                       MESA_SHADER_CACHE_DISABLE="true")
        suite.check(f"rows by {targets}", made.returncode == 0 and ran.returncode == 0
                    and f"chosen: variant {chosen} on vulkan://" in ran.stdout,
                    made.stderr + ran.stdout + ran.stderr)


def subgroups(suite, tool):
    """The variant for subgroups where the device has them, and the same numbers without.

    Mesa's cache on disk does not tell widths of vectors apart.
    """
    if not has_vulkan(suite, tool) or "llvmpipe" not in tool.run("devices").stdout:
        suite.skipped += 1
        return
    model = tool.file("sums.onnx", models.sums().SerializeToString())
    x = numpy.random.default_rng(2).standard_normal((3, 5001)).astype("f4")
    numpy.save(tool.folder / "sx.npy", x)
    numpy.save(tool.folder / "sy.npy", x.mean(axis=1, dtype="f8").astype("f4"))
    made = tool.run("compile", model, "-o", "sums.bpx", "--no-fallback", "--target",
                    "vulkan,vulkan+subgroups")
    suite.good("compile with and without subgroups", made)
    passed = {128: ("vulkan", "vulkan+subgroups", "needs 'subgroup_size>=8' \\(the device has 4\\)"),
              256: ("vulkan+subgroups", "vulkan", "has rank 10, not the highest")}
    found = []
    for width, (chosen, other, reason) in passed.items():
        ran = tool.run("run", "sums.bpx", "--device", "vulkan", "--why", "--input", "x=sx.npy",
                       "--expect", "y=sy.npy", "--output-dir", f"sums{width}",
                       LP_NATIVE_VECTOR_WIDTH=str(width), MESA_SHADER_CACHE_DISABLE="true")
        suite.check(f"sums in subgroups of {width // 32}", ran.returncode == 0
                    and f"chosen: variant {chosen} on vulkan://" in ran.stdout
                    and re.search(rf"^passed over: {re.escape(other)} on .* {reason}$",
                                  ran.stdout, re.M), ran.stdout + ran.stderr)
        path = tool.folder / f"sums{width}" / "y.npy"
        found.append(path.read_bytes() if path.exists() else width)
    suite.check("subgroups of any size give the same bits", found[0] == found[1])
    rows(suite, tool)


ALL = laziness, unplugged, subgroups
