# SPDX-License-Identifier: Apache-2.0
"""Shapes of graphs of any size, for bench_compile.py. A shape takes how many ops,
constants, inputs, outputs or symbols its model is to have."""
import numpy
from onnx import TensorProto, helper, numpy_helper

node, SIDE = helper.make_node, 8
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def value(name, dims=(SIDE, SIDE), kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def constant(name, seed, dims=(SIDE, SIDE)):
    random = numpy.random.default_rng(seed)
    return numpy_helper.from_array(random.standard_normal(dims).astype("f4") / 8, name)


def array(name, data, kind="i8"):
    return numpy_helper.from_array(numpy.array(data, kind), name)


def model(nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return made


def line(count, make):
    """Ops one behind the other; `make` gives the op of a number."""
    names = ["x", *(f"h{i}" for i in range(1, count)), "y"]
    return [make(i, names[i], names[i + 1]) for i in range(count)]


def towers(count, make):
    """Ops with an output each; `make` gives the op of a number."""
    return [make(i, f"y{i}") for i in range(count)], [value(f"y{i}") for i in range(count)]


def chain(count):
    return model(line(count, lambda i, x, y: node(("Sin", "Tanh")[i % 2], [x], [y])),
                 [value("x")], [value("y")])


def softmax(count):
    return model(line(count, lambda _, x, y: node("Softmax", [x], [y])), [value("x")],
                 [value("y")])


def products(count):
    return model(line(count, lambda _, x, y: node("MatMul", [x, "w"], [y])), [value("x")],
                 [value("y")], [constant("w", 1)])


def same_ops(count):
    nodes = [node("Sin", ["x"], [f"a{i}"]) for i in range(count // 2)]
    return model([*nodes, node("Sum", [f"a{i}" for i in range(count // 2)], ["y"])],
                 [value("x")], [value("y")])


def dead(count):
    nodes = [node("MatMul", [f"d{i - 1}" if i else "x", "w"], [f"d{i}"]) for i in range(count)]
    return model([*nodes, node("Sin", ["x"], ["y"])], [value("x")], [value("y")],
                 [constant("w", 1)])


def weights(count):
    return model(line(count, lambda i, x, y: node("Add", [x, f"w{i}"], [y])), [value("x")],
                 [value("y")], [constant(f"w{i}", i) for i in range(count)])


def big_weights(count):
    return model(line(count, lambda i, x, y: node("MatMul", [x, f"w{i}"], [y])),
                 [value("x", (1, 64))], [value("y", (1, 64))],
                 [constant(f"w{i}", i, (64, 64)) for i in range(count)])


def scalars(count):
    return model(line(count, lambda i, x, y: node(("Add", "Mul")[i % 2], [x, f"w{i}"], [y])),
                 [value("x")], [value("y")], [constant(f"w{i}", i, ()) for i in range(count)])


def shapes_of_weights(count):
    dims = ((SIDE, SIDE), (SIDE,), (1, SIDE), (SIDE, 1), (1,), (1, 1))
    return model(line(count, lambda i, x, y: node("Add", [x, f"w{i}"], [y])), [value("x")],
                 [value("y")], [constant(f"w{i}", i, dims[i % 6]) for i in range(count)])


def same_weight(count):
    return model(line(count, lambda _, x, y: node("Add", [x, "w"], [y])), [value("x")],
                 [value("y")], [constant("w", 1)])


def equal_weights(count):
    return model(line(count, lambda i, x, y: node("Add", [x, f"w{i}"], [y])), [value("x")],
                 [value("y")], [constant(f"w{i}", 1) for i in range(count)])


def unused_weights(count):
    return model([node("Add", ["x", "w0"], ["y"])], [value("x")], [value("y")],
                 [constant(f"w{i}", i) for i in range(count)])


def constant_nodes(count):
    made = [node("Constant", [], [f"w{i}"], value=constant("v", i)) for i in range(count // 2)]
    return model([*made, *line(count // 2, lambda i, x, y: node("Add", [x, f"w{i}"], [y]))],
                 [value("x")], [value("y")])


def concat_weights(count):
    return model([node("Concat", ["x", *(f"w{i}" for i in range(count))], ["y"], axis=0)],
                 [value("x")], [value("y", (SIDE * (count + 1), SIDE))],
                 [constant(f"w{i}", i) for i in range(count)])


def folded_concat(count):
    return model([node("Concat", [f"w{i}" for i in range(count)], ["c"], axis=0),
                  node("ReduceSum", ["c"], ["r"], keepdims=0), node("Add", ["x", "r"], ["y"])],
                 [value("x")], [value("y")], [constant(f"w{i}", i) for i in range(count)])


def gathers(count):
    random = numpy.random.default_rng(0)
    return model(line(count, lambda i, x, y: node("Gather", [x, f"w{i}"], [y], axis=i % 2)),
                 [value("x")], [value("y")],
                 [array(f"w{i}", random.permutation(SIDE)) for i in range(count)])


def tables(count):
    nodes = [node("Gather", [f"w{i}", "i"], [f"a{i}"]) for i in range(count)]
    names = [f"a{i}" for i in range(count)]
    return model([node("ArgMax", ["x"], ["i"], axis=1, keepdims=0), *nodes,
                  node("Concat", names, ["y"], axis=0)], [value("x")],
                 [value("y", (SIDE * count, SIDE))], [constant(f"w{i}", i) for i in range(count)])


def wheres(count):
    return model(line(count, lambda i, x, y: node("Where", [f"c{i}", x, f"w{i}"], [y])),
                 [value("x")], [value("y")],
                 [t for i in range(count)
                  for t in (constant(f"w{i}", i), array(f"c{i}", [True, False] * 4, "?"))])


def inputs(count):
    return model(line(count, lambda i, x, y: node("Add", [x, f"x{i}"], [y])),
                 [value("x"), *(value(f"x{i}") for i in range(count))], [value("y")])


def sums(count):
    return model([node("Sum", [f"x{i}" for i in range(count)], ["y"])],
                 [value(f"x{i}") for i in range(count)], [value("y")])


def concat(count):
    return model([node("Concat", [f"x{i}" for i in range(count)], ["y"], axis=0)],
                 [value(f"x{i}") for i in range(count)], [value("y", (SIDE * count, SIDE))])


def unused_inputs(count):
    return model([node("Sin", ["x0"], ["y"])], [value(f"x{i}") for i in range(count)],
                 [value("y")])


def folded(count):
    nodes = line(count, lambda i, x, y: node(("Sin", "Tanh")[i % 2], [x], [y]))
    nodes[0].input[0] = "w"
    nodes[-1].output[0] = "c"
    return model([*nodes, node("Add", ["x", "c"], ["y"])], [value("x")], [value("y")],
                 [constant("w", 1)])


def folded_weights(count):
    nodes = [node("Tanh", [f"w{i}"], [f"c{i}"]) for i in range(count // 2)]
    adds = line(count // 2, lambda i, x, y: node("Add", [x, f"c{i}"], [y]))
    return model([*nodes, *adds], [value("x")], [value("y")],
                 [constant(f"w{i}", i) for i in range(count // 2)])


def outputs(count):
    nodes, ends = towers(count, lambda i, y: node(
        "MatMul", [f"y{i - 1}" if i else "x", "w"], [y]))
    return model(nodes, [value("x")], ends, [constant("w", 1)])


def constant_outputs(count):
    nodes, ends = towers(count, lambda i, y: node("Sin", [f"w{i}"], [y]))
    return model(nodes, [value("x")], ends, [constant(f"w{i}", i) for i in range(count)])


def same_outputs(count):
    nodes, ends = towers(count, lambda i, y: node("Identity", ["x"], [y]))
    return model(nodes, [value("x")], ends)


def split(count):
    return model([node("Split", ["x"], [f"y{i}" for i in range(count)], axis=0)],
                 [value("x", (SIDE * count, SIDE))], [value(f"y{i}") for i in range(count)])


def side_by_side(count):
    nodes, ends = towers(count, lambda i, y: node("Sin", [f"x{i}"], [y]))
    return model(nodes, [value(f"x{i}") for i in range(count)], ends)


def fan(count):
    nodes = [node("MatMul", ["x", f"w{i}"], [f"a{i}"]) for i in range(count // 2)]
    names = [f"a{i}" for i in range(count // 2)]
    return model([*nodes, node("Concat", names, ["y"], axis=0)], [value("x")],
                 [value("y", (SIDE * len(names), SIDE))],
                 [constant(f"w{i}", i) for i in range(count // 2)])


def ladder(count):
    nodes, a, b = [], "x", "z"
    for i in range(count // 4):
        nodes += [node("Add", [a, b], [f"a{i}"]), node("MatMul", [a, b], [f"m{i}"]),
                  node("Sin", [f"m{i}"], [f"b{i}"]), node("Mul", [f"b{i}", b], [f"c{i}"])]
        a, b = f"a{i}", f"c{i}"
    return model([*nodes, node("Add", [a, b], ["y"])], [value("x"), value("z")], [value("y")])


def moves(count):
    def move(i, x, y):
        return (node("Transpose", [x], [y], perm=[1, 0]), node("Reshape", [x, "flat"], [y]),
                node("Reshape", [x, "square"], [y]), node("Slice", [x, "from", "to"], [y]),
                node("Pad", [x, "pad"], [y]))[i % 5]
    return model(line(count // 5 * 5, move), [value("x")], [value("y")],
                 [array("flat", [SIDE * SIDE]), array("square", [SIDE, SIDE]),
                  array("from", [1]), array("to", [SIDE]), array("pad", [1, 0, 0, 0])])


def blocks(count):
    """Blocks of seven ops with weights of their own, as of a transformer."""
    nodes, weights_, x = [], [], "x"
    for i in range(count // 7):
        p = f"b{i}_"
        nodes += [node("LayerNormalization", [x, p + "s", p + "c"], [p + "n"]),
                  node("MatMul", [p + "n", p + "u"], [p + "h"]),
                  node("Add", [p + "h", p + "d"], [p + "b"]),
                  node("Softmax", [p + "b"], [p + "g"]),
                  node("MatMul", [p + "g", p + "v"], [p + "o"]),
                  node("Transpose", [p + "o"], [p + "t"], perm=[1, 0]),
                  node("Add", [p + "t", x], [p + "x"])]
        x = p + "x"
        weights_ += [constant(p + n, i, (SIDE,)) for n in "scd"]
        weights_ += [constant(p + n, i) for n in "uv"]
    return model([*nodes, node("Sin", [x], ["y"])], [value("x")], [value("y")], weights_)


def quantized(count):
    def step(i, x, y):
        return [node("QuantizeLinear", [x, "s", "z"], [f"q{i}"]),
                node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"]),
                node("MatMul", [f"d{i}", f"w{i}"], [y])]
    nodes = sum(line(count // 3, step), [])
    return model(nodes, [value("x")], [value("y")],
                 [array("s", 0.05, "f4"), array("z", 0, "i1"),
                  *(constant(f"w{i}", i) for i in range(count // 3))])


def branches(count):
    def branch(kind, name, source):
        return helper.make_graph([node(kind, [source], [name])], name, [], [value(name)])
    return model(line(count, lambda i, x, y: node(
        "If", ["c"], [y], then_branch=branch("Sin", f"t{i}", x),
        else_branch=branch("Neg", f"e{i}", x))),
        [value("x"), value("c", (), TensorProto.BOOL)], [value("y")])


def loops(count):
    def body(i):
        return helper.make_graph(
            [node("Sin", ["a"], ["b"]), node("Identity", ["k"], ["l"])], f"g{i}",
            [value("n", (), INT64), value("k", (), TensorProto.BOOL), value("a")],
            [value("l", (), TensorProto.BOOL), value("b")])
    return model(line(count, lambda i, x, y: node("Loop", ["c", "", x], [y], body=body(i))),
                 [value("x"), value("c", (), INT64)], [value("y")])


def symbols(count):
    return model([node("Sin", [f"x{i}"], [f"y{i}"]) for i in range(count)],
                 [value(f"x{i}", [f"s{i}"]) for i in range(count)],
                 [value(f"y{i}", [f"s{i}"]) for i in range(count)])


def same_symbol(count):
    return model(line(count, lambda i, x, y: node("MatMul", [x, "w"], [y])),
                 [value("x", ("s", SIDE))], [value("y", ("s", SIDE))], [constant("w", 1)])


def symbol_sum(count):
    names = [f"x{i}" for i in range(count)]
    return model([node("Concat", names, ["y"], axis=0)],
                 [value(f"x{i}", [f"s{i}"]) for i in range(count)], [value("y", ["t"])])


def conditions(count):
    nodes = [node("Add", [f"x{i}", "x"], [f"y{i}"]) for i in range(count)]
    return model(nodes, [value("x", ["s"]), *(value(f"x{i}", [f"s{i}"]) for i in range(count))],
                 [value(f"y{i}", ["s"]) for i in range(count)])


def computed_shapes(count):
    def step(i, x, y):
        return [node("Shape", [x], [f"s{i}"]), node("Gather", [f"s{i}", "one"], [f"n{i}"]),
                node("Concat", [f"n{i}", "rest"], [f"t{i}"], axis=0),
                node("Reshape", [x, f"t{i}"], [f"r{i}"]), node("MatMul", [f"r{i}", "w"], [y])]
    return model(sum(line(count // 5, step), []), [value("x", ("s", SIDE))],
                 [value("y", ("s", SIDE))],
                 [array("one", [0]), array("rest", [SIDE]), constant("w", 1)])


def growing(count):
    """Sizes s, s + 1, s + 2, ..."""
    return model(line(count, lambda i, x, y: node("Concat", [x, "w"], [y], axis=0)),
                 [value("x", ("s",))], [value("y", ("t",))], [constant("w", 1, (1,))])


ALL = (chain, softmax, products, same_ops, dead, weights, big_weights, scalars,
       shapes_of_weights, same_weight, equal_weights, unused_weights, constant_nodes,
       concat_weights, folded_concat, gathers, tables, wheres, inputs, sums, concat,
       unused_inputs, folded, folded_weights, outputs, constant_outputs, same_outputs, split,
       side_by_side, fan, ladder, moves, blocks, quantized, branches, loops, symbols,
       same_symbol, symbol_sum, conditions, computed_shapes, growing)
