#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles to cubins: with ptxas, where this machine has it, and with programs in its place that
are absent, fail, write nothing or never end. Prints `N passed, N failed, N skipped` in the end."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[3]
BP = ROOT / "build/bin/bp"
COUNTS = {"passed": 0, "failed": 0, "skipped": 0}
FAKE = """#!/bin/sh
[ "$1" = --version ] && {{ echo "tools, release 1.0, V1.0.{number}"; exit 0; }}
{body}
"""


def check(what, good, said):
    COUNTS["passed" if good else "failed"] += 1
    if not good:
        print(f"FAILED {what}\n{said[-3000:]}")


def run(*command, **environment):
    given = {key: value for key, value in os.environ.items() if key != "BACKPLANE_PTXAS"}
    result = subprocess.run([BP, *map(str, command)], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False, timeout=120,
                            env={**given, "BACKPLANE_CACHE_DIR": "-", **environment})
    return result.returncode, result.stdout


def save_model(path):
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["c"]), helper.make_node("Relu", ["c"], ["y"])],
        "product", [tensor("a", TensorProto.FLOAT, (70, 40)),
                    tensor("b", TensorProto.FLOAT, (40, 50))],
        [tensor("y", TensorProto.FLOAT, (70, 50))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                ir_version=8), path)


def compiled(folder, target="nvptx-sm90a-cubin", out="out.bpx", **environment):
    return run("compile", folder / "model.onnx", "-o", folder / out, "--target", target,
               "--no-fallback", **environment)


def fake(folder, number, body):
    """A program in the place of ptxas."""
    path = folder / f"fake{number}"
    path.write_text(FAKE.format(number=number, body=body), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def check_absent(folder):
    code, said = compiled(folder, PATH="/nonexistent")
    check("ptxas is absent", code == 1 and "PATH has none" in said and "BACKPLANE_PTXAS" in said,
          said)
    code, said = compiled(folder, "nvptx-sm90a", PATH="/nonexistent")
    check("PTX needs no ptxas", code == 0, said)
    for file, reason in ((folder / "none", "none"), ("/etc/passwd", "no program")):
        code, said = compiled(folder, BACKPLANE_PTXAS=str(file))
        check(f"ptxas is {file}", code == 1 and reason in said, said)
    open_to_all = fake(folder, 9, "exit 0")
    os.chmod(open_to_all, 0o777)
    code, said = compiled(folder, BACKPLANE_PTXAS=open_to_all)
    check("ptxas that everybody may write", code == 1 and "write" in said, said)


def check_broken(folder):
    for number, (body, reason) in enumerate((
            ("echo 'line 3; error: no such instruction'; exit 255", "no such instruction"),
            ("exit 0", "has written no cubin"),
            ("kill -9 $$", "ended by signal 9"))):
        code, said = compiled(folder, BACKPLANE_PTXAS=fake(folder, number, body))
        check(f"ptxas: {body}", code == 1 and reason in said, said)
    endless = fake(folder, 5, "sleep 60")
    code, said = run("compile", folder / "model.onnx", "-o", folder / "out.bpx", "--target",
                     "nvptx-sm90a-cubin", "--max-time", "8", BACKPLANE_PTXAS=endless)
    check("ptxas that never ends", code == 1, said)
    code, said = compiled(folder, BACKPLANE_PTXAS=fake(folder, 6, "exit 0"),
                          TMPDIR="/nonexistent")
    check("no temporary folder", code == 1 and "set TMPDIR" in said, said)


def check_cache(folder):
    """Another program is another key."""
    cache = {"BACKPLANE_CACHE_DIR": str(folder / "cache")}
    body = 'for last; do :; done; cat /bin/true > "$last"; echo %s >> ' + str(folder / "calls")
    for name in ("one", "one", "two"):
        code, said = compiled(folder, BACKPLANE_PTXAS=fake(folder, name, body % name), **cache)
        check(f"made by {name}", code == 0, said)
    calls = (folder / "calls").read_text(encoding="utf-8").split()
    check("a program's hash is part of the key", calls == ["one", "two"], str(calls))


def check_real(folder, ptxas):
    for target in ("sm80", "sm90", "sm90a", "sm100", "sm120"):
        code, said = compiled(folder, f"nvptx-{target}-cubin", f"{target}.bpx",
                              BACKPLANE_PTXAS=ptxas)
        check(f"cubin of {target}", code == 0, said)
    code, said = run("inspect", folder / "sm90a.bpx")
    check("figures in the artifact", re.search(
        r"ptxas V[\d.]+\n +matmul_\w+: \d+ registers, 0 bytes of spill stores, "
        r"0 of spill loads, [1-9]\d* bytes of shared memory\n", said), said)
    code, said = run("run", folder / "sm90a.bpx", "--device", "cuda://emu?sm=90",
                     "--random-inputs", "1")
    check("the emulator takes no cubin", code == 1 and "the device takes 'ptx'" in said, said)
    code, said = compiled(folder, "nvptx-sm90a,nvptx-sm90a-cubin", "both.bpx",
                          BACKPLANE_PTXAS=ptxas)
    code, said = run("run", folder / "both.bpx", "--device", "cuda://emu?sm=90",
                     "--random-inputs", "1", "--why")
    check("the PTX beside a cubin runs", code == 0 and "chosen: variant nvptx-sm90a on" in said,
          said)


def main():
    cache = (ROOT / "build/CMakeCache.txt").read_text(encoding="utf-8")
    ptxas = re.search(r"^BP_PTXAS:FILEPATH=(/.*)$", cache, re.MULTILINE)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        save_model(folder / "model.onnx")
        check_absent(folder)
        check_broken(folder)
        check_cache(folder)
        if ptxas:
            check_real(folder, ptxas[1])
        else:
            print("skipped: there is no ptxas on this machine")
            COUNTS["skipped"] += 1
    print(f"{COUNTS['passed']} passed, {COUNTS['failed']} failed, {COUNTS['skipped']} skipped")
    return int(COUNTS["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
