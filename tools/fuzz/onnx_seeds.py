# SPDX-License-Identifier: Apache-2.0
"""ONNX models that the fuzzer of the importer starts from."""
import importlib.util
import pathlib
import warnings

import numpy
import onnx
from onnx import helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DRAWN = 180  # models with sizes that data decide

# Random numbers in bodies, whose counter comes from around them, and sizes that data decide.
TEXTS = {
    "loop": """g (float[2] x, int64 n) => (float[2] y) {
      c = Constant <value_int = 1> () go = Cast <to = 9> (c)
      y = Loop (n, go, x) <body = body (int64 i, bool a, float[2] s) => (bool b, float[2] t) {
        b = Identity(a) r = RandomUniformLike(s) q = RandomNormalLike(s) u = Add(r, q)
        t = Add(s, u) }> }""",
    "nested": """g (float[2] x, int64 n, bool c) => (float[2] y, float[2] z) {
      y = Loop (n, c, x) <body = body (int64 i, bool a, float[2] s) => (bool b, float[2] t) {
        b = Identity(a)
        t = Loop (n, a, s) <body = inner (int64 j, bool d, float[2] p) => (bool e, float[2] q) {
          e = Identity(d) r = RandomNormalLike(p) q = Add(p, r) }> }>
      z = If (c) <then_branch = yes () => (float[2] v) { v = RandomNormal <shape = [2]> () },
        else_branch = no () => (float[2] w) { w = RandomUniformLike(x) }> }""",
    "scan": """g (float[2] x, float[n,2] l) => (float[2] y, float[n,2] z) {
      y, z = Scan <num_scan_inputs = 1, body = body (float[2] s, float[2] e)
        => (float[2] t, float[2] o) { t = Bernoulli(s) o = RandomUniformLike(e) }> (x, l) }""",
    "between": """g (float[2] x, int64[1] k) => (float[2] r, float[m] y) {
      r = RandomUniformLike(x) y = ConstantOfShape(k) }""",
    "in-body": """g (bool c, int64[1] k) => (float[m] y) {
      y = If (c) <then_branch = yes () => (float[p] v) { v = ConstantOfShape(k) },
        else_branch = no () => (float[q] w) { w = ConstantOfShape(k) }> }""",
    "taken-in-body": """g (bool c, bool[5] b) => (int64[1,m] y) {
      y = If (c) <then_branch = yes () => (int64[1,p] v) { v = NonZero(b) },
        else_branch = no () => (int64[1,q] w) { w = NonZero(b) }> }""",
    "twice": """g (int64[2] k, float[a,b] x) => (float[p,q] y, float[r,s] z) {
      y = Reshape(x, k) z = Expand(x, k) }""",
    "parts": """g (int8[1] k, int16[1] j, int64[n] v, float[12] x) => (float[p,q,r,s,t] y) {
      a = Cast <to = 7> (k) b = Cast <to = 7> (j) two = Constant <value_ints = [2]> ()
      f = ConstantOfShape <value = int64[1] {3}> (two) d = Shape(v)
      s = Concat <axis = 0> (a, b, f, d) y = Reshape(x, s) }""",
    "unknown-parts": """g (int64[n] v, int64[3] k, float[8] x) => (float[p] y) {
      a = Concat <axis = 0> (v, k) s = Constant <value_ints = [1]> ()
      e = Constant <value_ints = [2]> () i = Slice(a, s, e) y = Reshape(x, i) }""",
    "drawn": """g (float[8] x) => (float[p,q] y) {
      r = RandomUniform <shape = [2]> () i = Cast <to = 7> (r) y = Reshape(x, i) }""",
}

# A size, by a vector k of two elements and others.
SIZES = {
    "sum": ("int64[2] k, int64[2] l", "m = Min(k, nine) n = Min(l, nine) a = Add(m, n)"),
    "difference": ("int64[2] k", "m = Min(k, nine) a = Sub(m, three)"),
    "multiple": ("int64[2] k", "m = Min(k, nine) a = Mul(m, three)"),
    "part": ("int64[2] k", "m = Min(k, nine) a = Div(m, three)"),
    "quotient": ("int64[2] k", "m = Min(k, nine) a = Div(three, m)"),
    "larger": ("int64[2] k, int64[2] l", "m = Min(k, nine) n = Min(l, three) a = Max(m, n)"),
    "negative": ("int64[2] k", "m = Min(k, less) a = Sub(m, three)"),
    "joined": ("int64[1] k, int64[1] l", """m = Min(k, nine) n = Min(l, nine)
      c = Concat <axis = 0> (m, n) a = Min(c, three)"""),
    "total": ("int64[5,2] k", """m = Min(k, nine) axes = Constant <value_ints = [0]> ()
      a = ReduceSum <keepdims = 0> (m, axes)"""),
    "count": ("bool[5,2] k", """m = Cast <to = 7> (k) axes = Constant <value_ints = [0]> ()
      a = ReduceSum <keepdims = 0> (m, axes)"""),
    "place": ("float[5,2] x", "a = ArgMax <axis = 0, keepdims = 0> (x)"),
    "rank": ("float[7] x", """two = Constant <value_ints = [2]> ()
      v, a = TopK(x, two)"""),
    "chosen": ("bool[2] c, int8[2] k", "m = Cast <to = 7> (k) a = Where(c, m, nine)"),
    "floor": ("float[2] x, int64[2] k", "m = Cast <to = 7> (x) a = Max(m, k)"),
    **{f"cast-{kind}": (f"{kind}[2] k", "m = Cast <to = 7> (k) a = Add(m, three)")
       for kind in ("bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint32")},
}


def sizes():
    """A model for each of SIZES."""
    for name, (inputs, body) in SIZES.items():
        yield f"size-{name}", f"""g ({inputs}) => (float[p,q] y) {{
          nine = Constant <value_int = 9> () three = Constant <value_int = 3> ()
          less = Constant <value_int = -1> () {body} y = ConstantOfShape(a) }}"""



def load(path):
    """A module by its file, as several are called alike."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save(folder, name, made):
    (folder / f"{name}.onnx").write_bytes(made.SerializeToString())


def write(folder):
    """The seeds of every run."""
    folder.mkdir(parents=True, exist_ok=True)
    write_models(folder)
    write_tensors(folder)
    for name, text in [*TEXTS.items(), *sizes()]:
        save(folder, f"text-{name}", onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["" : 18]>\n{text}'))


def write_many(folder, largest):
    """Those that are too many for the short form; none has more than `largest` bytes."""
    write_node_models(folder, largest)
    write_shapes(folder)


def write_shapes(folder):
    """The models of unusual shapes, and drawn ones."""
    models, drawn = (load(ROOT / "conformance" / "shapes" / f"{name}.py")
                     for name in ("models", "drawn"))
    for entry in models.MODELS:
        save(folder, f"shape-{entry.name}",
             onnx.parser.parse_model(models.HEADER % entry.opset + entry.text))
    for seed in range(DRAWN):
        save(folder, f"drawn-{drawn.name(seed)}", drawn.draw(seed).model)


def write_models(folder):
    """The models that the tests of the tool use, as seeds, and one whose
    weights lie in a file of their own."""
    models = load(ROOT / "tools" / "bp" / "test" / "models.py")
    for name, made in (("good", models.good()), ("simple", models.simple()),
                       ("chain", models.long_chain(6, True, 4)),
                       ("control", models.with_control())):
        save(folder, name, made)
    for number, (location, offset, length) in enumerate((
            ("w.bin", "16", None), ("w.bin", "0", "4"), ("w.bin", "65530", None),
            ("w.bin", "18446744073709551615", "1"), ("w.bin", "x", "-1"),
            ("absent.bin", "0", None), ("../w.bin", "0", None), ("/dev/zero", "0", None),
            ("", "0", None), (".", "0", None), ("out", "0", None))):
        made = models.good()
        for tensor in made.graph.initializer:
            store_outside(tensor, location, offset, length)
        save(folder, f"external{number}", made)


def store_outside(tensor, location, offset, length):
    """Takes the numbers of a tensor from a file; no length: as many as it has."""
    size = 4
    for dim in tensor.dims:
        size *= dim
    tensor.ClearField("raw_data")
    tensor.ClearField("float_data")
    tensor.data_location = 1
    for key, value in (("location", location), ("offset", offset),
                       ("length", length or str(size))):
        tensor.external_data.add(key=key, value=value)


def write_tensors(folder):
    """A model for each way in which ONNX stores numbers."""
    kinds = onnx.TensorProto
    for kind in (kinds.FLOAT, kinds.DOUBLE, kinds.FLOAT16, kinds.BFLOAT16,
                 kinds.INT64, kinds.INT32, kinds.INT16, kinds.INT8,
                 kinds.UINT64, kinds.UINT32, kinds.UINT16, kinds.UINT8,
                 kinds.BOOL, kinds.STRING, kinds.INT4, kinds.UINT4,
                 kinds.FLOAT8E4M3FN, kinds.FLOAT8E5M2, kinds.COMPLEX64):
        try:
            tensor = helper.make_tensor("w", kind, [2], [b"a", b"b"]
                                        if kind == kinds.STRING else [1, 2])
        except (TypeError, ValueError, KeyError):
            continue
        out = helper.make_tensor_value_info("y", kind, [2])
        node = helper.make_node("Identity", ["w"], ["y"])
        graph = helper.make_graph([node], "g", [], [out], [tensor])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
        save(folder, f"typed{kind}", made)


def write_node_models(folder, largest):
    """The models of ONNX's own tests of each operator, as they are and with
    their inputs known."""
    from onnx.backend.test.case import node  # pylint: disable=import-outside-toplevel
    warnings.simplefilter("ignore")  # of the arithmetic that its data are from
    for case in node.collect_testcases(None):
        for kind, first in (("asked", None), ("partly", 1), ("known", 0)):
            model = case.model
            if first is not None:
                model = with_known(case, first)
            text = model.SerializeToString() if model else b""
            if 0 < len(text) <= largest:
                (folder / f"{case.name}-{kind}.onnx").write_bytes(text)


def with_known(case, first):
    """The model with its small inputs from the one numbered `first` on as
    initializers; none where there is no such input."""
    made = onnx.ModelProto()
    made.CopyFrom(case.model)
    inputs = list(made.graph.input)
    given = case.data_sets[0][0] if case.data_sets else []
    for value, array in list(zip(inputs, given))[first:]:
        if isinstance(array, (numpy.ndarray, numpy.generic)) and array.size <= 64:
            made.graph.initializer.append(onnx.numpy_helper.from_array(
                numpy.asarray(array), value.name))
            made.graph.input.remove(value)
    return made if made.graph.initializer != case.model.graph.initializer else None
