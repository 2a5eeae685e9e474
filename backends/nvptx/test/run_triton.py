#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs kernels that Triton compiled on the emulator of NVIDIA's GPUs, through the functions of the
CUDA driver, in each order of warps, and compares with NumPy (triton/cases.py). Then breaks single
instructions of them that wait for others; the emulator must say so.

The PTX is stored (triton/ptx, made by triton/generate.py). With --all it is also made anew, by a
Triton from PyPI in an environment of its own, with the kernels that are not stored.

Prints `N passed, N failed, N skipped` in the end.
"""
import argparse
import ctypes
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

HERE = pathlib.Path(__file__).resolve().parent / "triton"
sys.path.insert(0, str(HERE))
from cases import CASES  # noqa: E402  (lies in a folder of its own)

ROOT = pathlib.Path(__file__).resolve().parents[3]
EMULATOR = ROOT / "build/lib/backplane/plugins/libbp-cuda-emulator.so"
TRITON = "triton==3.9.0"
SCHEDULES = ("in-order", "reversed", "random")
COUNTS = {"passed": 0, "failed": 0, "skipped": 0}
SHARED_ATTRIBUTE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
MAJOR, MINOR = 75, 76  # attributes of a device
SWIZZLES = (None, 1, 2, 3)  # CUtensorMapSwizzle
OPTIONS = {"log": "0", "poison": "1", "races": "1"}  # of the emulator

# What the emulator must say of a kernel without an instruction that waits, or with another one.
BREAKS = (
    ("matmul_f16-80", r"\tcp\.async\.wait_group[^\n]*\n", "", "asynchronous copy was not waited"),
    ("matmul_f16-80", r"\tbar\.sync[^\n]*\n", "", "asynchronous copy was not waited"),
    ("matmul_f16-90", r"\twgmma\.wait_group[^\n]*\n", "", "was not written in this block"),
    ("matmul_f16-90", r"\twgmma\.fence[^\n]*\n", "", "no wgmma.fence"),
    ("matmul_f16-90", r"(wgmma\.wait_group\.sync\.aligned) \d+", r"\1 7",
     "was not written in this block"),
    ("matmul_wide-90", r"\tcp\.async\.wait_group[^\n]*\n", "", "asynchronous copy was not waited"),
    ("matmul_f16-90", r"\tfence\.proxy\.async[^\n]*\n", "", "no fence.proxy.async"),
    ("matmul_described-90", r"\tmbarrier\.try_wait[^\n]*\n\t@!complete[^\n]*\n", "",
     "asynchronous copy was not waited"),
    ("softmax-80", r"\tbar\.sync[^\n]*\n", "", "was not written in this block"),
    ("transpose-80", r"\tbar\.sync[^\n]*\n", "", "was not written in this block"),
)


# Kernels that the emulator refuses as they are: what it says, and the check without which they run
# and are right.
TOLD = {
    # Sums go to other registers in front of the wait for them; ptxas puts in a wait there (C7517).
    "matmul_f16_in_f16-90": ("never written is used", "poison"),
    # Two of four values of a conversion are padding, and go through the same registers.
    "casts-80": ("never written is stored", "poison"),
    # Warps write the same values to the same places.
    "reductions-80": ("(race)", "races"), "counted-80": ("(race)", "races"),
    "reductions-90": ("(race)", "races"), "counted-90": ("(race)", "races"),
}


class Failure(Exception):
    pass


class Device:
    """One device of the emulator, behind the functions of the CUDA driver."""

    def __init__(self, library, capability):
        self.cuda = ctypes.CDLL(str(library))
        self.buffers, self.modules = [], []
        self.call("cuInit", 0)
        self.ordinal = self.ordinal_of(capability)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.ordinal)
        self.call("cuCtxPushCurrent", context)

    def close(self):
        """Forgets a fault, so that what follows works."""
        self.find("cuDevicePrimaryCtxReset")(self.ordinal)
        for buffer in self.buffers:
            self.find("cuMemFree")(buffer)
        for module in self.modules:
            self.find("cuModuleUnload")(module)
        self.find("cuCtxPopCurrent")(None)
        self.find("cuDevicePrimaryCtxRelease")(self.ordinal)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def find(self, name):
        """The second version of a function, as cuda.h takes it, where there is one."""
        return getattr(self.cuda, f"{name}_v2", None) or getattr(self.cuda, name)

    def call(self, name, *arguments):
        if code := self.find(name)(*arguments):
            text = ctypes.create_string_buffer(4096)
            self.cuda.bp_cuda_emulator_last_error(text, ctypes.c_size_t(len(text)))
            raise Failure(f"{name} gives {code}: {text.value.decode()}")

    def ordinal_of(self, capability):
        value = ctypes.c_int()
        for ordinal in range(4):
            found = 0
            for attribute in (MAJOR, MINOR):
                self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, ordinal)
                found = found * 10 + value.value
            if found == capability:
                return ordinal
        raise Failure(f"the emulator has no device of capability {capability}")

    def put(self, values):
        made = ctypes.c_uint64()
        self.call("cuMemAlloc", ctypes.byref(made), ctypes.c_size_t(values.nbytes))
        self.call("cuMemcpyHtoD", made, values.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_size_t(values.nbytes))
        self.buffers.append(made)
        return made

    def get(self, buffer, like):
        made = numpy.empty_like(like, order="C")
        self.call("cuMemcpyDtoH", made.ctypes.data_as(ctypes.c_void_p), buffer,
                  ctypes.c_size_t(made.nbytes))
        return made

    def load(self, text, entry, shared):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), text.encode())
        self.modules.append(module)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        self.call("cuFuncSetAttribute", function, SHARED_ATTRIBUTE, shared)
        return function

    def tensor_map(self, buffer, values, how):
        """The map of a matrix, and the sizes and strides that Triton passes behind it."""
        memory = ctypes.create_string_buffer(128 + 64)
        aligned = -ctypes.addressof(memory) % 64
        there = (ctypes.c_char * 128).from_buffer(memory, aligned)
        rows, columns = values.shape
        sizes = (ctypes.c_uint64 * 2)(columns, rows)
        strides = (ctypes.c_uint64 * 1)(columns * values.itemsize)
        box = (ctypes.c_uint32 * 2)(*reversed(how["block_size"]))
        steps = (ctypes.c_uint32 * 2)(1, 1)
        self.call("cuTensorMapEncodeTiled", there, how["elem_type"], 2, buffer, sizes, strides,
                  box, steps, 0, SWIZZLES[how["swizzle"]], 0, 0)
        return [there, ctypes.c_int32(rows), ctypes.c_int32(columns), ctypes.c_int64(columns),
                ctypes.c_int64(1)]


def flat(device, case, how):
    """The parameters of a launch, and the buffers of the arguments that have one."""
    parameters, buffers, tensors = [], {}, iter(how.get("tensors", ()))
    for place, argument in enumerate(case.arguments):
        values = getattr(argument, "values", argument)
        if isinstance(argument, int):
            parameters.append(ctypes.c_int32(argument))
        elif isinstance(argument, float):
            parameters.append(ctypes.c_float(argument))
        else:
            buffers[place] = (device.put(values), values)
            parameters += ([buffers[place][0]] if values is argument else
                           device.tensor_map(buffers[place][0], values, next(tensors)))
    # Triton's own memory, which these kernels do not use.
    return parameters + [ctypes.c_uint64(0), ctypes.c_uint64(0)], buffers


def launch(device, text, how, case):
    """The values of the arguments that have expected ones."""
    function = device.load(text, how["entry"], how["shared"])
    parameters, buffers = flat(device, case, how)
    pointers = (ctypes.c_void_p * len(parameters))(*map(ctypes.addressof, parameters))
    grid = (*case.grid, 1, 1)[:3]
    device.call("cuLaunchKernel", function, *grid, how["threads"], 1, 1, how["shared"], None,
                pointers, None)
    device.call("cuCtxSynchronize")
    return {place: device.get(*buffers[place]) for place in case.expected}


def compare(got, case):
    for place, (expected, bound) in case.expected.items():
        value = got[place].astype("f8")
        error = numpy.abs(value - numpy.asarray(expected).astype("f8"))
        wrong = ~(error <= bound)  # NaNs are, too
        if wrong.any():
            first = numpy.unravel_index(numpy.argmax(wrong), wrong.shape)
            raise Failure(f"argument {place} at {first}: {value[first]}, expected "
                          f"{numpy.asarray(expected)[first]}, {wrong.sum()} of {wrong.size} are "
                          "wrong")


def attempt(text, how, capability, case, schedule, without=""):
    options = dict(OPTIONS, schedule=schedule)
    if without:
        options[without] = "0"
    with Device(EMULATOR, capability) as device:
        for name, value in options.items():
            device.cuda.bp_cuda_emulator_set(name.encode(), value.encode())
        compare(launch(device, text, how, case), case)


def check(what, text, how, capability, case, schedule):
    expected, without = TOLD.get(what, ("", ""))
    for said, option in {(expected, ""), ("", without)}:
        found = ""
        try:
            attempt(text, how, capability, case, schedule, option)
        except Failure as failure:
            found = str(failure)
        good = said in found if said else not found
        COUNTS["passed" if good else "failed"] += 1
        if not good:
            print(f"FAILED {what} {schedule}: {found or 'nothing'}, expected '{said}'")


def run_folder(folder, only):
    kernels = json.loads((folder / "kernels.json").read_text(encoding="utf-8"))["kernels"]
    for what, how in kernels.items():
        if only and not re.search(only, what):
            continue
        name, capability = what.rsplit("-", 1)
        text = (folder / f"{what}.ptx").read_text(encoding="utf-8")
        case = CASES[name]()
        for schedule in SCHEDULES:
            check(what, text, how, int(capability), case, schedule)


def run_broken(folder):
    kernels = json.loads((folder / "kernels.json").read_text(encoding="utf-8"))["kernels"]
    for what, pattern, instead, said in BREAKS:
        text = (folder / f"{what}.ptx").read_text(encoding="utf-8")
        broken, count = re.subn(pattern, instead, text)
        name, capability = what.rsplit("-", 1)
        try:
            attempt(broken, kernels[what], int(capability), CASES[name](), "in-order")
            found = "it runs and is right"
        except Failure as failure:
            found = str(failure)
        good = count > 0 and said in found
        COUNTS["passed" if good else "failed"] += 1
        if not good:
            print(f"FAILED {what}, {count} times '{pattern}': expected '{said}', found: {found}")


def generate(folder):
    """Kernels as Triton makes them now; why not otherwise."""
    python = folder / "venv/bin/python"
    for command in ([sys.executable, "-m", "venv", folder / "venv"],
                    [python, "-m", "pip", "install", "--quiet", TRITON, "numpy"],
                    [python, HERE / "generate.py", folder / "ptx", "--all"]):
        result = subprocess.run(command, text=True, capture_output=True, check=False)
        if result.returncode:
            return f"{command[0]} {command[-1]}: {result.stderr[-1000:]}"
    return ""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="make the kernels anew, too")
    parser.add_argument("--only", help="kernels that this expression finds, of --folder")
    parser.add_argument("--folder", type=pathlib.Path, default=HERE / "ptx",
                        help="where their PTX is")
    options = parser.parse_args()
    if not EMULATOR.exists():
        print("skipped: the CUDA emulator is not built, as cuda.h was not found\n"
              "0 passed, 0 failed, 1 skipped")
        return 0
    run_folder(options.folder, options.only)
    if not options.only:
        run_broken(options.folder)
    if options.all:
        with tempfile.TemporaryDirectory() as name:
            if why := generate(pathlib.Path(name)):
                print(f"skipped: Triton's compiler is not to be had: {why}")
                COUNTS["skipped"] += 1
            else:
                run_folder(pathlib.Path(name) / "ptx", None)
    print(f"{COUNTS['passed']} passed, {COUNTS['failed']} failed, {COUNTS['skipped']} skipped")
    return int(COUNTS["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
