# SPDX-License-Identifier: Apache-2.0
"""bp-nodes processes, and tests as the folders that they read."""
import json
import pathlib
import re
import select
import subprocess
import tempfile

import onnx
import onnx.numpy_helper

import values

SECONDS = 120
REFUSED, CRASHED = "NotSupported", "Crash"


def crash_record(ident, op, reason):
    """What bp-nodes would have written."""
    texts = ("dtype", "sizes", "got", "want", "input_hash", "output_hash")
    numbers = ("seed", "limit_used", "worst", "output", "limit", "rms", "bias",
               "elements", "compile_ms", "run_ms", "cpu_ms")
    return {"id": ident, "unit": ident, "layer": 3, "op": op, "data": "oracle",
            "tags": [], "status": CRASHED, "reason": reason, "ulps": [0] * 8,
            **dict.fromkeys(texts, ""), **dict.fromkeys(numbers, 0)}


class Runner:
    """A bp-nodes process for one device, started anew when it has ended."""

    def __init__(self, tool, device):
        self.command = [tool] + (["--device", device] if device != "oracle" else [])
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, text=True, bufsize=1,
                                        stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None

    def ask(self, folder, ident, op):
        """The record of a test; one of a crash when there is no answer."""
        if not self.process:
            self.start()
        try:
            print(folder, ident, op, sep="\t", file=self.process.stdin, flush=True)
            ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
            line = self.process.stdout.readline() if ready else ""
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        self.process.kill()
        code = self.process.wait()
        self.stop()
        return crash_record(ident, op,
                            f"bp-nodes gave no answer within {SECONDS} s"
                            if code == -9 else f"bp-nodes ended with {code}")


def unknown_input(reason, names):
    """The input that a refusal wants to be known, or None."""
    match = re.search(r"\('([^']*)'\) is computed from data", reason)
    match = match or re.search(r"\('([^']*)'\) are computed from data", reason)
    return match.group(1) if match and match.group(1) in names else None


def fix_input(model, name, value):
    """Makes an input of the model a constant."""
    model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    for index, given in enumerate(model.graph.input):
        if given.name == name:
            del model.graph.input[index]
            return


def write(folder, model, inputs, outputs):
    onnx.save(model, folder / "model.onnx")
    for start, given in (("in", inputs), ("out", outputs)):
        for index, value in enumerate(given):
            if values.is_storable(value):
                values.save(folder / f"{start}{index}.npy", value)


def run_set(runners, test, data):
    """One record per runner for one data set of a test.

    Where a model is refused because an input must be known when it is compiled
    (axes, shapes, bounds of slices), it runs once more with that input as a
    constant of the model, which is what exporters write."""
    model = onnx.ModelProto()
    model.CopyFrom(test.model)
    given, outputs = ([values.array(value) for value in part] for part in data)
    names = [value.name for value in model.graph.input if value.name]
    inputs = dict(zip(names, given))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        while True:
            write(folder, model, inputs.values(), outputs)
            records = [runners[0].ask(folder, test.ident, test.op)]
            unknown = (unknown_input(records[0]["reason"], inputs)
                       if records[0]["status"] == REFUSED else None)
            if not unknown:
                break
            fix_input(model, unknown, inputs.pop(unknown))
        for runner in runners[1:]:
            records.append(runner.ask(folder, test.ident, test.op))
    return records
