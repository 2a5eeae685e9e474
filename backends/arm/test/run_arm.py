#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The AArch64 runtime: cross-built here, run under qemu.

- The preset arm64 builds; its files are small, need nothing of the machine but
  the C library, the static worker not even that.
- Both workers greet, and name the target that fits the CPU that qemu plays.
- The checks that nothing leaks pass under qemu, which keeps memory of its own
  for every thread that ended.
- A model compiled for AArch64 computes what it computes on this machine, with
  NEON and with vectors of 128, 256 and 512 bits; the code has the instructions
  of its target. Casts of any bits are right.

Without the cross compiler or qemu everything counts as skipped.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/bp/test"))
import arm_models  # noqa: E402  pylint: disable=wrong-import-position
import checks  # noqa: E402  pylint: disable=wrong-import-position

BUILD = ROOT / "build-arm64"
SYSROOT = "/usr/aarch64-linux-gnu"
MOST_BYTES = 5_000_000
DYNAMIC = ["bin/bp-worker", "lib/libbackplane.so", "lib/backplane/plugins/libbp-host.so",
           "lib/backplane/plugins/libbp-ref.so", "lib/backplane/plugins/libbp-arm.so"]
STATIC = "bin/bp-worker-static"
C_LIBRARY = {"libc.so.6", "libm.so.6", "ld-linux-aarch64.so.1", "libbackplane.so"}
# CPU that qemu plays -> target that fits it.
MACHINES = {"cortex-a57": "aarch64", "cortex-a76": "aarch64+dotprod",
            "max,sve=off": "aarch64+bf16", "a64fx": "aarch64+sve",
            "max,sve-max-vq=1": "aarch64+sve+bf16", "max,sve-max-vq=2": "aarch64+sve+bf16",
            "max,sve-max-vq=4": "aarch64+sve+bf16"}
WIDE = {"max,sve=off": "aarch64", "max,sve-max-vq=1": "aarch64+sve",
        "max,sve-max-vq=2": "aarch64+sve", "max,sve-max-vq=4": "aarch64+sve"}
# What else these machines can run, where it is all that an artifact has: no CPU
# of qemu has i8mm without bf16, and bfmmla is taken by its name only.
LESS = {cpu: target + "+i8mm" for cpu, target in WIDE.items()}
MATRIX = {cpu: target + "+bfmmla" for cpu, target in WIDE.items()}
# Instructions that the code of a target has: multiply-adds of f32, of bytes of
# one sign, of signed and unsigned bytes, of bf16; those of i32 and f32 only
# where there are none of bytes and bf16.
NEON, SVE = r"\bfmla\s+v\d+\.4s", r"\bfml[as]\s+z\d+\.s|\bfmad\s+z"
NEON_MLA, SVE_MLA = r"\bmla\s+v\d+\.4s", r"\b(mla|mad)\s+z\d+\.s"
NEON_MATRIX = (NEON, r"\bsmmla\s+v\d+\.4s", r"\busmmla\s+v\d+\.4s")
SVE_MATRIX = (SVE, r"\bsmmla\s+z\d+\.s", r"\busmmla\s+z\d+\.s")
CODE = {"aarch64": (NEON, NEON_MLA, NEON_MLA, NEON),
        "aarch64+dotprod": (NEON, r"\bsdot\s+v\d+\.4s", NEON_MLA, NEON),
        "aarch64+i8mm": (*NEON_MATRIX, NEON),
        "aarch64+bf16": (*NEON_MATRIX, r"\bbfmlalb\s+v\d+\.4s"),
        "aarch64+bfmmla": (*NEON_MATRIX, r"\bbfmmla\s+v\d+\.4s"),
        "aarch64+sve": (SVE, r"\bsdot\s+z\d+\.s", SVE_MLA, SVE),
        "aarch64+sve+i8mm": (*SVE_MATRIX, SVE),
        "aarch64+sve+bf16": (*SVE_MATRIX, r"\bbfmlalb\s+z\d+\.s"),
        "aarch64+sve+bfmmla": (*SVE_MATRIX, r"\bbfmmla\s+z\d+\.s")}
NARROW = r"\b([su]{1,2}(dot|mmla)|bfm\w+|bfdot)\s"


def run(command, **environment):
    return subprocess.run([str(part) for part in command], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "BACKPLANE_CACHE_DIR": "-", **environment})


def needs(path):
    """(needed libraries, whether it has an interpreter) of an ELF file."""
    text = run(["aarch64-linux-gnu-readelf", "-dl", path]).stdout
    return set(re.findall(r"NEEDED.*\[(.*)\]", text)), "INTERP" in text


def check_files(suite):
    stripped = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in DYNAMIC + [STATIC]:
            small = pathlib.Path(folder) / "file"
            run(["aarch64-linux-gnu-strip", "-o", small, BUILD / name])
            size = small.stat().st_size
            stripped += size if name != STATIC else 0
            if name == STATIC:
                suite.check("the static worker is small", size < MOST_BYTES, size)
            libraries, interpreted = needs(BUILD / name)
            allowed = set() if name == STATIC else C_LIBRARY
            suite.check(f"{name} needs little", libraries <= allowed, libraries)
            if name == STATIC:
                suite.check("the static worker is static", not interpreted)
    suite.check("the runtime is small", stripped < MOST_BYTES, stripped)


def greeting(program, cpu):
    """What a worker says first; it ends because its input is empty."""
    command = ["qemu-aarch64", "-cpu", cpu, "-L", SYSROOT, BUILD / program]
    result = subprocess.run([str(part) for part in command], check=False,
                            stdin=subprocess.DEVNULL, capture_output=True)
    return result.stdout + result.stderr


def check_greetings(suite):
    for program in ("bin/bp-worker", STATIC):
        for cpu in ("cortex-a57", "max,sve-max-vq=2"):
            said = greeting(program, cpu)
            target = MACHINES[cpu].encode()
            fits = len(target).to_bytes(4, "little") + target + b"\0"  # in FlatBuffers
            suite.check(f"{program} on {cpu} names its target",
                        b"host" in said and fits in said, said)


def check_leaks(suite):
    for cpu in ("max,sve=off", "max,sve-max-vq=2"):
        result = run(["qemu-aarch64", "-cpu", cpu, "-L", SYSROOT, BUILD / "bin/bp-lint",
                      "host", "--depth", "standard", "--check", "L7/leak*"])
        good = result.returncode == 0 and re.search(r"^[1-9]\d* checks, 0 failed$",
                                                    result.stdout, re.MULTILINE)
        suite.check(f"nothing leaks on {cpu}", good, result.stdout)


def check_static(suite, options, folder):
    """The static worker runs bundles of cases. It has no plug-in files to check: of checks
    it says so, and they count as not supported, not as passed or failed."""
    bundle, results = folder / "k.bpb", folder / "k.bpr"
    emulator = ["qemu-aarch64", "-cpu", "max,sve-max-vq=2"]
    command = [*emulator, BUILD / STATIC, "--checks"]
    said = subprocess.run([str(part) for part in command], check=False,
                          stdin=subprocess.DEVNULL, capture_output=True)
    suite.check("the static worker takes no checks", said.returncode == 1
                and b"it has no plug-in files to check; use bp-worker" in said.stdout, said)
    made = run([options.bp, "bundle", "cases", "--target", "aarch64", "--filter",
                "L1/fill/*", "--filter", "L3/softmax/f32/*", "-o", bundle])
    suite.check("bundles checks and cases", made.returncode == 0, made.stdout)
    ran = run([*emulator, BUILD / STATIC, "run", bundle, "--device", "host", "-o", results])
    suite.check("the static worker runs a bundle", ran.returncode == 0
                and ", 0 of them failed" in ran.stdout, ran.stdout)
    judged = run([options.bp, "bundle", "judge", bundle, results])
    counts = {what: int(number) for number, what in
              re.findall(r"^(\d+) (\w+)$", judged.stdout, re.M)}
    suite.check("cases pass and checks are not supported", judged.returncode == 0
                and set(counts) == {"Pass", "NotSupported"} and min(counts.values()) > 0,
                judged.stdout)


def images(artifact):
    """The AArch64 images in an artifact."""
    data = artifact.read_bytes()
    starts = [match.start() for match in re.finditer(rb"\x7fELF\x02\x01", data)]
    return [data[a:b] for a, b in zip(starts, starts[1:] + [len(data)])]


def code_of(suite, options, model, target, folder):
    artifact = folder / "one.bpx"
    result = run([options.bp, "compile", model, "-o", artifact, "--target", target])
    suite.check(f"compiles {model.name} for {target}", result.returncode == 0, result.stdout)
    text = ""
    for image in images(artifact):
        (folder / "image.so").write_bytes(image)
        text += run(["llvm-objdump-22", "-d", "--mattr=+sve2,+dotprod,+i8mm,+bf16",
                     folder / "image.so"]).stdout
    return text


def check_code(suite, options, model, folder):
    equal, mixed, brain = (folder / f"{name}.onnx" for name in ("equal", "mixed", "brain"))
    arm_models.make_integer_model(equal, "ss", ())
    arm_models.make_integer_model(mixed, "us", ())
    arm_models.make_brain_model(brain, convolution=False)
    for target, patterns in CODE.items():
        for one, pattern in zip((model, equal, mixed, brain), patterns):
            text = code_of(suite, options, one, target, folder)
            suite.check(f"code of {one.name} for {target}", re.search(pattern, text), text)
            if "mmla" in pattern:
                wide = re.search(f"{NEON_MLA}|{SVE_MLA}", text)
                suite.check(f"no wide products of {one.name} for {target}", not wide, wide)
            narrow = re.search(NARROW, text)
            suite.check(f"narrow products of {one.name} for {target}",
                        bool(narrow) == bool(re.search("dot|mmla|bfmlal", pattern)), narrow)


def workers_file(folder):
    """A configuration with a worker for each machine; gives its environment."""
    rows = []
    for number, cpu in enumerate(MACHINES):
        rows.append(f'"m{number}": {{"launcher": ["qemu-aarch64", "-cpu", "{cpu}", "-L", '
                    f'"{SYSROOT}"], "worker": "{BUILD}/bin/bp-worker"}}')
    path = folder / "workers.json"
    path.write_text('{"workers": {' + ", ".join(rows) + "}}", encoding="utf-8")
    return {"BACKPLANE_WORKERS": str(path)}


def close(folder, other, tolerance):
    """Whether the arrays of two folders agree; 0: element by element."""
    names = [file.name for file in folder.glob("*.npy")]
    return names and all(numpy.allclose(numpy.load(folder / name), numpy.load(other / name),
                                        tolerance, tolerance / 10) for name in names)


def check_machines(suite, options, model, folder, random, tolerance, machines):
    """One artifact for all of `machines`, run on each; gives the folders of results."""
    artifact = folder / "fat.bpx"
    targets = ",".join(dict.fromkeys(machines.values()))
    result = run([options.bp, "compile", model, "-o", artifact, "--target", targets])
    suite.check(f"compiles {model.name} for {targets}", result.returncode == 0, result.stdout)
    environment, results = workers_file(folder), []
    for cpu, target in machines.items():
        there = folder / f"{target} on {cpu}"
        there.mkdir()
        worker = f"worker:m{list(MACHINES).index(cpu)}/host"
        result = run([options.bp, "run", artifact, "--device", worker, *random,
                      "--output-dir", there, "--why"], **environment)
        same = result.returncode == 0 and close(folder / "here", there, tolerance)
        suite.check(f"{target} on {cpu} computes {model.name} alike", same, result.stdout)
        suite.check(f"{cpu} takes {target}", f"variant {target} on" in result.stdout,
                    result.stdout)
        results.append(there)
    return results


def check_runs(suite, options, model, folder, tolerance, tables, *dims):
    """`tolerance`: 0 for models whose results have one right value. Gives the folders of
    the results of the first of `tables`."""
    (folder / "here").mkdir(parents=True)
    random = ["--random-inputs", "1", *(word for dim in dims for word in ("--dim", dim))]
    result = run([options.bp, "run", model, "--device", "ref", *random,
                  "--output-dir", folder / "here"])
    if not suite.check("runs here", result.returncode == 0, result.stdout):
        return []
    return [check_machines(suite, options, model, folder, random, tolerance, machines)
            for machines in tables][0]


def check_brain(suite, options, folder):
    """Products of bf16: bfmlal gives the bits of fmla, bfmmla others that are near. A
    machine without bf16 says what it lacks."""
    model = folder / "brain.onnx"
    arm_models.make_brain_model(model)
    results = check_runs(suite, options, model, folder / "brain", 1e-2, (MACHINES, MATRIX),
                         "n=2", "p=2", "q=5", "k=9")
    for there in results[1:]:
        suite.check(f"bits of bf16: {there.name}", close(results[0], there, 0))
    result = run([options.bp, "run", folder / "brain/fat.bpx", "--device", "worker:m1/host",
                  "--random-inputs", "1", "--no-fallback", "--why"],
                 **workers_file(folder / "brain"))
    suite.check("a variant is refused for a feature", result.returncode != 0 and
                re.search(r"aarch64\+bfmmla.*bf16", result.stdout), result.stdout)


def check_casts(suite, options, folder):
    """Floats of any bits to unsigned integers: a signalling NaN is 0, too."""
    for worker in ("arm64-neon", "arm64"):
        result = run([options.bp, "conformance", "--device", f"worker:{worker}/host", "--depth",
                      "standard", "--filter", "L3/cast/f*/to-u*/bits-*", "--out",
                      folder / worker])
        suite.check(f"casts of any bits on {worker}", result.returncode == 0, result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bp", default=str(ROOT / "build/bin/bp"))
    parser.add_argument("--all", action="store_true", help="accepted, no effect")
    options = parser.parse_args()
    absent = [tool for tool in ("qemu-aarch64", "aarch64-linux-gnu-g++") if not shutil.which(tool)]
    if absent:
        print(f"{' and '.join(absent)} absent\n0 passed, 0 failed, 1 skipped")
        return 0
    suite = checks.Checks()
    built = run([ROOT / "tools/build"], BP_PRESET="arm64")
    if suite.check("builds", built.returncode == 0, built.stdout):
        check_files(suite)
        check_greetings(suite)
        check_leaks(suite)
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            model = folder / "model.onnx"
            arm_models.make_model(model)
            check_code(suite, options, model, folder)
            check_runs(suite, options, model, folder / "floats", 1e-4, (MACHINES,), "n=1")
            integers = folder / "bytes.onnx"
            arm_models.make_integer_model(integers)
            check_runs(suite, options, integers, folder / "integers", 0,
                       (MACHINES, LESS), "n=2", "p=2", "q=5", "k=9")
            check_brain(suite, options, folder)
            check_casts(suite, options, folder)
            check_static(suite, options, folder)
    print(f"{suite.passed} passed, {suite.failed} failed, 0 skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
