# SPDX-License-Identifier: Apache-2.0
"""Small models whose shapes are the point, as ONNX text: sizes 0 and 1, sizes
that only the call tells, and what real models compute their shapes from."""
import dataclasses

import numpy

HEADER = '<ir_version: 8, opset_import: ["" : %d]>\n'


@dataclasses.dataclass
class Model:
    """Text of a graph and the sizes of its symbols in each call."""
    name: str
    text: str
    calls: tuple = ({},)
    # Calls that no output exists for: refused with these words.
    refused: tuple = ()
    words: str = ""
    # Integer inputs lie below a symbol.
    below: dict = dataclasses.field(default_factory=dict)
    # Outputs that the reference evaluator cannot compute.
    answers: dict = dataclasses.field(default_factory=dict)
    opset: int = 18


def static(name, signature, body, **answers):
    return Model(name, f"g {signature} {{ {body} }}", answers=answers)


EMPTY = [
    static("matmul_k0", "(float[3,0] a, float[0,5] b) => (float[3,5] y)", "y = MatMul(a, b)"),
    static("matmul_batch_k0", "(float[2,3,0] a, float[2,0,5] b) => (float[2,3,5] y)",
           "y = MatMul(a, b)"),
    static("matmul_m0", "(float[0,4] a, float[4,5] b) => (float[0,5] y)", "y = MatMul(a, b)"),
    static("gemm_k0", "(float[3,0] a, float[0,5] b, float[5] c) => (float[3,5] y)",
           "y = Gemm <alpha = 0.5, beta = 2.0> (a, b, c)"),
    static("einsum_k0", "(float[2,0] a, float[0,3] b) => (float[2,3] y)",
           'y = Einsum <equation = "ik,kj->ij"> (a, b)'),
    static("matmul_k0_epilogue", "(float[3,0] a, float[0,5] b, float[5] c) => (float[3,5] y)",
           "m = MatMul(a, b) s = Add(m, c) y = Relu(s)"),
    static("matmul_half_k0", "(float16[3,0] a, float16[0,5] b) => (float16[3,5] y)",
           "y = MatMul(a, b)"),
    static("slice_of_empty", "(float[0,3] x) => (float[0,3] y)",
           "s = Constant <value_ints = [0]> () e = Constant <value_ints = [2]> ()"
           " y = Slice(x, s, e, s)"),
    static("slice_to_empty", "(float[4,3] x) => (float[0,3] y)",
           "s = Constant <value_ints = [3]> () e = Constant <value_ints = [2]> ()"
           " a = Constant <value_ints = [0]> () y = Slice(x, s, e, a)"),
    static("slice_back_of_empty", "(float[0,3] x) => (float[0,3] y)",
           "s = Constant <value_ints = [-1]> () e = Constant <value_ints = [-9]> ()"
           " a = Constant <value_ints = [0]> () t = Constant <value_ints = [-2]> ()"
           " y = Slice(x, s, e, a, t)"),
    static("split_of_empty", "(float[0,6] x) => (float[0,2] y, float[0,4] z)",
           "p = Constant <value_ints = [2, 4]> () y, z = Split <axis = 1> (x, p)"),
    static("split_empty_part", "(float[3,4] x) => (float[3,0] y, float[3,4] z)",
           "p = Constant <value_ints = [0, 4]> () y, z = Split <axis = 1> (x, p)"),
    static("split_empty_axis", "(float[0,2] x) => (float[0,2] y, float[0,2] z)",
           "p = Constant <value_ints = [0, 0]> () y, z = Split <axis = 0> (x, p)"),
    static("pad_of_empty", "(float[0,3] x) => (float[3,5] y)",
           "p = Constant <value_ints = [1, 0, 2, 2]> () c = Constant <value_float = 7.0> ()"
           " y = Pad(x, p, c)"),
    static("pad_to_empty", "(float[3,4] x) => (float[0,4] y)",
           "p = Constant <value_ints = [-1, 0, -2, 0]> () y = Pad(x, p)",
           y=numpy.zeros((0, 4), numpy.float32)),
    static("pad_away_and_back", "(float[3,4] x) => (float[2,4] y)",
           "p = Constant <value_ints = [-3, 0, 2, 0]> () y = Pad(x, p)",
           y=numpy.zeros((2, 4), numpy.float32)),
    static("reduce_empty", "(float[3,0] x) => (float[3] y, float[3,1] z, float[3] w)",
           "a = Constant <value_ints = [1]> () y = ReduceSum <keepdims = 0> (x, a)"
           " z = ReduceProd <keepdims = 1> (x, a) w = ReduceMax <keepdims = 0> (x, a)"),
    static("softmax_empty", "(float[3,0] x) => (float[3,0] y)", "y = Softmax(x)"),
    static("concat_empties", "(float[2,0] a, float[2,3] b) => (float[2,3] y, float[2,0] z)",
           "y = Concat <axis = 1> (a, b, a) z = Concat <axis = 1> (a, a)"),
    static("conv_no_channels", "(float[1,0,4,4] x, float[2,0,3,3] w) => (float[1,2,2,2] y)",
           "y = Conv(x, w)"),
    static("conv_no_batch", "(float[0,3,4,4] x, float[2,3,3,3] w) => (float[0,2,2,2] y)",
           "y = Conv(x, w)"),
    static("gather_none", "(float[3,4] x) => (float[0,4] y)",
           "i = Constant <value = int64[0] {}> () y = Gather <axis = 0> (x, i)"),
    static("expand_to_empty", "(float[1,3] x) => (float[0,3] y)",
           "s = Constant <value_ints = [0, 3]> () y = Expand(x, s)"),
    static("reshape_empty", "(float[0,6] x) => (float[3,0,2] y)",
           "s = Constant <value_ints = [3, 0, 2]> () e = Exp(x)"
           " y = Reshape <allowzero = 1> (e, s)"),
    static("chain_of_empty", "(float[0,6] x, float[6] b) => (float[6] y)",
           "t = Add(x, b) u = Tanh(t) a = Constant <value_ints = [0]> ()"
           " y = ReduceSum <keepdims = 0> (u, a)"),
]


def sliced(name, start, end, calls, combine="y = Add(x, f)"):
    return Model(name, f"""g (float[B,S] x) => (float[B,S] y) {{
      a = Constant <value_ints = [{start}]> () b = Constant <value_ints = [{end}]> ()
      ax = Constant <value_ints = [1]> ()
      f = Slice(x, a, b, ax)
      {combine} }}""", calls)


SIZES = tuple({"B": b, "S": s} for b in (1, 3) for s in (0, 1, 2, 7, 33))
FULL = tuple(call for call in SIZES if call["S"])
FAR = 9223372036854775807

BROADCAST = [
    sliced("first_column", 0, 1, SIZES),
    sliced("last_column", -1, FAR, SIZES),
    sliced("first_column_product", 0, 1, SIZES, "e = Exp(f) y = Mul(e, x)"),
    sliced("first_column_twice", 0, 1, SIZES, "g = Sub(x, f) h = Mul(f, g) y = Add(h, f)"),
    sliced("first_column_where", 0, 1, SIZES, "c = Less(f, x) y = Where(c, x, f)"),
    sliced("column_without_first", 1, 2, tuple(c for c in SIZES if c["S"] > 1)),
    sliced("last_but_one", -2, -1, tuple(c for c in SIZES if c["S"] > 1)),
    sliced("out_of_range", 5, 6, ({"B": 2, "S": 0}, {"B": 2, "S": 1}, {"B": 2, "S": 6},
                                  {"B": 2, "S": 9}),
           "y = Add(x, f)"),
    Model("column_by_shape", """g (float[B,S] x) => (float[B,S] y) {
      h = Shape <start = 1, end = 2> (x) one = Constant <value_ints = [1]> ()
      d = Sub(h, one) ax = Constant <value_ints = [1]> () f = Slice(x, d, h, ax)
      y = Sub(x, f) }""", FULL),
    Model("min_with_one", """g (float[S] x) => (float[S] y) {
      h = Shape(x) z = Constant <value_ints = [0]> () o = Constant <value_ints = [1]> ()
      c = Min(h, o) f = Slice(x, z, c) y = Add(x, f) }""",
          ({"S": 0}, {"S": 1}, {"S": 2}, {"S": 9})),
    Model("residual_of_two", """g (float[S,4] x, float[T,4] y) => (float[R,4] z) {
      a = Add(x, y) b = Relu(a) c = Add(x, b) d = Mul(c, y) z = Sub(d, a) }""",
          ({"S": 1, "T": 5}, {"S": 5, "T": 1}, {"S": 3, "T": 3}, {"S": 0, "T": 1})),
    Model("size_less_itself", """g (float[S,4] x) => (float[S,4] y) {
      h = Shape <start = 0, end = 1> (x) d = Sub(h, h) o = Constant <value_ints = [1]> ()
      e = Add(d, o) z = Constant <value_ints = [0]> () f = Slice(x, z, e)
      y = Add(x, f) }""", ({"S": 0}, {"S": 1}, {"S": 6})),
    Model("two_symbols", "g (float[S,4] x, float[T,4] y) => (float[R,4] z) { z = Add(x, y) }",
          ({"S": 5, "T": 5}, {"S": 1, "T": 5}, {"S": 5, "T": 1}, {"S": 1, "T": 1},
           {"S": 0, "T": 0}, {"S": 0, "T": 1}, {"S": 1, "T": 0}),
          ({"S": 2, "T": 3}, {"S": 0, "T": 5}), "must be equal to broadcast, or one of them 1"),
    Model("number_and_symbol", """g (float[S] x) => (float[5] y) {
      c = Constant <value_floats = [1.0, 2.0, 3.0, 4.0, 5.0]> () y = Mul(x, c) }""",
          ({"S": 1}, {"S": 5}), ({"S": 0}, {"S": 4}), "must be equal to broadcast"),
    Model("three_symbols", """g (float[S,1] x, float[1,T] y, float[U,V] z) => (float[P,Q] w) {
      a = Add(x, y) w = Max(a, z, x) }""",
          ({"S": 3, "T": 4, "U": 3, "V": 4}, {"S": 3, "T": 4, "U": 1, "V": 1},
           {"S": 1, "T": 1, "U": 3, "V": 4}, {"S": 3, "T": 1, "U": 1, "V": 4})),
    Model("batch_of_product", "g (float[S,3,4] x, float[T,4,5] y) => (float[R,3,5] z)"
          " { z = MatMul(x, y) }",
          ({"S": 2, "T": 2}, {"S": 1, "T": 3}, {"S": 3, "T": 1}, {"S": 0, "T": 1})),
    Model("expand_by_shape", """g (float[S,4] x, float[T,4] y) => (float[R,4] z) {
      h = Shape(y) z = Expand(x, h) }""",
          ({"S": 1, "T": 5}, {"S": 5, "T": 1}, {"S": 3, "T": 3}, {"S": 1, "T": 0})),
    Model("expand_and_reshape", """g (float[S,4] x) => (float[R,2] y) {
      z = Constant <value_ints = [0]> () o = Constant <value_ints = [1]> ()
      f = Slice(x, z, o, z) h = Shape(x) e = Expand(f, h)
      r = Constant <value_ints = [-1, 2]> () a = Reshape(e, r) b = Reshape(x, r)
      y = Add(a, b) }""", ({"S": 0}, {"S": 1}, {"S": 2}, {"S": 17})),
    Model("reduced_first", """g (float[B,S,4] x) => (float[B,S,4] y) {
      z = Constant <value_ints = [0]> () o = Constant <value_ints = [1]> ()
      f = Slice(x, z, o, o) m = ReduceMax <keepdims = 1> (f, o) d = Sub(x, f)
      y = Mul(d, m) }""", tuple(c for c in FULL)),
    Model("scatter_of_graph", """g (float[s,8] in0, int64[2,e] in1) => (float[D,8] out0) {
      zero = Constant <value = int64 {0}> () one = Constant <value = int64 {1}> ()
      source = Gather <axis = 0> (in1, zero) rows = Gather <axis = 0> (in0, source)
      whole = Shape(in0) blank = ConstantOfShape <value = float[1] {0}> (whole)
      target = Gather <axis = 0> (in1, one)
      axes = Constant <value_ints = [0, 1]> () from = Constant <value_ints = [0, 0]> ()
      to = Constant <value_ints = [1, 9223372036854775807]> ()
      head = Slice(blank, from, to, axes) shape = Shape(head)
      wide = Expand(rows, shape) at = Constant <value_ints = [1]> ()
      column = Unsqueeze(target, at) like = Shape(wide) index = Expand(column, like)
      sums = ScatterElements <axis = 0> (blank, index, wide)
      out0 = Add(blank, sums) }""",
          ({"s": 4, "e": 1}, {"s": 4, "e": 9}, {"s": 1, "e": 5}, {"s": 7, "e": 0}),
          below={"in1": "s"}),
]

COMPILER = [
    static("own_dispatch", "(float[4,4] x) => (float[4,4] y)",
           "C = Constant <value_floats = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,"
           " 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.1, 2.2, 2.3, 2.4]> ()"
           " q = Constant <value_ints = [6, 1, 4]> () c = Reshape(C, q) s = Exp(c)"
           " sh = Constant <value_ints = [6, 2, 4]> () e = Expand(s, sh)"
           " rs = Constant <value_ints = [12, 4]> () r = Reshape(e, rs) n = Neg(r)"
           " i = Constant <value_ints = [0, 5, 7, 11]> () g = Gather <axis = 0> (n, i)"
           " y = Add(g, x)"),
    static("own_dispatch_twice", "(float[24] x) => (float[24] y)",
           "C = Constant <value_floats = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,"
           " 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.1, 2.2, 2.3, 2.4]> ()"
           " q = Constant <value_ints = [6, 1, 4]> () c = Reshape(C, q) s = Sin(c)"
           " t = Cos(c) k = Concat <axis = 2> (s, t)"
           " sh = Constant <value_ints = [6, 3, 8]> () e = Expand(k, sh)"
           " rs = Constant <value_ints = [18, 8]> () r = Reshape(e, rs)"
           " a = Constant <value_ints = [0]> () m = ReduceSum <keepdims = 0> (r, a)"
           " f = Neg(r) h = Add(f, m) ts = Constant <value_ints = [-1]> () v = Reshape(h, ts)"
           " z = Constant <value_ints = [24]> () w = Slice(v, a, z) y = Mul(w, x)"),
    static("relative_positions", "(float[16,3,4,8] x) => (float[16,3,4,8] y)",
           "p = Constant <value_floats = [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0, -1.0, -2.0,"
           " -3.0, -4.0, -5.0, -6.0, -7.0, -8.0]> () u = Constant <value_ints = [1]> ()"
           " c = Unsqueeze(p, u) s = Sin(c) t = Cos(c) k = Concat <axis = -1> (s, t)"
           " n = Unsqueeze(k, u) sh = Constant <value_ints = [-1, 3, -1]> ()"
           " o = Constant <value_ints = [1, 1, 1]> () mo = Constant <value = int64 {-1}> ()"
           " mm = Mul(o, mo) q = Equal(sh, mm) w = Where(q, o, sh) e = Expand(n, w)"
           " h = Constant <value_floats = [0.5, 0.25]> () i = Constant <value_ints = [2, 1, 1]> ()"
           " r = Reshape(h, i) so = Constant <value_ints = [2, 4, 8]> () b = Expand(r, so)"
           ' z = Einsum <equation = "ibh,hnd->ibnd"> (e, b) y = Add(z, x)'),
    Model("length_of_windows", """g (float[B,L] in0, float[B,D,32] a, float[B,D,32] b)
        => (float[B,4,D,R] y) {
      n = Shape <start = 1, end = 2> (in0) batch = Shape <start = 0, end = 1> (in0)
      ten = Constant <value_ints = [10]> () less = Constant <value_ints = [-3]> ()
      two = Constant <value_ints = [2]> () one = Constant <value_ints = [1]> ()
      open = Constant <value_ints = [-1]> () width = Constant <value_ints = [8]> ()
      d = Div(n, ten) e = Add(less, d) f = Div(e, two) length = Add(one, f)
      view = Concat <axis = 0> (batch, length, open, width)
      p = Reshape <allowzero = 1> (a, view) q = Reshape <allowzero = 1> (b, view)
      r = Transpose <perm = [0, 2, 1, 3]> (p) s = Transpose <perm = [0, 2, 3, 1]> (q)
      t = Shape(s) u = Reshape(s, t) y = MatMul(r, u) }""",
          ({"B": 1, "L": 90, "D": 4}, {"B": 2, "L": 130, "D": 6})),
    Model("seven_windows", """g (float[B,L] x, float[B,D,8] a) => (float[B,4,D,R] y) {
      n = Shape <start = 1, end = 2> (x) batch = Shape <start = 0, end = 1> (x)
      two = Constant <value_ints = [2]> () one = Constant <value_ints = [1]> ()
      three = Constant <value_ints = [3]> () five = Constant <value_ints = [5]> ()
      open = Constant <value_ints = [-1]> () width = Constant <value_ints = [2]> ()
      ten = Constant <value_ints = [10]> ()
      l0 = Sub(n, ten) l1 = Div(l0, five) m1 = Add(l1, one)
      l2 = Sub(m1, three) k2 = Div(l2, two) m2 = Add(k2, one)
      l3 = Sub(m2, three) k3 = Div(l3, two) m3 = Add(k3, one)
      l4 = Sub(m3, three) k4 = Div(l4, two) m4 = Add(k4, one)
      l5 = Sub(m4, three) k5 = Div(l5, two) m5 = Add(k5, one)
      l6 = Sub(m5, two) k6 = Div(l6, two) m6 = Add(k6, one)
      l7 = Sub(m6, two) k7 = Div(l7, two) m7 = Add(k7, one)
      view = Concat <axis = 0> (batch, m7, open, width)
      p = Reshape <allowzero = 1> (a, view)
      r = Transpose <perm = [0, 2, 1, 3]> (p) s = Transpose <perm = [0, 2, 3, 1]> (p)
      y = MatMul(r, s) }""",
          ({"B": 1, "L": 1000, "D": 3}, {"B": 2, "L": 4000, "D": 12})),
]



def chosen(name, relation, flag, body):
    """A size that Where chooses: 7, or |(n - 4) / 2| + 2, rounded towards zero."""
    return Model(f"{name}_where_{relation}_{flag}".lower(), f"""g (float[n,1] x) => (float[p,q] y) {{
      size = Shape <start = 0, end = 1> (x) four = Constant <value_ints = [4]> ()
      two = Constant <value_ints = [2]> () seven = Constant <value_ints = [7]> ()
      holds = {relation}(size, four) fails = Not(holds)
      less = Sub(size, four) half = Div(less, two) far = Abs(half) other = Add(far, two)
      last = Where({flag}, seven, other) shape = Concat <axis = 0> (size, last)
      wide = Expand(x, shape) {body} }}""", tuple({"n": n} for n in (0, 1, 2, 4, 5, 12)))


CHOSEN = [
    *(chosen("chosen", relation, flag, "y = Exp(wide)")
      for relation in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")
      for flag in ("holds", "fails")),
    chosen("chosen_product", "Equal", "holds", "e = Sin(wide) s = Softmax <axis = 1> (e)"
           " t = Transpose <perm = [1, 0]> (s) y = MatMul(t, s)"),
]

def backward(start, end, step):
    """A slice against the order of an axis whose size only the call tells."""
    return Model(f"slice_back_{start}_{end}_{step}", f"""g (float[n] x) => (float[p] y) {{
      s = Constant <value_ints = [{start}]> () e = Constant <value_ints = [{end}]> ()
      a = Constant <value_ints = [0]> () t = Constant <value_ints = [{step}]> ()
      y = Slice(x, s, e, a, t) }}""", tuple({"n": n} for n in (0, 3, 4, 7, 12)))


BACKWARD = [backward(start, end, step) for start, end in ((-1, 0), (5, 1), (2, -9), (-2, -4), (1, 5))
            for step in (-1, -3)]

def resized(name, attributes, scales="", calls=()):
    """An image of any size by scales, or to the size of another one."""
    by_scales = f"s = Constant <value_floats = [1.0, {scales}]> () y = Resize <{attributes}> (x, , s)"
    by_sizes = ("one = Constant <value_ints = [2]> () p = Shape(o) s = Concat <axis = 0> (one, p)"
                f" y = Resize <{attributes}> (x, , , s)")
    other = "" if scales else ", float[p,q] o"
    return Model(f"resize_{name}", f"""g (float[2,h,w] x{other}) => (float[2,u,v] y) {{
      {by_scales if scales else by_sizes} }}""", calls or (
          tuple({"h": h, "w": w} for h, w in ((4, 8), (8, 12), (12, 4))) if scales else
          tuple({"h": h, "w": w, "p": p, "q": q} for h, w, p, q in
                ((4, 7, 8, 5), (5, 5, 5, 11), (1, 6, 3, 1), (9, 3, 1, 8)))))


RESIZED = [
    resized("linear", 'mode = "linear"', "2.0, 0.5"),
    resized("linear_sizes", 'mode = "linear"'),
    resized("linear_corners", 'mode = "linear", coordinate_transformation_mode = "align_corners"'),
    resized("linear_torch", 'mode = "linear", coordinate_transformation_mode = '
            '"pytorch_half_pixel"'),
    resized("linear_fraction", 'mode = "linear", coordinate_transformation_mode = "asymmetric"',
            "1.5, 0.75"),
    resized("cubic", 'mode = "cubic"', "2.0, 1.25"),
    resized("cubic_sizes", 'mode = "cubic", cubic_coeff_a = -0.5, exclude_outside = 1'),
    resized("nearest_sizes", 'mode = "nearest", coordinate_transformation_mode = "asymmetric", '
            'nearest_mode = "floor"'),
    resized("nearest_ceil", 'mode = "nearest", nearest_mode = "ceil"', "0.5, 2.5"),
    Model("resize_no_whole_size", """g (float[h] x) => (float[u] y) {
      s = Constant <value_floats = [0.5]> ()
      y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (x, , s) }""",
          ({"h": 4},), refused=({"h": 5},), words="the scale gives a whole size"),
]

NEWER = [
    Model("pad_wrap", """g (float[n,m] x) => (float[p,q] y) {
      s = Constant <value_ints = [3, 0, 1, 2]> () y = Pad <mode = "wrap"> (x, s) }""",
          ({"n": 1, "m": 2}, {"n": 2, "m": 5}, {"n": 7, "m": 3}), opset=19),
    Model("center_crop_pad", """g (float[n,m] x, float[p,q] o) => (float[p,q] y) {
      s = Shape(o) y = CenterCropPad(x, s) }""",
          ({"n": 4, "m": 4, "p": 7, "q": 1}, {"n": 5, "m": 2, "p": 2, "q": 5},
           {"n": 3, "m": 3, "p": 3, "q": 3})),
    Model("affine_grid", """g (float[n,2,3] t, float[n,1,h,w] o) => (float[n,h,w,2] y) {
      s = Shape(o) y = AffineGrid(t, s) }""",
          ({"n": 1, "h": 3, "w": 5}, {"n": 2, "h": 1, "w": 4}), opset=20),
    *(Model(f"cache_{mode}", f"""g (float[b,2,t,3] c, float[b,2,s,3] u, int64[b] i) => (float[b,2,t,3] y) {{
      y = TensorScatter <mode = "{mode}"> (c, u, i) }}""", calls, refused=refused,
            words="index", below={"i": "t"}, opset=24)
      for mode, calls, refused in (
          ("linear", ({"b": 1, "t": 1, "s": 1},), ({"b": 2, "t": 3, "s": 4},)),
          ("circular", ({"b": 1, "t": 5, "s": 2}, {"b": 3, "t": 4, "s": 4}), ()))),
]

MODELS = EMPTY + BROADCAST + COMPILER + CHOSEN + BACKWARD + RESIZED + NEWER
