#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the CUDA driver and compiled models on the emulator of NVIDIA's GPUs: the
checks of its plug-in, a part of the conformance suite in each order of warps, the
choice of a target, what is refused and how, counters of matrix products and attention. With --all the whole smoke depth on
two architectures.

Prints `N passed, N failed, N skipped` in the end.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper

import attention_ops

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = ROOT / "build" / "bin"
EMULATOR = ROOT / "build/lib/backplane/plugins/libbp-cuda-emulator.so"
COUNTS = {"passed": 0, "failed": 0, "skipped": 0}

# The kernels with work-groups, barriers, shuffles and sequences: a wrong order
# of warps would show.
TOGETHER = ("L3/matmul/*", "L3/conv/*", "L3/reduce/f32/*", "L3/top_k/*",
            "L3/cumulative/*", "L3/softmax/*", "L2/*")

# What factors that are rounded may change.
ROUNDED = ("L3/matmul/f32/*", "L3/conv/f32/*", "L3/conv_transpose/f32/*", "L4/epilogue/f32/*",
           "L3/numerics/f32/*")

# By which a user lets factors of f32 be rounded.
TF32 = "precision=tf32"

# What is said of a URI that cannot be opened.
REFUSALS = {
    "cuda://emu?sm=70": "no device has sm=70",
    "cuda://emu?sm=x": 'option sm is "x", which is no compute capability',
    "cuda://emu?speed=2": 'knows no option "speed"; it has sm=NUMBER, precision=tf32 and '
                          'library=PATH',
    "cuda://emu?precision=f16": 'option precision is "f16", which is none; there is tf32',
    "cuda://0?library=libcuda.so": "which is no absolute path",
    "cuda://0?library=/dev/null": "which is no file",
    "cuda://emux?sm=90": "does not exist",
}


def run(*command, **environment):
    return subprocess.run([str(part) for part in command], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          env=dict(os.environ, BACKPLANE_CACHE_DIR="-", **environment))


def check(what, good, said):
    COUNTS["passed" if good else "failed"] += 1
    if not good:
        print(f"FAILED {what}\n{said[-3000:]}")


def check_plugin():
    """Each check of the driver's plug-in is a test."""
    result = run(BIN / "bp-lint", "cuda://emu?sm=80", "--depth", "full", "--check", "*")
    found = re.search(r"^(\d+) checks, (\d+) failed$", result.stdout, re.MULTILINE)
    failed = int(found.group(2)) if found else 1
    COUNTS["passed"] += int(found.group(1)) - failed if found else 0
    COUNTS["failed"] += failed
    if failed:
        print(f"FAILED bp-lint\n{result.stdout[-3000:]}")


def conform(device, arguments, schedule="in-order"):
    """Each case of a run is a test."""
    with tempfile.TemporaryDirectory() as folder:
        result = run(BIN / "bp", "conformance", "--device", device, "--out", folder,
                     *arguments, "--env", "BP_CUDA_EMULATOR",
                     BP_CUDA_EMULATOR=f"schedule={schedule}")
        records = pathlib.Path(folder) / "records.jsonl"
        if "report in" not in result.stdout or not records.exists():
            return check(f"conformance on {device}", False, result.stdout)
        for line in records.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record["status"] == "NotSupported":
                COUNTS["skipped"] += 1
            else:
                check(f"{device} {schedule} {record['id']}",
                      record["status"] in ("Pass", "QualityWarning"),
                      str(record.get("reason")))
    return None


def save_product(folder):
    """A matrix product, its inputs and its result, exact in any order."""
    draw = numpy.random.default_rng(1)
    a = draw.integers(-8, 9, (70, 40)).astype("f")
    b = draw.integers(-8, 9, (40, 50)).astype("f")
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["c"])], "product",
        [tensor("a", TensorProto.FLOAT, a.shape), tensor("b", TensorProto.FLOAT, b.shape)],
        [tensor("c", TensorProto.FLOAT, (70, 50))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                ir_version=8), folder / "product.onnx")
    for name, value in (("a", a), ("b", b), ("c", a @ b)):
        numpy.save(folder / f"{name}.npy", value)


def run_product(folder):
    """The best target for each architecture, and its result."""
    inputs = [word for name in "ab" for word in ("--input", f"{name}={folder}/{name}.npy")]
    for sm, target in ((80, "nvptx-sm80"), (90, "nvptx-sm90a"), (100, "nvptx-sm100"),
                       (120, "nvptx-sm120"), (f"80&{TF32}", "nvptx-sm80-tf32"),
                       (f"90&{TF32}", "nvptx-sm90a-tf32")):
        result = run(BIN / "bp", "run", folder / "product.onnx", "--device",
                     f"cuda://emu?sm={sm}", *inputs, "--expect", f"c={folder}/c.npy",
                     "--rtol", "0", "--why")
        check(f"product on sm={sm}", result.returncode == 0 and
              f"chosen: variant {target} on" in result.stdout, result.stdout)


def save_large(folder, name, dtype, side):
    named = [helper.make_tensor_value_info(key, dtype, [side, side]) for key in "abc"]
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["c"])], name,
                              named[:2], named[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)],
                                ir_version=10), folder / f"{name}.onnx")


# Narrow products that take several blocks of k: their dtypes, their op, sizes.
NARROW = {"copied": ("e", "MatMul", (160, 208, 96)), "read": ("e", "MatMul", (61, 203, 77)),
          "bytes": ("b", "MatMulInteger", (64, 256, 48))}


def save_narrow(folder, name):
    """A product whose sums are exact in its dtype, its inputs and its result."""
    code, op, (rows, depth, columns) = NARROW[name]
    draw = numpy.random.default_rng(2)
    a = draw.integers(-1, 2, (rows, depth)).astype(code)
    b = draw.integers(-1, 2, (depth, columns)).astype(code)
    c = (a.astype("i4") @ b.astype("i4")).astype("i4" if code == "b" else code)
    tensor = helper.make_tensor_value_info
    kind = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        [helper.make_node(op, ["a", "b"], ["c"])], name,
        [tensor("a", kind(a.dtype), a.shape), tensor("b", kind(b.dtype), b.shape)],
        [tensor("c", kind(c.dtype), c.shape)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                ir_version=8), folder / f"{name}.onnx")
    for part, value in (("a", a), ("b", b), ("c", c)):
        numpy.save(folder / f"{name}-{part}.npy", value)


def check_narrow(folder):
    """Blocks are copied ahead and read by all warps, in whatever order these run."""
    for name in NARROW:
        save_narrow(folder, name)
        for schedule in ("in-order", "reversed", "random,seed=1", "random,seed=2"):
            result = run(BIN / "bp", "run", folder / f"{name}.onnx", "--device",
                         "cuda://emu?sm=80", "--input", f"a={folder}/{name}-a.npy",
                         "--input", f"b={folder}/{name}-b.npy",
                         "--expect", f"c={folder}/{name}-c.npy", "--rtol", "0", "--atol", "0",
                         BP_CUDA_EMULATOR=f"schedule={schedule}")
            check(f"{name} {schedule}", result.returncode == 0, result.stdout)
        found, said = count(folder, name, "cuda://emu?sm=80")
        check(f"{name} in matrix instructions", found.get("matrix_percent", 0) == 100, said)


# Attentions: their dtype, rows, keys, sizes of heads, whether rows see earlier keys alone.
ATTENTIONS = {"attention-plain": ("f", 37, 70, 24, 17, True),
              "attention-halves": ("e", 130, 100, 64, 72, True),
              "attention-large": ("e", 256, 256, 64, 64, False)}


def save_attention(folder, name):
    """An attention in the ops that models spell it in, its inputs and its result."""
    code, rows, keys, depth, columns, causal = ATTENTIONS[name]
    draw = numpy.random.default_rng(3)
    q, k, v = (draw.uniform(-1, 1, (2, *size)).astype(code) for size in
               ((rows, depth), (depth, keys), (keys, columns)))
    seen = numpy.tril(numpy.ones((rows, keys), bool)) if causal else numpy.ones((rows, keys), bool)
    mask = numpy.where(seen, 0, -numpy.inf).astype(code)
    scores = q.astype("d") @ k.astype("d") + mask
    powers = numpy.exp(scores - scores.max(-1, keepdims=True))
    y = (powers / powers.sum(-1, keepdims=True) @ v.astype("d")).astype(code)
    kind = helper.np_dtype_to_tensor_dtype(q.dtype)
    nodes = [helper.make_node("MatMul", ["q", "k"], ["x"]),
             helper.make_node("Softmax", ["masked" if causal else "x"], ["w"], axis=-1),
             helper.make_node("MatMul", ["w", "v"], ["y"])]
    tensors = {"q": q, "k": k, "v": v, "y": y}
    if causal:
        nodes.insert(1, helper.make_node("Add", ["x", "m"], ["masked"]))
        tensors["m"] = mask
    infos = {part: helper.make_tensor_value_info(part, kind, value.shape)
             for part, value in tensors.items()}
    result = [infos.pop("y")]
    onnx.save(helper.make_model(helper.make_graph(nodes, name, list(infos.values()), result),
                                opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              folder / f"{name}.onnx")
    for part, value in tensors.items():
        numpy.save(folder / f"{name}-{part}.npy", value)
    return list(infos), y


def check_attention(folder):
    """One kernel, right in whatever order warps run, that stores the result and nothing else."""
    for name in ATTENTIONS:
        names, y = save_attention(folder, name)
        inputs = [word for part in names
                  for word in ("--input", f"{part}={folder}/{name}-{part}.npy")]
        limit = "1e-5" if y.dtype == numpy.float32 else "4e-3"
        for schedule in ("in-order", "reversed", "random,seed=1"):
            result = run(BIN / "bp", "run", folder / f"{name}.onnx", "--device",
                         "cuda://emu?sm=80", *inputs, "--expect", f"y={folder}/{name}-y.npy",
                         "--rtol", limit, "--atol", limit,
                         BP_CUDA_EMULATOR=f"schedule={schedule}")
            check(f"{name} {schedule}", result.returncode == 0, result.stdout)
        found, said = count(folder, name, "cuda://emu?sm=80")
        counters = found.get("counters", {})
        check(f"{name} in one launch", counters.get("launches") == 1, said)
        check(f"{name} stores the result", counters.get("global_store_bytes") == y.nbytes, said)
    check("attention in matrix instructions", counters.get("matrix_multiply_adds") ==
          2 * 2 * 256 * 256 * 64, said)
    check("coalesced attention", found.get("coalesced_percent", 0) >= 90, said)


def check_attention_ops(folder):
    """ONNX Attention: right in whatever order warps run, halves in matrix instructions."""
    for name, case in attention_ops.CASES.items():
        words = attention_ops.save(folder, name)
        for sm, schedule in ((80, "in-order"), (80, "random,seed=1"), (90, "reversed")):
            result = run(BIN / "bp", "run", folder / f"{name}.onnx", "--device",
                         f"cuda://emu?sm={sm}", *words, BP_CUDA_EMULATOR=f"schedule={schedule}")
            check(f"{name} on sm={sm} {schedule}", result.returncode == 0, result.stdout)
        for sm in (80, 90):
            found, said = count(folder, name, f"cuda://emu?sm={sm}")
            share = found.get("matrix_percent", -1)
            check(f"{name} in matrix instructions on sm={sm}",
                  share >= case.matrix if case.matrix else share == 0, said)
            check(f"conflicts of banks in {name} on sm={sm}",
                  found.get("conflict_percent", 100) <= case.conflicts, said)
            check(f"coalesced accesses in {name} on sm={sm}",
                  found.get("coalesced_percent", 0) >= case.coalesced, said)
            products = found.get("counters", {}).get("matrix_multiply_adds", -1)
            check(f"products of {name} on sm={sm}",
                  not case.products or 0 < products <= case.products, said)


def check_name(folder):
    """A report names the device that its URI means, not the driver's first."""
    for device, name in (("cuda://emu?sm=90", "emulated sm_90"), ("cuda://emu", "emulated sm_80")):
        out = folder / name.replace(" ", "-")
        result = run(BIN / "bp", "conformance", "--device", device, "--filter", "L2/add-f32/run/*",
                     "--out", out)
        facts = json.loads((out / "run.json").read_text(encoding="utf-8")) if out.exists() else {}
        check(f"{device} in a report", facts.get("device_name") == name, result.stdout)


def check_reason(folder):
    """Where no matrix instruction is used, `bp explain` says why."""
    result = run(BIN / "bp", "explain", folder / "op-f32.onnx", "--device", "cuda://emu?sm=80")
    check("why attention of f32 has no matrix instructions",
          "attention without matrix instructions: the unit has no instruction" in result.stdout,
          result.stdout)
    result = run(BIN / "bp", "explain", folder / "op-f16.onnx", "--device", "cuda://emu?sm=80")
    check("attention of f16 needs no reason", result.returncode == 0 and
          "attention without" not in result.stdout, result.stdout)


def count(folder, name, device):
    """The counters of one call, and the shares made of them."""
    result = run(BIN / "bp", "bench", folder / f"{name}.onnx", "--device", device,
                 "--counters", "--json")
    try:
        return json.loads(result.stdout), result.stdout
    except json.JSONDecodeError:
        return {}, result.stdout


def check_counters(folder):
    """The fast path is one: products in matrix instructions, memory used well."""
    save_large(folder, "large", TensorProto.BFLOAT16, 1024)
    save_large(folder, "singles", TensorProto.FLOAT, 512)
    for name, sm in (("large", 80), ("large", 90), ("singles", f"80&{TF32}")):
        found, said = count(folder, name, f"cuda://emu?sm={sm}")
        check(f"{name} in matrix instructions on sm={sm}",
              found.get("matrix_percent", 0) >= 90, said)
        check(f"conflicts of banks on sm={sm}", found.get("conflict_percent", 100) < 5, said)
        check(f"coalesced accesses on sm={sm}", found.get("coalesced_percent", 0) >= 90, said)
    found, said = count(folder, "product", "cuda://emu?sm=80")
    check("f32 in no matrix instruction", found.get("matrix_percent", 100) == 0, said)
    result = run(BIN / "bp", "bench", folder / "product.onnx", "--counters")
    check("counters of the host", result.returncode != 0 and
          "'host' has no counters" in result.stdout, result.stdout)


def check_bare_name(folder):
    """Without a GPU the driver's name alone is no device; with one it is that."""
    result = run(BIN / "bp", "run", folder / "product.onnx", "--device", "cuda",
                 "--random-inputs", "1", "--why")
    refused = result.returncode != 0 and "cuda://emu is emulated" in result.stdout
    check("cuda alone", refused or "emulated" not in result.stdout, result.stdout)


def check_refusals(folder):
    for uri, reason in REFUSALS.items():
        result = run(BIN / "bp", "run", folder / "product.onnx", "--device", uri,
                     "--random-inputs", "1")
        check(uri, result.returncode != 0 and reason in result.stdout, result.stdout)
    result = run(BIN / "bp", "bench", folder / "product.onnx", "--device", "cuda://emu?sm=80")
    check("bp bench", result.returncode != 0 and "emulat" in result.stdout and
          "--counters" in result.stdout, result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="the nightly form")
    options = parser.parse_args()
    if not EMULATOR.exists():
        print("skipped: the CUDA emulator is not built, as cuda.h was not found\n"
              "0 passed, 0 failed, 1 skipped")
        return 0
    check_plugin()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        save_product(folder)
        run_product(folder)
        check_bare_name(folder)
        check_refusals(folder)
        check_counters(folder)
        check_narrow(folder)
        check_attention(folder)
        check_attention_ops(folder)
        check_name(folder)
        check_reason(folder)
    part = [] if options.all else ["--shard", "1/10"]
    for device in ("cuda://emu?sm=80", "cuda://emu?sm=90")[:2 if options.all else 1]:
        conform(device, part)
    filters = [word for glob in TOGETHER for word in ("--filter", glob)]
    for schedule in ("reversed", "random"):
        conform("cuda://emu?sm=90", filters + ([] if options.all else ["--shard", "1/4"]),
                schedule)
    rounded = [word for glob in ROUNDED for word in ("--filter", glob)]
    conform(f"cuda://emu?sm=80&{TF32}", rounded, "random")
    print(f"{COUNTS['passed']} passed, {COUNTS['failed']} failed, {COUNTS['skipped']} skipped")
    return int(COUNTS["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
