#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random RNN, GRU and LSTM nodes on some devices against NumPy in f64.

Each seed gives one node: its direction, layout, functions, sizes, and which of
the optional inputs it has. The reference is written from the text of the ONNX
ops, apart from the importer: `ref` runs the graph that the importer makes.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SECONDS = 120
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
FUNCTIONS = {
    "Tanh": numpy.tanh,
    "Sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
    "Relu": lambda x: numpy.maximum(x, 0),
    "Softsign": lambda x: x / (1 + numpy.abs(x)),
    "HardSigmoid": lambda x: numpy.clip(0.2 * x + 0.5, 0, 1),
}


class Node:
    """One node, its inputs by name, and what it computes."""

    def __init__(self, seed):
        self.random = random = numpy.random.default_rng(seed)
        self.kind = self.pick(list(GATES))
        self.direction = self.pick(["forward", "reverse", "bidirectional", "bidirectional"])
        self.count = 2 if self.direction == "bidirectional" else 1
        # More than 64 steps, or an open number of them, is a loop.
        self.steps = int(self.pick([1, 2, 5, 9, 70]))
        self.batch, self.size, self.hidden = (int(self.pick([1, 2, 3, 8, 17])) for _ in range(3))
        self.open = [name for name in ("steps", "batch") if random.random() < 0.3]
        self.layout = int(random.random() < 0.25)
        self.clip = self.pick([None, None, 0.75])
        self.flag = int(random.random() < 0.3)
        self.functions = DEFAULTS[self.kind] * self.count
        if random.random() < 0.4:
            self.functions = [self.pick(list(FUNCTIONS)) for _ in self.functions]
        self.inputs = {}
        self.draw_inputs()

    def pick(self, choices):
        return choices[self.random.integers(len(choices))]

    def draw_inputs(self):
        rows, states = GATES[self.kind] * self.hidden, [self.count, self.batch, self.hidden]
        shapes = {"X": [self.steps, self.batch, self.size], "W": [self.count, rows, self.size],
                  "R": [self.count, rows, self.hidden], "B": [self.count, 2 * rows],
                  "sequence_lens": [self.batch], "initial_h": states}
        if self.kind == "LSTM":
            shapes |= {"initial_c": states, "P": [self.count, 3 * self.hidden]}
        for name, shape in shapes.items():
            if name not in ("X", "W", "R") and self.random.random() < 0.5:
                continue
            value = self.random.uniform(-1, 1, shape).astype("f4")
            if name == "sequence_lens":
                value = self.random.integers(0, self.steps + 1, shape).astype("i4")
            self.inputs[name] = value
        self.names = [name if name in self.inputs else "" for name in shapes]

    # ---- the model ----

    def model(self):
        attributes = {"direction": self.direction, "hidden_size": self.hidden,
                      "layout": self.layout, "activations": self.functions}
        if self.clip:
            attributes["clip"] = self.clip
        if self.kind != "RNN":
            attributes["linear_before_reset" if self.kind == "GRU" else "input_forget"] = self.flag
        outputs = ["Y", "Y_h"] + ["Y_c"] * (self.kind == "LSTM")
        weights = [numpy_helper.from_array(self.inputs[name], name)
                   for name in ("W", "R", "B", "P") if name in self.inputs]
        graph = helper.make_graph(
            [helper.make_node(self.kind, self.names, outputs, **attributes)], "recurrent",
            [self.declared(name) for name in self.fed()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])

    def fed(self):
        return [name for name in self.inputs if name not in ("W", "R", "B", "P")]

    def value(self, name):
        """An input in the order of the node's layout."""
        value = self.inputs[name]
        return numpy.ascontiguousarray(
            value.swapaxes(0, 1) if self.layout and value.ndim == 3 else value)

    def declared(self, name):
        axes = {"X": ["steps", "batch", None], "sequence_lens": ["batch"]}.get(
            name, [None, "batch", None])
        if self.layout and len(axes) == 3:
            axes[:2] = axes[1::-1]
        shape = [axis if axis in self.open else size
                 for axis, size in zip(axes, self.value(name).shape)]
        dtype = TensorProto.INT32 if name == "sequence_lens" else TensorProto.FLOAT
        return helper.make_tensor_value_info(name, dtype, shape)

    # ---- the reference ----

    def outputs(self):
        """Outputs by name, in f64."""
        runs = [self.run(i, self.direction == "reverse" or i == 1) for i in range(self.count)]
        y, h, c = (numpy.stack(part, axis) for part, axis in zip(zip(*runs), (1, 0, 0)))
        if self.layout:
            y, h, c = y.transpose(2, 0, 1, 3), h.swapaxes(0, 1), c.swapaxes(0, 1)
        return {"Y": y, "Y_h": h} | ({"Y_c": c} if self.kind == "LSTM" else {})

    def run(self, index, reverse):
        def own(name, shape):
            value = self.inputs.get(name)
            return numpy.zeros(shape) if value is None else value[index].astype("f8")
        rows = GATES[self.kind] * self.hidden
        weights = [own("W", None), own("R", None), *numpy.split(own("B", 2 * rows), 2)]
        peepholes = numpy.split(own("P", 3 * self.hidden), 3)
        functions = self.functions[index * len(DEFAULTS[self.kind]):]
        h, c = (own(name, (self.batch, self.hidden)) for name in ("initial_h", "initial_c"))
        y = numpy.zeros((self.steps, self.batch, self.hidden))
        lengths = self.inputs.get("sequence_lens", numpy.full(self.batch, self.steps))
        step = getattr(self, self.kind.lower())
        for time in reversed(range(self.steps)) if reverse else range(self.steps):
            inside = (time < lengths)[:, None]
            next_h, next_c = step(self.inputs["X"][time].astype("f8"), h, c, weights, peepholes,
                                  functions)
            h, c = numpy.where(inside, next_h, h), numpy.where(inside, next_c, c)
            y[time] = numpy.where(inside, next_h, 0)
        return y, h, c

    def gate(self, function, x):
        limit = self.clip or numpy.inf
        return FUNCTIONS[function](numpy.clip(x, -limit, limit))

    def rnn(self, x, h, c, weights, _, functions):
        w, r, wb, rb = weights
        return self.gate(functions[0], x @ w.T + h @ r.T + wb + rb), c

    def gru(self, x, h, c, weights, _, functions):
        w, r, wb, rb = (numpy.split(part, 3) for part in weights)
        z, reset = (self.gate(functions[0], x @ w[i].T + h @ r[i].T + wb[i] + rb[i])
                    for i in (0, 1))
        inner = reset * (h @ r[2].T + rb[2]) if self.flag else (reset * h) @ r[2].T + rb[2]
        return (1 - z) * self.gate(functions[1], x @ w[2].T + inner + wb[2]) + z * h, c

    def lstm(self, x, h, c, weights, peepholes, functions):
        w, r, wb, rb = weights
        i, o, f, g = numpy.split(x @ w.T + h @ r.T + wb + rb, 4, axis=1)
        i = self.gate(functions[0], i + peepholes[0] * c)
        f = 1 - i if self.flag else self.gate(functions[0], f + peepholes[2] * c)
        c = f * c + i * self.gate(functions[1], g)
        o = self.gate(functions[0], o + peepholes[1] * c)
        return o * FUNCTIONS[functions[2]](c), c

    def __str__(self):
        return (f"{self.kind} {self.direction} {self.steps}x{self.batch}x{self.size} to "
                f"{self.hidden}, {' '.join(self.functions)}, inputs {' '.join(self.inputs)}, "
                f"layout {self.layout}, clip {self.clip}, flag {self.flag}, open {self.open}")


def run_node(options, node, device, folder):
    """What is wrong, or an empty string."""
    onnx.save(node.model(), folder / "model.onnx")
    command = [options.bp, "run", folder / "model.onnx", "--device", device,
               "--output-dir", folder / "out"]
    for name in node.fed():
        numpy.save(folder / f"{name}.npy", node.value(name))
        command += ["--input", f"{name}={folder / name}.npy"]
    result = subprocess.run(list(map(str, command)), text=True, capture_output=True,
                            timeout=SECONDS, check=False)
    if result.returncode:
        return result.stderr.strip()[-400:]
    for name, want in node.outputs().items():
        found = numpy.load(folder / "out" / f"{name}.npy")
        if found.shape != want.shape:
            return f"{name} is {found.shape}, expected {want.shape}"
        # Roundings of each step stay, as states are inputs of the next.
        if not numpy.allclose(found, want, rtol=0, atol=2e-5 * max(1, numpy.abs(want).max())):
            return f"{name} differs by {numpy.abs(found - want).max():.3g}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bp", default=ROOT / "build/bin/bp", type=pathlib.Path)
    parser.add_argument("--device", action="append", help="default: ref, host")
    parser.add_argument("--seed", type=int, default=1, help="of the first node")
    parser.add_argument("--count", type=int, help="nodes per device; default: 24")
    parser.add_argument("--all", action="store_true", help="200 nodes per device")
    options = parser.parse_args()
    counts = [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BACKPLANE_CACHE_DIR"] = f"{folder}/cache"
        for device in options.device or ["ref", "host"]:
            for seed in range(options.seed,
                              options.seed + (options.count or (200 if options.all else 24))):
                node = Node(seed)
                wrong = run_node(options, node, device, pathlib.Path(folder))
                counts[bool(wrong)] += 1
                if wrong:
                    print(f"FAILED seed {seed} on {device}: {node}: {wrong}", flush=True)
    print(f"{counts[0]} passed, {counts[1]} failed, 0 skipped")
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
