#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fuzzes each reader of untrusted bytes; each target is a test.

Each target first reads what was found before, tools/fuzz/findings/TARGET.
Without --all every target runs for two seconds in the build of the preset
`asan`, from the corpus that the repository keeps. With --all it builds the
preset `fuzz`, runs every target for --seconds, those with the least time so
far first, and then says how much of each reader's lines its kept corpus reaches;
a reader below the floor fails.

A failing input stays in BUILD/crashes/TARGET; what a target has learnt stays
in BUILD/corpus/TARGET and its processor time so far in BUILD/state, and the
next run goes on from there. --keep minimises the corpora into
tools/fuzz/corpus, notes the time beside them, and writes
docs/reference/fuzzing.md.
"""
import argparse
import concurrent.futures
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import onnx_seeds
import readers
import seed_files

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LLVM = pathlib.Path("/usr/lib/llvm-22/bin")
LARGEST_INPUT = 16384
LIMITS = ["-timeout=20", "-rss_limit_mb=2560", "-malloc_limit_mb=2048",
          f"-max_len={LARGEST_INPUT}"]
SHORT_SECONDS = 2
KEPT_STATE = HERE / "corpus" / "state.json"
KEPT_BYTES = 96_000  # of one target's packed corpus


def targets():
    text = (HERE / "CMakeLists.txt").read_text("utf-8")
    return re.findall(r"^\s*bp_add_fuzzer\((\w+)", text, re.MULTILINE)


def run(command, **environment):
    """The ended process, with its output and its processor time in `seconds`."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen([str(word) for word in command], cwd=ROOT,
                                   stdout=output, stderr=subprocess.STDOUT,
                                   env={"LLVM_PROFILE_FILE": "/dev/null",
                                        **os.environ, **environment})
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        process.stdout = output.read()
    process.seconds = used.ru_utime + used.ru_stime
    return process


# ---- Seeds and corpora ----

def unpack(target, folder):
    """The kept corpus of a target."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = HERE / "corpus" / f"{target}.tar.xz"
    if not archive.exists():
        return
    with tarfile.open(archive) as packed:
        for member in filter(tarfile.TarInfo.isfile, packed):
            name = pathlib.PurePath(member.name).name
            (folder / name).write_bytes(packed.extractfile(member).read())


def prepare(build):
    """Builds the targets and writes the seeds; gives the failure's text."""
    preset = build.name.removeprefix("build-")
    result = run(["tools/build", "fuzzers"], BP_PRESET=preset)
    if result.returncode == 0:
        result = run([build / "bin" / "fuzz_seeds", build / "seeds"])
    if result.returncode:
        return result.stdout
    onnx_seeds.write(build / "seeds" / "onnx")
    seed_files.write(build / "seeds")
    for target in targets():
        unpack(target, build / "corpus" / target)
    return ""


def pack(target, build):
    """Minimises a corpus to what the seeds do not reach and keeps its smallest
    inputs."""
    with tempfile.TemporaryDirectory() as temporary:
        merged = pathlib.Path(temporary) / "merged"
        shutil.copytree(build / "seeds" / target, merged)
        seeds = {file.name for file in merged.iterdir()}
        execute(target, build, "-set_cover_merge=1", *LIMITS, merged, build / "corpus" / target)
        files = sorted((file for file in merged.iterdir() if file.name not in seeds),
                       key=lambda f: (f.stat().st_size, f.name))
        path = HERE / "corpus" / f"{target}.tar.xz"
        while len(packed := archive_of(files)) > KEPT_BYTES:
            files = files[:-max(len(files) // 32, 1)]
        path.write_bytes(packed)


def archive_of(files):
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w:xz", preset=9) as archive:
        for file in files:
            info = tarfile.TarInfo(file.name)
            info.size = file.stat().st_size
            archive.addfile(info, io.BytesIO(file.read_bytes()))
    return memory.getvalue()


# ---- Runs ----

def execute(target, build, *arguments, profile="/dev/null"):
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as temporary:
        return run([build / "bin" / f"fuzz_{target}", *arguments],
                   UBSAN_OPTIONS="print_stacktrace=1", TMPDIR=temporary,
                   LLVM_PROFILE_FILE=str(profile))


def state_of(target, build):
    """Of the build, which goes on from what the repository keeps."""
    path = build / "state" / f"{target}.json"
    if path.exists():
        return json.loads(path.read_text("utf-8"))
    kept = json.loads(KEPT_STATE.read_text("utf-8")) if KEPT_STATE.exists() else {}
    return kept.get(target, {"seconds": 0, "runs": 0})


def note(target, build, result):
    """Adds a slice to the state that the next ones go on from."""
    state = state_of(target, build)
    runs = re.search(r"number_of_executed_units:\s*(\d+)", result.stdout)
    state["seconds"] = round(state["seconds"] + result.seconds, 1)
    state["runs"] += int(runs[1]) if runs else 0
    (build / "state").mkdir(parents=True, exist_ok=True)
    (build / "state" / f"{target}.json").write_text(json.dumps(state), "utf-8")


def fuzz(target, build, seconds):
    """Runs one target; true when nothing was found."""
    corpus, seeds, crashes = (build / kind / target
                              for kind in ("corpus", "seeds", "crashes"))
    for folder in (corpus, seeds, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    words = HERE / f"{target}.dict"
    found = sorted((HERE / "findings" / target).glob("*"))
    result = execute(target, build, *LIMITS, *found) if found else None
    if not result or result.returncode == 0:
        result = execute(target, build, f"-max_total_time={seconds}",
                         f"-artifact_prefix={crashes}/", "-print_final_stats=1",
                         *([f"-dict={words}"] if words.exists() else []),
                         *LIMITS, corpus, seeds)
    note(target, build, result)
    if result.returncode:
        progress = re.compile(r"^#\d+\t.*\n", re.MULTILINE)
        print(f"FAILED fuzz {target}: the input is in {crashes}\n"
              f"{progress.sub('', result.stdout)[-6000:]}", flush=True)
    return result.returncode == 0


# ---- Coverage ----

def functions(target, build):
    """(name, lines, lines missed) of each function of each source that the
    target is there for, by the kept corpus and the seeds."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        corpus = folder / "corpus"
        unpack(target, corpus)
        execute(target, build, "-runs=0", *LIMITS, corpus,
                build / "seeds" / target, profile=folder / "%m.profraw")
        profile = folder / "merged"
        run([LLVM / "llvm-profdata", "merge", "-o", profile,
             *folder.glob("*.profraw")])
        result = run([LLVM / "llvm-cov", "report", "-show-functions",
                      f"-Xdemangler={LLVM}/llvm-cxxfilt",
                      f"-instr-profile={profile}",
                      build / "bin" / f"fuzz_{target}",
                      *[ROOT / name for name in readers.of(target)]])
    found, name = {}, ""
    for line in result.stdout.splitlines():
        if line.startswith("File '"):
            name = str(pathlib.Path(line.split("'")[1]).relative_to(ROOT))
            found[name] = []
        row = re.match(r"(\S.*?)\s+\d+\s+\d+\s+[\d.]+%\s+(\d+)\s+(\d+)", line)
        if row and row[1] != "TOTAL":
            found[name].append((row[1], int(row[2]), int(row[3])))
    return found


def coverage(names, build):
    """Prints a line for each reader; gives its rows and how many are low."""
    rows, low = [], 0
    for target in names:
        found = functions(target, build)
        for name in readers.of(target):
            all_of = found.get(name, [])
            for part in readers.unused(name, [row[0] for row in all_of]):
                print(f"FAILED readers.py: {name} has no function {part!r}")
                low += 1
            rows_of = [row for row in all_of if not readers.leaves_out(name, row[0])]
            lines = sum(row[1] for row in rows_of)
            reached = lines - sum(row[2] for row in rows_of)
            percent = 100 * reached / max(lines, 1)
            floor, reason = readers.floor(name)
            good = percent >= floor
            low += not good
            print(f"{'' if good else 'FAILED '}{target:10} {percent:5.1f} % of "
                  f"{lines:4} lines  {name}{'  ' + reason if reason else ''}",
                  flush=True)
            rows.append((target, name, percent, lines, reason))
    return rows, low


PAGE = """# Fuzzing

<!-- Written by tools/fuzz/run_fuzz.py --keep; do not edit. -->

Every reader of bytes that a stranger may have written has a libFuzzer target
([SECURITY.md](../../SECURITY.md)); `tools/fuzz/run_fuzz.py --help` says how to
run them. The corpora in `tools/fuzz/corpus` are minimised. What fuzzing has
found stands in `tools/fuzz/findings` and is read again by every run.

## Time so far

| target | processor minutes | inputs tried |
|---|---|---|
"""


def write_page(rows, build):
    lines = []
    for target in targets():
        state = state_of(target, build)
        lines.append(f"| {target} | {state['seconds'] / 60:.0f} | "
                     f"{state['runs']:,} |")
    lines += ["", "## Lines of each reader that the corpora reach", "",
              "| target | reader | lines | reached |", "|---|---|---|---|"]
    for target, name, percent, count, reason in rows:
        lines.append(f"| {target} | `{name}` | {count} | {percent:.1f} %"
                     f"{': ' + reason if reason else ''} |")
    (ROOT / "docs/reference/fuzzing.md").write_text(
        PAGE + "\n".join(lines) + "\n", "utf-8")


# ---- Main ----

def short(names):
    build = ROOT / "build-asan"
    failure = prepare(build)
    if failure:
        return failure, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return "", sum(pool.map(lambda name: fuzz(name, build, SHORT_SECONDS),
                                names))


def long(names, options):
    build = ROOT / "build-fuzz"
    failure = prepare(build)
    if failure:
        return failure, 0
    if "onnx" in names:
        onnx_seeds.write_many(build / "seeds" / "onnx", LARGEST_INPUT)
    names = sorted(names, key=lambda name: state_of(name, build)["seconds"])
    passed = sum(fuzz(name, build, options.seconds) for name in names
                 if options.seconds)
    if not options.seconds:
        passed = len(names)
    if options.keep:
        for name in names:
            pack(name, build)
    rows, low = coverage(sorted(names), build)
    if options.keep:
        kept = {name: state_of(name, build) for name in targets()}
        KEPT_STATE.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
        write_page(rows, build)
    return "", passed - low


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="the long form")
    parser.add_argument("--seconds", type=int, default=120,
                        help="per target; 0: coverage only")
    parser.add_argument("--only", action="append", choices=targets(),
                        help="run one target; may be repeated")
    parser.add_argument("--keep", action="store_true",
                        help="with --all: write corpora and page")
    options = parser.parse_args()
    names = options.only or targets()
    failure, passed = long(names, options) if options.all else short(names)
    if failure:
        print(f"FAILED build of the fuzzers\n{failure[-6000:]}")
    passed = max(passed, 0)
    print(f"{passed} passed, {len(names) - passed} failed, 0 skipped")
    return 0 if passed == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
