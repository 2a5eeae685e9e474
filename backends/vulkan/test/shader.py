# SPDX-License-Identifier: Apache-2.0
"""Carries out a shader with cooperative matrices as a device with subgroups of 32 would, which
machines without a GPU are not. Knows the instructions that products need, and refuses others.

It is stricter than a device: what lies outside of memory, a matrix whose lines are not aligned to 16
bytes, lanes of a subgroup that differ about one, and invocations that miss a barrier are errors;
memory of a work-group that nobody has written is NaN.
"""
import struct

import numpy

LANES = 32
# Result is an expression of the operands; {m} is the mask of its type.
INTEGERS = {
    128: "(a + b) & {m}", 130: "(a - b) & {m}", 132: "(a * b) & {m}", 134: "a // b", 137: "a % b",
    194: "a >> b", 196: "(a << b) & {m}", 197: "a | b", 198: "a ^ b", 199: "a & b",
    195: "(signed(a) >> b) & {m}", 135: "int(signed(a) / signed(b)) & {m}"}
CONDITIONS = {
    167: "a and b", 166: "a or b", 170: "a == b", 171: "a != b", 176: "a < b", 178: "a <= b",
    172: "a > b", 174: "a >= b", 177: "signed(a) < signed(b)", 179: "signed(a) <= signed(b)",
    173: "signed(a) > signed(b)", 175: "signed(a) >= signed(b)", 180: "a == b", 184: "a < b",
    186: "a > b", 188: "a <= b", 190: "a >= b"}
FLOATS = {129: "a + b", 131: "a - b", 133: "a * b", 136: "a / b"}


def signed(value):
    return value - (1 << 32) if value >> 31 else value


def to_float(bits):
    return numpy.frombuffer(struct.pack("<I", bits), "<f4")[0]


def to_bits(number):
    return struct.unpack("<I", struct.pack("<f", number))[0]


class Shader:
    """A module as functions of Python, one for each block."""

    def __init__(self, words):
        self.types, self.constants, self.variables, self.bindings = {}, {}, {}, {}
        self.builtins, self.blocks, self.size = {}, {}, 0
        label, code, phis = None, [], []
        at = 5
        while at < len(words):
            length, op = words[at] >> 16, words[at] & 0xFFFF
            args = list(words[at + 1:at + length])
            at += length
            if op == 248:
                label, code, phis = args[0], [], []
                self.entry = getattr(self, "entry", label)
            elif label is None:
                self.declare(op, args)
            elif op == 245:
                phis.append(args)
            elif op in (249, 250, 253):
                code.append({249: "return {0}", 250: "return {1} if v[{0}] else {2}",
                             253: "return None"}[op].format(*args))
                self.finish(label, phis, code)
            elif op not in (246, 247, 56):
                code.append(self.translate(op, args))

    def declare(self, op, args):
        if op in (19, 20, 21, 22, 23, 24, 28, 29, 30, 32, 33, 4456):
            self.types[args[0]] = (op, args[1:])
        elif op == 43:
            kind, rest = self.types[args[0]]
            bits = args[2]
            self.constants[args[1]] = to_float(bits) if kind == 22 and rest[0] == 32 else bits
        elif op in (41, 42):
            self.constants[args[1]] = op == 41
        elif op == 59:
            self.variables[args[1]] = self.types[args[0]][1]
        elif op == 71 and args[1] == 33:
            self.bindings[args[0]] = args[2]
        elif op == 71 and args[1] == 11:
            self.builtins[args[0]] = args[2]
        elif op == 16 and args[1] == 17:
            self.size = args[2]

    def mask(self, kind):
        op, rest = self.types[kind]
        return (1 << rest[0]) - 1 if op == 21 else 0

    def translate(self, op, args):
        """The statement for an instruction in a function."""
        if op == 62:
            return f"store(v[{args[0]}], v[{args[1]}])"
        if op == 224:
            return "yield ('barrier',)"
        if op == 4458:
            return f"yield ('store', 0, {', '.join(f'v[{x}]' for x in args[:4])})"
        kind, out, rest = args[0], args[1], args[2:]
        a, b = (f"v[{rest[i]}]" if i < len(rest) else "" for i in (0, 1))

        def of(text):
            text = text.replace("signed(a)", f"signed({a})").replace("signed(b)", f"signed({b})")
            words = text.replace("{m}", str(self.mask(kind))).split(" ")
            return " ".join({"a": a, "b": b, "(a": f"({a}", "b)": f"{b})"}.get(w, w) for w in words)
        for table in (INTEGERS, CONDITIONS):
            if op in table:
                return f"v[{out}] = {of(table[op])}"
        if op in FLOATS:
            return f"v[{out}] = f4({of(FLOATS[op])})"
        return f"v[{out}] = {self.special(op, kind, rest, a, b)}"

    def special(self, op, kind, rest, a, b):
        into = self.types[kind]
        if op == 4457:
            return f"yield ('load', {kind}, {a}, {b}, v[{rest[2]}])"
        if op == 4459:
            return f"yield ('multiply', {kind}, {a}, {b}, v[{rest[2]}])"
        if op == 80:
            return (f"numpy.full({self.shape(kind)}, {a}, 'f4')" if into[0] == 4456 else
                    f"[{', '.join(f'v[{x}]' for x in rest)}]")
        others = ", ".join(f"v[{x}]" for x in rest[1:])
        known = {59: "[None]", 61: f"load({a})", 65: f"chain({a}, [{others}])",
                 81: f"{a}[{rest[-1]}]", 111: f"f4(signed({a}))", 112: f"f4({a})",
                 113: f"{a} & {self.mask(kind)}", 114: f"{a} & {self.mask(kind)}",
                 124: f"to_float({a})" if into[0] == 22 else f"bits({a})", 127: f"-{a}",
                 168: f"not {a}", 169: f"{b} if {a} else v[{rest[-1]}]"}
        if op not in known:
            raise NotImplementedError(f"instruction {op}")
        return known[op]

    def shape(self, kind):
        _, (_, _, rows, columns, _) = self.types[kind]
        return self.constants[rows], self.constants[columns]

    def finish(self, label, phis, code):
        lines = [f"def block(v, before):"]
        if phis:
            for number, phi in enumerate(phis):
                pairs = ", ".join(f"{phi[i + 1]}: {phi[i]}" for i in range(2, len(phi), 2))
                lines.append(f"  t{number} = v[{{{pairs}}}[before]]")
            lines += [f"  v[{phi[1]}] = t{number}" for number, phi in enumerate(phis)]
        lines += [f"  {line}" for line in code]
        scope = dict(HELPERS)
        exec("\n".join(lines), scope)  # pylint: disable=exec-used
        self.blocks[label] = (scope["block"], any("yield" in line for line in code))

    def invocation(self, values):
        label, before = self.entry, 0
        while label is not None:
            block, waits = self.blocks[label]
            after = (yield from block(values, before)) if waits else block(values, before)
            label, before = after, label


def chain(base, path):
    """A pointer is an array and a place in it, or the list that a variable of an invocation is."""
    array, storage = base
    *structs, place = path
    if len(structs) != (storage == "buffer"):
        raise NotImplementedError("a pointer into a vector")
    if place >= len(array):
        raise IndexError(f"element {signed(place)} of {len(array)}")
    return array, place


def load(pointer):
    if isinstance(pointer, list):
        return pointer[0]
    array, place = pointer
    value = array[place]
    return value.tolist() if not isinstance(value, numpy.float32) else value


def store(pointer, value):
    if isinstance(pointer, list):
        pointer[0] = value
    else:
        pointer[0][pointer[1]] = value


def bits(value):
    return to_bits(value) if isinstance(value, numpy.floating) else value


HELPERS = {"signed": signed, "to_float": to_float, "bits": bits, "chain": chain, "load": load,
           "store": store, "numpy": numpy, "f4": numpy.float32}


class Group:
    """A work-group: its invocations take turns."""

    def __init__(self, shader, buffers, number, count):
        self.shader = shader
        common = dict(shader.constants)
        for name, (storage, pointee) in shader.variables.items():
            if name in shader.bindings:
                common[name] = (self.view(buffers[shader.bindings[name]], pointee), "buffer")
            elif storage == 4:
                _, (_, length) = shader.types[pointee]
                words = numpy.full(shader.constants[length], 0xFFFFFFFF, "u4")
                common[name] = (words, "group")
        self.running = []
        for invocation in range(shader.size):
            values = dict(common)
            given = {26: [number, 0, 0], 24: [count, 1, 1], 27: [invocation, 0, 0],
                     40: invocation // LANES}
            for name, builtin in shader.builtins.items():
                values[name] = [given[builtin]]
            self.running.append(shader.invocation(values))

    def view(self, buffer, pointee):
        _, (line,) = self.shader.types[pointee]
        kind, rest = self.shader.types[self.shader.types[line][1][0]]
        lanes = 1
        if kind == 23:
            lanes = rest[1]
            kind, rest = self.shader.types[rest[0]]
        array = buffer.view(f"{'f' if kind == 22 else 'u'}{rest[0] // 8}")
        return array.reshape(-1, lanes) if lanes > 1 else array

    def run(self):
        asked = [next(one, None) for one in self.running]
        while any(asked):
            moved = False
            for first in range(0, len(asked), LANES):
                part = asked[first:first + LANES]
                if part[0] is None or part[0][0] == "barrier":
                    continue
                answer = self.answer(part)
                moved = True
                for lane in range(first, first + LANES):
                    asked[lane] = self.advance(lane, answer)
            if moved:
                continue
            if any(one != ("barrier",) for one in asked):
                raise RuntimeError("an invocation misses a barrier")
            asked = [self.advance(lane, None) for lane in range(len(asked))]

    def advance(self, lane, answer):
        try:
            return self.running[lane].send(answer)
        except StopIteration:
            return None

    def answer(self, part):
        """Of what all lanes of a subgroup ask for together."""
        def same(x, y):
            return x is y or (isinstance(x, tuple) and isinstance(y, tuple) and
                              all(map(same, x, y))) or \
                (isinstance(x, (int, str)) and x == y) or \
                (isinstance(x, numpy.ndarray) and numpy.array_equal(x, y, equal_nan=True))
        if any(one is None or len(one) != len(part[0]) or not same(part[0], one) for one in part):
            raise RuntimeError("lanes of a subgroup differ about a matrix")
        what, kind, *rest = part[0]
        if what == "multiply":
            return rest[2] + rest[0].astype("f4") @ rest[1].astype("f4")
        return self.access(what, kind, *rest)

    def access(self, what, kind, pointer, *rest):
        (words, place), (layout, stride) = pointer, rest[-2:]
        shape = rest[0].shape if what == "store" else self.shader.shape(kind)
        element = "f4" if what == "store" or self.shader.types[
            self.shader.types[kind][1][0]][1][0] == 32 else "f2"
        if place % 4 or stride % 4:
            raise RuntimeError("a line of a matrix is not aligned to 16 bytes")
        rows, columns = shape if layout == 0 else shape[::-1]
        lines = words.view(element)
        in_word = 4 // numpy.dtype(element).itemsize
        index = (numpy.arange(rows)[:, None] * stride + place) * in_word + numpy.arange(columns)
        if index.max() >= len(lines):
            raise IndexError("a matrix ends behind memory")
        if what == "store":
            lines[index] = rest[0] if layout == 0 else rest[0].T
            return None
        return lines[index] if layout == 0 else lines[index].T


def run(words, buffers, numbers, count):
    """The work-groups of these numbers, of so many: each buffer is an array of bytes, the error word
    is the last."""
    shader = Shader(words)
    for number in numbers:
        Group(shader, buffers, number, count).run()
