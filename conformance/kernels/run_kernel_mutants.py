#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks registered kernels on purpose: layer 8 of the suite must find each at smoke depth.

The sets are the examples (examples/kernels), those of test/, and that of oneDNN where it is built. A
mutant is a change of their source (kernel_mutants.py). One that layer 8 cannot find stands there in
EQUIVALENT or MISSED with the reason. The sets as they are must pass, at the seed of the mutants and
at others. Without --all every sixteenth mutant, at one seed.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from kernel_mutants import (ACME, ANYWHERE, EQUIVALENT, IR, LINEAR, MISSED, ONEDNN, SMALL,
                            VULKAN)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEED, OTHER_SEEDS = 11, (1, 2, 3, 4)
SOURCES = {"acme-kernels": ROOT / "examples/kernels/acme.c",
           "acme-anywhere": ROOT / "examples/kernels/anywhere.c",
           "ir": ROOT / "conformance/kernels/test/ir.c",
           "small": ROOT / "conformance/kernels/test/small.c"}
FLAGS = {"acme-kernels": ["gcc", "-std=c99", "-O3", "-mavx2", "-mfma", "-fno-math-errno",
                          "-fno-trapping-math"],
         "acme-anywhere": ["gcc", "-std=c99"],
         "ir": ["gcc", "-std=c99"],
         "small": ["gcc", "-std=c99", "-O2", "-ffp-contract=off"]}
DEVICES = {"acme-vulkan": "vulkan"}  # of sets that are not for the host


def changed(path, old, new):
    """The text of a source, changed in one place."""
    source = path.read_text(encoding="utf-8")
    if old is None:
        return source
    if source.count(old) != 1:
        raise ValueError(f"{old!r} is {source.count(old)} times in {path}")
    return source.replace(old, new)


def command(*arguments):
    made = subprocess.run([str(argument) for argument in arguments], cwd=ROOT / "build", text=True,
                          capture_output=True, check=False)
    if made.returncode:
        raise ValueError(made.stderr)


def manifest_of(folder, name):
    manifest = folder / f"{name}.bp.json"
    manifest.write_text(json.dumps({
        "format": 1, "name": name, "version": "1.0.0", "vendor": "test",
        "abi": {"major": 0, "minor_low": 4}, "kernels": "libset.so"}), encoding="utf-8")
    return manifest


def build(folder, name, old=None, new=None):
    """A set of one source, changed in one place; gives its manifest."""
    folder.mkdir()
    path = folder / f"set{SOURCES[name].suffix}"
    path.write_text(changed(SOURCES[name], old, new), encoding="utf-8")
    command(*FLAGS[name], "-fPIC", "-shared", "-fvisibility=hidden", "-w",
            f"-I{ROOT}/sdk/include", path, "-o", folder / "libset.so", "-lm")
    return manifest_of(folder, name)


class OneDnn:
    """The set of oneDNN as it was built; a mutant has one of its files compiled again."""
    source = ROOT / "backends/x86/onednn"
    built = ROOT / "build/backends/x86/onednn/libbp-onednn.so"

    def __init__(self):
        database = json.loads((ROOT / "build/compile_commands.json").read_text(encoding="utf-8"))
        self.compiles = {path.name: [word for word in shlex.split(entry["command"])
                                     if not word.endswith("ccache")]
                         for entry in database
                         if (path := pathlib.Path(entry["file"])).parent == self.source}
        tag = re.search(r"RUNPATH.*\[(.*)\]", subprocess.run(
            ["readelf", "-d", self.built], text=True, capture_output=True, check=True).stdout)
        self.runpath = tag.group(1) if tag else ""

    def build(self, folder, old=None, new=None, file="Work.cpp"):
        """Gives the manifest of the set."""
        folder.mkdir()
        objects = {name: words[words.index("-o") + 1] for name, words in self.compiles.items()}
        words = self.compiles[file]
        path = folder / file
        path.write_text(changed(self.source / file, old, new), encoding="utf-8")
        objects[file] = folder / "changed.o"
        at = words.index("-o")
        command(*words[:at], "-O1", "-w", f"-I{self.source}", "-o", objects[file], "-c", path)
        command(words[0], "-shared", *objects.values(), "-o", folder / "libset.so",
                f"-Wl,-rpath,{self.runpath}", "-Wl,-z,nodelete")
        return manifest_of(folder, "onednn")


def build_shader(folder, old=None, new=None):
    """The set for Vulkan with its shader changed in one place; gives its manifest."""
    folder.mkdir()
    source = ROOT / "examples/kernels/vulkan"
    shader = folder / "attention.comp"
    shader.write_text(changed(source / shader.name, old, new), encoding="utf-8")
    for size in (32, 64):
        command("glslangValidator", "-V", "--quiet", "--target-env", "vulkan1.2", f"-DD={size}",
                "--vn", f"attention{size}", "-o", folder / f"attention{size}.h", shader)
    command("gcc", "-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-w",
            f"-I{ROOT}/sdk/include", f"-I{folder}", source / "vulkan.c", "-o", folder / "libset.so")
    return manifest_of(folder, "acme-vulkan")


def has_vulkan():
    """Whether the shader can be made and run here."""
    listed = subprocess.run([ROOT / "build/bin/bp", "devices", "--json"], text=True,
                            capture_output=True, check=False)
    usable = any(device["plugin"] == "vulkan" and device["usable"]
                 for device in json.loads(listed.stdout))
    return usable and shutil.which("glslangValidator") is not None


def judge(folder, manifest, seed, kernel="*", device="host"):
    """Ids and statuses of the bad cases of layer 8, and how many cases ran; or what was said."""
    out = folder / f"seed{seed}"
    result = subprocess.run(
        [ROOT / "build/bin/bp", "conformance", "--device", device, "--filter", f"L8/{kernel}",
         "--seed", str(seed), "--timeout", "20", "--out", out], text=True, capture_output=True,
        check=False,
        env=dict(os.environ, BACKPLANE_CACHE_DIR="-", BACKPLANE_ADD_PLUGIN_FILES=str(manifest)))
    if "report in" not in result.stdout:
        return None, result.stdout[-500:] + result.stderr[-500:]
    records = [json.loads(line)
               for line in (out / "records.jsonl").read_text(encoding="utf-8").splitlines()]
    bad = [f"{record['id']} {record['status']}" for record in records
           if record["status"] not in ("Pass", "QualityWarning")]
    return bad, len(records)


class Suite:
    def __init__(self, folder, onednn):
        self.folder = folder
        self.onednn = onednn
        self.passed = self.failed = 0

    def check(self, name, condition, evidence):
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {name}: {str(evidence)[:600]}", flush=True)

    def build(self, name, folder, old=None, new=None, file="Work.cpp"):
        if name == "onednn":
            return self.onednn.build(folder, old, new, file)
        if name == "acme-vulkan":
            return build_shader(folder, old, new)
        return build(folder, name, old, new)

    def unbroken(self, name, seed):
        folder = self.folder / f"{name}-{seed}"
        one = name == "onednn"  # one kernel: all of them take minutes
        manifest = self.build(name, folder)
        bad, count = judge(folder, manifest, seed, f"{name}.{LINEAR}/*" if one else "*",
                           DEVICES.get(name, "host"))
        self.check(f"{name} at seed {seed}", bad == [] and count > (50 if one else 100),
                   (bad, count))

    def mutant(self, name, change):
        what, old, new, file, kernel = change
        folder = self.folder / what
        manifest = self.build(name, folder, old, new, file)
        bad, count = judge(folder, manifest, SEED, f"{name}.{kernel}/*", DEVICES.get(name, "host"))
        if what in EQUIVALENT or what in MISSED:
            self.check(f"{what} is not found", bad == [], (bad, count))
        else:
            self.check(f"{what} dies", bad, f"{count} cases, none of them bad")
            if bad:
                print(f"{what}: {len(bad)} of {count} cases bad, the first is {bad[0]}", flush=True)


def jobs_of(suite, sets, options):
    """What there is to do, as functions."""
    seeds = (SEED, *(OTHER_SEEDS if options.all else ()))
    for name, mutants in sets.items():
        if not options.mutant:
            for seed in seeds:
                yield suite.unbroken, name, seed
        for change in mutants if options.all or options.mutant else mutants[::16]:
            if not options.mutant or re.fullmatch(options.mutant, change[0]):
                yield suite.mutant, name, change


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="all mutants, and more seeds")
    parser.add_argument("--mutant", help="those only whose name this expression matches")
    options = parser.parse_args()
    sets = {name: [(*change, None, "*") for change in changes]
            for name, changes in (("small", SMALL), ("acme-anywhere", ANYWHERE), ("ir", IR))}
    if platform.machine() == "x86_64":
        sets["acme-kernels"] = [(*change, None, "*") for change in ACME]
    if has_vulkan():
        sets["acme-vulkan"] = [(*change, None, "*") for change in VULKAN]
    onednn = None
    if OneDnn.built.exists():
        sets["onednn"], onednn = ONEDNN, OneDnn()
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(pathlib.Path(folder), onednn)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for job in [pool.submit(*each) for each in jobs_of(suite, sets, options)]:
                job.result()
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
