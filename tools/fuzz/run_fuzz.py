#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fuzzes each reader of untrusted bytes; each target is a test.

Works with --all only: it builds the preset `fuzz` and runs every target for
--seconds. A failing input stays in build-fuzz/crashes/TARGET; what a target
has learnt stays in build-fuzz/corpus/TARGET and the next run starts from it.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build-fuzz"
LIMITS = ["-timeout=20", "-rss_limit_mb=2560", "-malloc_limit_mb=2048",
          "-max_len=8192"]


def targets():
    text = (ROOT / "tools" / "fuzz" / "CMakeLists.txt").read_text("utf-8")
    return re.findall(r"^bp_add_fuzzer\((\w+)", text, re.MULTILINE)


def run(command, **environment):
    return subprocess.run(command, cwd=ROOT, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, env={**os.environ, **environment})


def write_onnx_models(folder):
    """The models that the tests of the tool use, as seeds."""
    sys.path.insert(0, str(ROOT / "tools" / "bp" / "test"))
    import models  # pylint: disable=import-outside-toplevel
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in (("good", models.good()), ("simple", models.simple()),
                       ("chain", models.long_chain(6, True, 4)),
                       ("control", models.with_control())):
        (folder / f"{name}.onnx").write_bytes(made.SerializeToString())


def prepare():
    """Builds the targets and writes the seeds; gives the failure's text."""
    result = run(["tools/build", "fuzzers"], BP_PRESET="fuzz")
    if result.returncode == 0:
        result = run([BUILD / "bin" / "fuzz_seeds", BUILD / "seeds"])
    if result.returncode:
        return result.stdout
    write_onnx_models(BUILD / "seeds" / "onnx")
    return ""


def fuzz(target, seconds):
    """Runs one target; true when nothing was found."""
    corpus, seeds, crashes = (BUILD / kind / target
                              for kind in ("corpus", "seeds", "crashes"))
    for folder in (corpus, seeds, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as temporary:
        result = run([BUILD / "bin" / f"fuzz_{target}",
                      f"-max_total_time={seconds}",
                      f"-artifact_prefix={crashes}/", *LIMITS, corpus, seeds],
                     UBSAN_OPTIONS="print_stacktrace=1", TMPDIR=temporary)
    if result.returncode:
        progress = re.compile(r"^#\d+\t.*\n", re.MULTILINE)
        print(f"FAILED fuzz {target}: the input is in {crashes}\n"
              f"{progress.sub('', result.stdout)[-6000:]}", flush=True)
    return result.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="do the work")
    parser.add_argument("--seconds", type=int, default=120, help="per target")
    parser.add_argument("--only", action="append", choices=targets(),
                        help="run one target; may be repeated")
    options = parser.parse_args()
    names = options.only or targets()
    if not options.all:
        print(f"0 passed, 0 failed, {len(names)} skipped")
        return 0
    failure = prepare()
    if failure:
        print(f"FAILED build of the fuzzers\n{failure[-6000:]}")
        print(f"0 passed, {len(names)} failed, 0 skipped")
        return 1
    passed = sum(fuzz(name, options.seconds) for name in names)
    print(f"{passed} passed, {len(names) - passed} failed, 0 skipped")
    return 0 if passed == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
