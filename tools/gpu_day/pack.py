# SPDX-License-Identifier: Apache-2.0
"""Makes the folder that travels: programs, plug-in, cases, models and their inputs."""
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys

import models

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build"
TARGETS = ("nvptx-sm80", "nvptx-sm90", "nvptx-sm90a", "nvptx-sm100", "nvptx-sm120")
SET = BUILD / "backends/nvptx/cublaslt/libbp-cublaslt.so"
MOST_BYTES = 64 << 20
# The layers that run on kernels, as deep as smoke; the quick form is some lines of it.
CASES = ("L2/*", "L3/*", "L4/*", "L6/*")
QUICK_CASES = ("L3/matmul/f32/*", "L3/softmax/f32/*", "L3/cast/f32/to-i8/*", "L4/epilogue/f32/conv-*")
# As many of cuBLASLt's kernels as there is room for: each dtype, weights as they are and transposed.
LIBRARY = ("L8/cublaslt.linear_f16/*/with-b/*", "L8/cublaslt.linear_t_bf16/*/with-b/*",
           "L8/cublaslt.linear_t_f32/*/with-b+with-r/*")


def environment():
    """With the kernels of cuBLASLt, where they are built."""
    plugins = {"BACKPLANE_ADD_PLUGIN_FILES": str(SET.with_name("cublaslt.bp.json"))}
    return {**os.environ, **(plugins if SET.exists() else {}), "BACKPLANE_CACHE_DIR": "-"}


def call(*command):
    result = subprocess.run([str(part) for part in command], text=True, check=False,
                            capture_output=True, env=environment())
    if result.returncode:
        sys.exit(f"gpu-day: {pathlib.Path(command[0]).name} {command[1]} failed:\n"
                 f"{(result.stderr or result.stdout)[-2000:]}")


def copy_programs(folder):
    """What runs there: no compiler, and a plug-in of a driver alone."""
    for name in ("bin", "lib/backplane/plugins"):
        (folder / name).mkdir(parents=True)
    for name in ("bp", "bp-worker"):
        shutil.copy2(BUILD / "bin" / name, folder / "bin")
    shutil.copy2(BUILD / "lib/libbackplane.so", folder / "lib")
    plugins = BUILD / "lib/backplane/plugins"
    for name in ("libbp-cuda.so", "libbp-cuda-emulator.so"):
        if not (plugins / name).exists():
            sys.exit(f"gpu-day: {name} is not built, as cuda.h was not found; see backends/nvptx/README.md")
        shutil.copy2(plugins / name, folder / "lib/backplane/plugins")
    manifest = json.loads((plugins / "nvptx.bp.json").read_text(encoding="utf-8"))
    del manifest["compiler"]
    (folder / "lib/backplane/plugins/nvptx.bp.json").write_text(json.dumps(manifest),
                                                                encoding="utf-8")


def compile_model(model, folder):
    folder.mkdir(parents=True)
    models.save(model, folder / "model.onnx")
    suffix = f"-{model.precision}" if model.precision else ""
    call(BUILD / "bin/bp", "compile", folder / "model.onnx", "-o", folder / "model.bpx",
         "--target", ",".join(name + suffix for name in TARGETS),
         "--kernel", getattr(model, "kernel", "") or "-")


def plan_of(model, place):
    fields = dataclasses.asdict(dataclasses.replace(model, nodes=[]))
    return {**{key: fields[key] for key in fields if key != "nodes"}, "folder": place}


def bundle(path, device, target, globs):
    filters = [word for glob in globs for word in ("--filter", glob)]
    call(BUILD / "bin/bp", "bundle", "cases", "--target", target, "--device", device, *filters,
         "-o", path)


def make(folder, device, target, quick):
    if folder.exists():
        sys.exit(f"gpu-day: {folder} is there already; name another folder or remove it")
    copy_programs(folder)
    for name in ("there.py", "peers.py"):
        shutil.copy2(HERE / name, folder)
    plan = {"device": device, "target": target, "quick": quick, "goldens": [], "timed": []}
    for kind, listed in (("goldens", models.goldens()), ("timed", models.timed(quick))):
        for model in listed:
            if getattr(model, "kernel", "") and not SET.exists():
                continue
            place = f"{kind}/{model.name.replace(' ', '-')}"
            compile_model(model, folder / place)
            if kind == "goldens":
                models.draw(model, folder / place)
            plan[kind].append(plan_of(model, place))
    bundle(folder / "cases.bpb", device, target, QUICK_CASES if quick else CASES)
    if SET.exists():
        shutil.copy2(SET, folder / "lib")
        bundle(folder / "library.bpb", device, target, LIBRARY[:1] if quick else LIBRARY)
    (folder / "plan.json").write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size / (1 << 20):.1f} MiB")
    if size > MOST_BYTES:
        sys.exit(f"gpu-day: the folder has {size >> 20} MiB, more than the {MOST_BYTES >> 20} that "
                 "a machine without a network takes")
