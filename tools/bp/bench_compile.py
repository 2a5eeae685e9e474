#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how long compiling takes, in seconds, for models of growing size: one
line for each shape of graph. The last columns are how far the time of the largest
is from proportional to the one before it (1.0 is proportional), the most memory
that compiling the largest took, and the seconds to load and run it once.

    .venv/bin/python tools/bp/bench_compile.py --sizes 2000,8000,32000 --only chain
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import bench_shapes

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Between, so that the memory of this process, which makes the models, is not
# taken for that of the command.
RUN = """import resource, subprocess, sys
code = subprocess.run(sys.argv[2:], stdout=sys.stderr).returncode
with open(sys.argv[1], "w") as to:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=to)
sys.exit(code != 0)"""


class Tool:
    """The command bp with a cache of its own."""

    def __init__(self, path, folder, limit):
        self.path, self.folder, self.limit = path, pathlib.Path(folder), limit

    def seconds(self, *words):
        """The time of a command and its memory in MB; not a number if it fails."""
        memory, start = self.folder / "memory", time.monotonic()
        command = [sys.executable, "-c", RUN, memory, "timeout", str(self.limit), self.path]
        result = subprocess.run([*command, *words], check=False, text=True, capture_output=True,
                                env={**os.environ, "BACKPLANE_CACHE_DIR": f"{self.folder}/cache"})
        took = time.monotonic() - start
        if result.returncode:
            text = result.stderr.strip()[:300]
            print(text or f"no end after {self.limit} s", file=sys.stderr)
            return float("nan"), float("nan")
        return took, int(memory.read_text()) / 1024

    def compile(self, made):
        (self.folder / "m.onnx").write_bytes(made.SerializeToString())
        return self.seconds("compile", self.folder / "m.onnx", "-o", self.folder / "m.bpx")

    def run(self):
        return self.seconds("run", self.folder / "m.bpx", "--random-inputs", "1")[0]


def measure(options, shape, sizes):
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(options.bp, folder, options.limit)
        tool.compile(shape(100))  # its kernels, into the cache
        results = [tool.compile(shape(size)) for size in sizes]
        times = [time for time, _ in results]
        growth = times[-1] / times[-2] * sizes[-2] / sizes[-1] if len(sizes) > 1 else 1
        ran = tool.run() if times[-1] == times[-1] else float("nan")
    print(f"{shape.__name__:18}" + "".join(f"{time:9.2f}" for time in times)
          + f"{growth:9.2f}{results[-1][1]:8.0f}{ran:9.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bp", default=str(ROOT / "build/bin/bp"))
    parser.add_argument("--sizes", default="1000,4000")
    parser.add_argument("--limit", type=float, default=300, help="seconds for a command")
    parser.add_argument("--only", action="append",
                        choices=[s.__name__ for s in bench_shapes.ALL])
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    print(f"{'shape':18}" + "".join(f"{size:>9}" for size in sizes)
          + f"{'growth':>9}{'MB':>8}{'run':>9}")
    for shape in bench_shapes.ALL:
        if not options.only or shape.__name__ in options.only:
            measure(options, shape, sizes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
