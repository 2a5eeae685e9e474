# SPDX-License-Identifier: Apache-2.0
"""Damages valid files in their structure: one function for each kind of file,
from a random generator to bytes."""
import ast
import json
import random
import struct

import onnx

EXTREMES = [0, 1, 2, 3, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x10000,
            0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, 1 << 63,
            (1 << 64) - 1]
NAMES = ["", "x", "y", "x" * 5000, "../../../etc/passwd", "/dev/zero", "a\0b",
         "\u202e\u0000", "%s%n", "a b\nc", "NUL", "-o", "é" * 300, "$(id)"]
NUMBERS = [0, -1, 1, 2, -2, 3, 7, 65536, 1 << 31, -(1 << 31), 1 << 40,
           (1 << 63) - 1, -(1 << 63)]


def damage(data, rng, other=b""):
    """Bytes of any kind, changed in one to four places."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not data:
            return b""
        at = rng.randrange(len(data))
        size = rng.choice([1, 4, 8, 64, len(data) // 4 + 1])
        way = rng.randrange(8)
        if way == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            at &= ~3
            data[at:at + 4] = struct.pack("<I", rng.choice(EXTREMES) & 0xFFFFFFFF)
        elif way == 2:
            at &= ~7
            data[at:at + 8] = struct.pack("<Q", rng.choice(EXTREMES))
        elif way == 3:
            del data[at:]
        elif way == 4:
            del data[at:at + size]
        elif way == 5:
            data[at:at] = data[at:at + size]
        elif way == 6:
            data[at:at + size] = bytes(min(size, len(data) - at))
        else:
            start = rng.randrange(len(other) + 1)
            data[at:at] = other[start:start + size]
    return bytes(data)


def bend_json(value, rng, depth=0):
    """A JSON value in which one member has another value or type."""
    odd = [None, True, -1, 0, 1.5, 1e308, 1 << 70, "", rng.choice(NAMES), [], {},
           [[[]]], {"": {}}, rng.choice(NUMBERS)]
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        changed = dict(value)
        way = rng.randrange(6)
        if way == 0:
            del changed[key]
        elif way == 1:
            changed[rng.choice(NAMES)] = changed.pop(key)
        else:
            changed[key] = bend_json(value[key], rng, depth + 1)
        return changed
    if isinstance(value, list) and value and rng.random() < 0.7:
        changed = list(value)
        at = rng.randrange(len(changed))
        if rng.random() < 0.2:
            return changed * rng.choice([2, 50, 2000])
        changed[at] = bend_json(changed[at], rng, depth + 1)
        return changed
    return rng.choice(odd)


def json_text(text, rng):
    if rng.random() < 0.3:
        return damage(text, rng, text)
    try:
        value = json.loads(text)
    except ValueError:
        return damage(text, rng, text)
    made = json.dumps(bend_json(value, rng)).encode()
    if rng.random() < 0.05:
        made = b"[" * rng.choice([100, 100_000]) + made
    return made


def npy(data, rng):
    """An array whose header says something else than its bytes."""
    size = struct.unpack_from("<H", data, 8)[0]
    header = ast.literal_eval(data[10:10 + size].decode())
    way = rng.randrange(5)
    if way == 0:
        header["shape"] = tuple(rng.choice(NUMBERS) for _ in range(rng.randint(0, 40)))
    elif way == 1:
        header["descr"] = rng.choice(["<f4", ">f4", "|O", "<U7", "<f16", "|b1", "<i9",
                                      "f4", "", "<c8", [("a", "<f4")], "<f4" * 99])
    elif way == 2:
        header["fortran_order"] = rng.choice([True, None, 1, "False"])
    elif way == 3:
        header.pop(rng.choice(sorted(header)))
    else:
        return damage(data, rng, data)
    text = repr(header).encode() + b"\n"
    return data[:8] + struct.pack("<H", min(len(text), 65535)) + text + data[10 + size:]


def bend_tensor(tensor, rng):
    way = rng.randrange(6)
    if way == 0:
        tensor.dims[:] = [rng.choice(NUMBERS) for _ in range(rng.randint(0, 9))]
    elif way == 1:
        tensor.data_type = rng.choice([0, 1, 2, 6, 7, 8, 9, 10, 14, 16, 22, 99, -1])
    elif way == 2:
        tensor.raw_data = tensor.raw_data[:rng.randrange(len(tensor.raw_data) + 1)]
    elif way == 3:
        tensor.ClearField("raw_data")
        tensor.float_data.extend([1e38] * rng.randrange(20))
    else:
        tensor.ClearField("raw_data")
        tensor.data_location = 1
        for key, value in (("location", rng.choice(NAMES + ["w.bin", "model.onnx", "."])),
                           ("offset", str(rng.choice(NUMBERS))),
                           ("length", str(rng.choice(NUMBERS)))):
            tensor.external_data.add(key=key, value=value.replace("\0", ""))


def bend_attribute(attribute, rng):
    way = rng.randrange(5)
    if way == 0:
        attribute.i = rng.choice(NUMBERS)
    elif way == 1:
        attribute.ints[:] = [rng.choice(NUMBERS) for _ in range(rng.randint(0, 12))]
    elif way == 2:
        attribute.type = rng.randrange(15)
    elif way == 3:
        attribute.name = rng.choice(NAMES).replace("\0", "")
    else:
        attribute.f = rng.choice([float("nan"), float("inf"), -1e38, 1e-45])


def bend_node(node, graph, rng):
    names = [name for other in graph.node for name in list(other.input) + list(other.output)]
    way = rng.randrange(7)
    if way == 0 and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(names + NAMES[:3])
    elif way == 1 and node.output:
        node.output[rng.randrange(len(node.output))] = rng.choice(names + NAMES[:3])
    elif way == 2:
        node.op_type = rng.choice(["Conv", "Reshape", "Gather", "Loop", "If", "Split", "Pad",
                                   "Resize", "Einsum", "TopK", "LSTM", "Cast", "NonZero", "Nope",
                                   "Squeeze", "Slice", "Range", "ConstantOfShape", "Scan", ""])
    elif way == 3:
        node.input.extend(rng.choice(names) for _ in range(rng.choice([1, 3, 300])))
    elif way == 4:
        del node.input[rng.randrange(len(node.input) + 1):]
    elif node.attribute:
        bend_attribute(rng.choice(node.attribute), rng)
    else:
        made = node.attribute.add(name=rng.choice(["axis", "axes", "perm", "to", "equation"]))
        made.type = rng.choice([1, 2, 3, 7])
        bend_attribute(made, rng)


def bend_value(value, rng):
    tensor = value.type.tensor_type
    way = rng.randrange(4)
    if way == 0:
        tensor.elem_type = rng.choice([0, 1, 7, 8, 9, 10, 16, 99])
    elif way == 1:
        tensor.shape.dim.add(dim_value=rng.choice(NUMBERS))
    elif way == 2 and tensor.shape.dim:
        rng.choice(tensor.shape.dim).dim_value = rng.choice(NUMBERS)
    elif tensor.shape.dim:
        rng.choice(tensor.shape.dim).dim_param = rng.choice(NAMES).replace("\0", "")


def model(data, rng):
    """A model that is a protobuf still, with one to five wrong members."""
    if rng.random() < 0.15:
        return damage(data, rng, data)
    made = onnx.ModelProto.FromString(data)
    for _ in range(rng.randint(1, 5)):
        graph = made.graph
        way = rng.randrange(8)
        if way == 0 and graph.initializer:
            bend_tensor(rng.choice(graph.initializer), rng)
        elif way == 1:
            bend_value(rng.choice(list(graph.input) + list(graph.output)), rng)
        elif way == 2:
            made.opset_import[0].version = rng.choice(NUMBERS)
        elif way == 3:
            graph.output.add().CopyFrom(rng.choice(graph.output))
        elif way == 4:
            rng.choice(list(graph.input) + list(graph.output)).name = rng.choice(
                NAMES).replace("\0", "")
        elif graph.node:
            bend_node(rng.choice(graph.node), graph, rng)
    return made.SerializeToString()


def generator(seed, number):
    """The same member each time."""
    return random.Random(f"{seed}/{number}")
