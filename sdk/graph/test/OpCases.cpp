// SPDX-License-Identifier: Apache-2.0
#include "OpCases.h"

namespace backplane::test {

namespace {

const std::string id(32, 'a');

Attributes typed(std::string_view dims, DType dtype = DType::F32) {
  return {{"dtype", DT(dtype)}, {"dims", Ds(dims)}};
}

Attributes with(Attributes attributes, const std::string &name,
                Attribute value) {
  attributes[name] = std::move(value);
  return attributes;
}

Attributes window2() {
  return {{"strides", L({2, 2})},
          {"dilations", L({1, 1})},
          {"low", L({1, 1})},
          {"high", L({1, 1})}};
}

Attributes pool2() { return with(window2(), "window", L({3, 3})); }
Attributes maxPool2() { return with(pool2(), "kind", S("max")); }
Attributes transpose2() { return with(window2(), "output_padding", L({1, 1})); }

Attributes box(std::string_view starts, std::string_view sizes,
               std::vector<int64_t> strides) {
  return {
      {"starts", Ds(starts)}, {"sizes", Ds(sizes)}, {"strides", L(strides)}};
}

Attributes padding(std::string_view low, std::string_view high,
                   std::string mode) {
  return {{"low", Ds(low)}, {"high", Ds(high)}, {"mode", S(std::move(mode))}};
}

Attributes axes(std::vector<int64_t> list) { return {{"axes", L(list)}}; }
Attributes reduce(std::string kind, std::vector<int64_t> list) {
  return with(axes(std::move(list)), "kind", S(std::move(kind)));
}

std::vector<OpCase> elementwise() {
  std::vector<OpCase> cases;
  for (const char *op :
       {"neg",          "abs",      "sign",       "floor",      "ceil",
        "trunc",        "sqrt",     "rsqrt",      "recip",      "exp",
        "log",          "log1p",    "expm1",      "sin",        "cos",
        "tan",          "atan",     "tanh",       "erf",        "relu",
        "sigmoid",      "silu",     "softplus",   "elu",        "hard_swish",
        "hard_sigmoid", "gelu",     "round_even", "leaky_relu", "asin",
        "acos",         "sinh",     "cosh",       "asinh",      "acosh",
        "atanh",        "softsign", "mish",       "selu",       "celu"})
    cases.push_back({op, {"f16[n, 4]"}, {}, "f16[n, 4]"});
  for (const char *op :
       {"add", "sub", "mul", "min", "max", "div", "rem", "pow", "prelu"})
    cases.push_back({op, {"f32[n, 4]", "f32[n, 4]"}, {}, "f32[n, 4]"});
  for (const char *op : {"shl", "shr"})
    cases.push_back({op, {"u8[n]", "u8[n]"}, {}, "u8[n]"});
  for (const char *op : {"and", "or", "xor"})
    cases.push_back({op, {"bool[]", "bool[]"}, {}, "bool[]"});
  for (const char *op : {"is_nan", "is_inf"})
    cases.push_back({op, {"f64[2]"}, {}, "bool[2]"});
  cases.push_back({"not", {"i8[3]"}, {}, "i8[3]"});
  cases.push_back({"neg", {"i32[]"}, {}, "i32[]"});
  cases.push_back(
      {"clamp", {"i32[3]"}, {{"low", 0.0}, {"high", 6.0}}, "i32[3]"});
  cases.push_back(
      {"compare", {"i64[n]", "i64[n]"}, {{"direction", S("lt")}}, "bool[n]"});
  cases.push_back({"cast", {"f32[n]"}, {{"dtype", DT(DType::I8)}}, "i8[n]"});
  cases.push_back({"select", {"bool[n]", "f32[n]", "f32[n]"}, {}, "f32[n]"});
  return cases;
}

std::vector<OpCase> constants() {
  return {
      {"weight", {}, with(typed("3, 4"), "id", S(id)), "f32[3, 4]"},
      {"constant", {}, with(typed("n"), "value", Bytes(4)), "f32[n]"},
      {"constant", {}, with(typed("2, 3"), "value", Bytes(24)), "f32[2, 3]"},
      {"constant", {}, with(typed("3", DType::I4), "value", Bytes(2)), "i4[3]"},
      {"iota", {}, with(typed("n, 4"), "axis", I(1)), "f32[n, 4]"},
      {"random_bits", {"u64[]", "u64[]"}, {{"dims", Ds("n, 4")}}, "u32[n, 4]"},
      {"dim", {}, {{"value", Ds("n, 4")}}, "i64[2]"},
      {"variable_read", {}, with(typed("3"), "variable", S("v")), "f32[3]"},
      {"variable_write", {"f32[3]"}, {{"variable", S("v")}}, ""},
      {"read", {"i64[]"}, {{"symbol", S("k")}, {"bound", Ds("n")}}, "i64[]"},
  };
}

std::vector<OpCase> movement() {
  return {
      {"broadcast",
       {"f32[1, n]"},
       {{"dims", Ds("3, 2, n")}, {"axes", L({1, 2})}},
       "f32[3, 2, n]"},
      {"broadcast", {"f32[]"}, with(axes({}), "dims", Ds("n")), "f32[n]"},
      {"reshape", {"f32[n, 4]"}, {{"dims", Ds("2, 2*n")}}, "f32[2, 2*n]"},
      {"reshape", {"f32[n]"}, {{"dims", Ds("m, 2")}}, "f32[m, 2]"},
      {"transpose",
       {"f32[n, 2, 3]"},
       {{"permutation", L({2, 0, 1})}},
       "f32[3, n, 2]"},
      {"slice", {"f32[10]"}, box("1", "5", {2}), "f32[5]"},
      {"slice", {"f32[10]"}, box("10", "0", {1}), "f32[0]"},
      {"slice", {"f32[n]"}, box("n - 1", "1", {1}), "f32[1]"},
      {"concat", {"f32[n, 2]", "f32[n, 3]"}, {{"axis", I(1)}}, "f32[n, 5]"},
      {"concat", {"f32[n]"}, {{"axis", I(0)}}, "f32[n]"},
      {"pad",
       {"f32[n, 2]", "f32[]"},
       padding("0, 1", "3, 0", "constant"),
       "f32[n + 3, 3]"},
      {"pad", {"f32[4]", "f32[]"}, padding("3", "0", "reflect"), "f32[7]"},
      {"reverse", {"f32[n, 2]"}, axes({0, 1}), "f32[n, 2]"},
      {"gather",
       {"f32[9, n, 4]", "i32[2, k]"},
       {{"axis", I(1)}},
       "f32[9, 2, k, 4]"},
      {"gather", {"f16[9, 4]", "i64[]"}, {}, "f16[4]"},
      {"scatter",
       {"f32[9, n, 4]", "i32[2, k]", "f32[9, 2, k, 4]"},
       {{"axis", I(1)}, {"combine", S("add")}},
       "f32[9, n, 4]"},
      {"scatter", {"bool[9, 4]", "i64[]", "bool[4]"}, {}, "bool[9, 4]"},
      {"scatter", {"i4[9]", "i64[2]", "i4[2]"}, {}, "i4[9]"},
  };
}

std::vector<OpCase> ordered() {
  return {
      {"cumulative",
       {"i32[n, 4]"},
       {{"kind", S("sum")}, {"axis", I(0)}},
       "i32[n, 4]"},
      {"top_k",
       {"f32[n, 9]"},
       {{"k", Ds("3")}, {"axis", I(1)}},
       "f32[n, 3]i64[n, 3]"},
      {"top_k",
       {"u8[n]"},
       {{"k", Ds("n")}, {"axis", I(0)}, {"largest", I(0)}},
       "u8[n]i64[n]"},
      {"log_sum_exp", {"f32[n, 2, 3]"}, axes({0, 2}), "f32[2]"},
      {"log_sum_exp",
       {"f16[n, 2]"},
       with(axes({1}), "keep", I(1)),
       "f16[n, 1]"},
  };
}

Attributes scores(std::string_view causal) {
  return {{"scale", 0.5}, {"causal", Ds(causal)}};
}

std::vector<OpCase> attention() {
  const std::string q = "f16[n, 8, s, 6]", k = "f16[n, 2, h, 6]",
                    v = "f16[n, 2, h, 5]";
  return {
      {"attention", {q, k, v}, scores(""), "f16[n, 8, s, 5]"},
      {"attention",
       {q, k, v, "f16[n, 1, s, h]"},
       with(scores("h - s"), "soft_cap", 3.0),
       "f16[n, 8, s, 5]"},
      {"attention",
       {"f32[2, m, s, 4]", "f32[2, m, h, 4]", "f32[2, m, h, 4]"},
       scores("0"),
       "f32[2, m, s, 4]"},
      {"rotary",
       {"f32[n, 8, s, 6]", "f32[n, s, 3]", "f32[n, s, 3]"},
       {},
       "f32[n, 8, s, 6]"},
      {"rotary",
       {"f32[n, h, s, 6]", "f32[n, s, 3]", "f32[n, s, 3]"},
       {{"interleaved", I(1)}},
       "f32[n, h, s, 6]"},
      {"rms_norm",
       {"f32[n, s, 8]", "f32[s, 8]"},
       {{"axis", I(1)}},
       "f32[n, s, 8]"},
      {"group_norm",
       {"f32[n, 8, h]", "f32[8]", "f32[8]"},
       {{"groups", I(4)}},
       "f32[n, 8, h]"},
      {"group_norm",
       {"f32[n, 8, h]", "f32[8]", "f32[8]"},
       {{"groups", I(8)}},
       "f32[n, 8, h]"},
  };
}

Attributes layout(std::vector<int64_t> axes, std::vector<int64_t> tiles,
                  std::vector<int64_t> order = {}) {
  return {{"axes", L(std::move(axes))},
          {"tiles", L(std::move(tiles))},
          {"order", L(std::move(order))}};
}

Attributes layoutOf(std::string_view sizes, Attributes attributes) {
  return with(std::move(attributes), "sizes", Ds(sizes));
}

std::vector<OpCase> layouts() {
  return {
      {"pack",
       {"f32[n, 64, 7, 9]"},
       {{"axes", L({1})}, {"tiles", L({8})}},
       "f32[n, 8, 7, 9, 8]"},
      {"pack",
       {"i4[m, n]", "i4[]"},
       layout({1, 0}, {4, 16}, {1, 0}),
       "i4[(n + 3) floordiv 4, (m + 15) floordiv 16, 4, 16]"},
      {"pack", {"bool[]"}, layout({}, {}), "bool[]"},
      {"pack", {"f32[0, 5]"}, layout({0, 1}, {3, 1}), "f32[0, 5, 3, 1]"},
      {"unpack",
       {"f32[n, 8, 7, 9, 8]"},
       layoutOf("n, 61, 7, 9", layout({1}, {8})),
       "f32[n, 61, 7, 9]"},
      {"unpack",
       {"i4[(n + 3) floordiv 4, (m + 15) floordiv 16, 4, 16]"},
       layoutOf("m, n", layout({1, 0}, {4, 16}, {1, 0})),
       "i4[m, n]"},
      {"unpack", {"u8[n, 8]"}, layoutOf("8*n", layout({0}, {8})), "u8[8*n]"},
  };
}

std::vector<OpCase> smallIntegers() {
  return {
      {"matmul_integer",
       {"u8[n, 2, 3]", "i8[3, 5]", "u8[]", "i8[5]"},
       {},
       "i32[n, 2, 5]"},
      {"matmul_integer",
       {"i8[3, 2]", "i8[5, 3]", "i8[2]", "i8[5]"},
       {{"transpose_a", I(1)}, {"transpose_b", I(1)}},
       "i32[2, 5]"},
      {"conv_integer",
       {"u8[n, 4, 9, 9]", "i8[6, 2, 3, 3]", "u8[]", "i8[6]"},
       with(window2(), "groups", I(2)),
       "i32[n, 6, 5, 5]"},
  };
}

std::vector<OpCase> contraction() {
  return {
      {"reduce", {"f32[n, 2, 3]"}, reduce("sum", {0, 2}), "f32[2]"},
      {"reduce",
       {"bool[n, 2]"},
       with(reduce("or", {1}), "keep", I(1)),
       "bool[n, 1]"},
      {"arg_reduce",
       {"f32[n, 9]"},
       {{"kind", S("max")}, {"axis", I(1)}},
       "i64[n]"},
      {"matmul", {"f32[n, 2, 3]", "f32[3, 5]"}, {}, "f32[n, 2, 5]"},
      {"matmul",
       {"f16[b, 3, 2]", "f16[b, 5, 3]"},
       {{"transpose_a", I(1)}, {"transpose_b", I(1)}},
       "f16[b, 2, 5]"},
      {"conv",
       {"f32[n, 4, 9, h]", "f32[6, 2, 3, 3]"},
       with(window2(), "groups", I(2)),
       "f32[n, 6, 5, (h + 1) floordiv 2]"},
      {"conv_transpose",
       {"f32[n, 4, 5, h]", "f32[4, 3, 3, 3]"},
       with(transpose2(), "groups", I(2)),
       "f32[n, 6, 10, 2*h]"},
      {"pool",
       {"f32[n, 4, 9, h]"},
       maxPool2(),
       "f32[n, 4, 5, (h + 1) floordiv 2]"},
      {"avg_pool", {"f32[n, 4, 9, 9]"}, pool2(), "f32[n, 4, 5, 5]"},
      {"softmax", {"f32[n, 9]"}, {{"axis", I(1)}}, "f32[n, 9]"},
      {"log_softmax", {"f32[n, 9]"}, {{"axis", I(0)}}, "f32[n, 9]"},
      {"layer_norm",
       {"f32[n, s, 8]", "f32[s, 8]", "f32[s, 8]"},
       {{"axis", I(1)}},
       "f32[n, s, 8]"},
      {"batch_norm",
       {"f32[n, 8, h]", "f32[8]", "f32[8]", "f32[8]", "f32[8]"},
       {},
       "f32[n, 8, h]"},
  };
}

std::vector<OpCase> badElementwise() {
  std::vector<OpCase> cases;
  for (const char *op :
       {"add", "sub", "mul", "min", "max", "div", "rem", "pow", "prelu"})
    cases.push_back({op, {"f32[n]", "f32[m]"}, {}, "C1"});
  for (const char *op : {"and", "or", "xor", "shl", "shr"})
    cases.push_back({op, {"i8[1]", "i8[2]"}, {}, "C1"});
  cases.push_back(
      {"compare", {"f32[2]", "f32[]"}, {{"direction", S("eq")}}, "C1"});
  cases.push_back({"select", {"f32[n]", "f32[n]", "f32[n]"}, {}, "C1"});
  cases.push_back({"select", {"bool[m]", "f32[n]", "f32[n]"}, {}, "C1"});
  cases.push_back({"select", {"bool[n]", "f32[n]", "f32[m]"}, {}, "C2"});
  return cases;
}

std::vector<OpCase> badConstants() {
  return {
      {"weight", {}, with(typed("n"), "id", S(id)), "C1"},
      {"weight", {}, with(typed("3"), "id", S("aa")), "C2"},
      {"weight", {}, with(typed("3"), "id", S(std::string(32, 'g'))), "C2"},
      {"constant", {}, with(typed("2"), "value", Bytes(12)), "C1"},
      {"constant", {}, with(typed("n"), "value", Bytes(8)), "C1"},
      {"constant", {}, with(typed("2000"), "value", Bytes(8000)), "C2"},
      {"iota", {}, with(typed("n, 4"), "axis", I(2)), "C1"},
      {"iota", {}, with(typed("n, 4"), "axis", I(-1)), "C1"},
      {"random_bits", {"u64[]", "u64[2]"}, {{"dims", Ds("4")}}, "C1"},
      {"random_bits", {"u32[]", "u32[]"}, {{"dims", Ds("4")}}, "C1"},
      {"variable_read", {}, with(typed("n"), "variable", S("v")), "C1"},
      {"read", {"i64[1]"}, {{"symbol", S("k")}, {"bound", Ds("n")}}, "C1"},
      {"read", {"i64[]"}, {{"symbol", S("k")}, {"bound", Ds("n, 2")}}, "C2"},
  };
}

std::vector<OpCase> badMovement() {
  return {
      {"broadcast", {"f32[2]"}, with(axes({}), "dims", Ds("2")), "C1"},
      {"broadcast", {"f32[2]"}, with(axes({1}), "dims", Ds("2")), "C1"},
      {"broadcast",
       {"f32[2, 2]"},
       with(axes({1, 0}), "dims", Ds("2, 2")),
       "C1"},
      {"broadcast", {"f32[n]"}, with(axes({0}), "dims", Ds("m")), "C2"},
      {"reshape", {"f32[2, 3]"}, {{"dims", Ds("7")}}, "C1"},
      {"reshape", {"f32[n]"}, {{"dims", Ds("n + 1")}}, "C1"},
      {"transpose", {"f32[2, 3]"}, {{"permutation", L({0, 0})}}, "C1"},
      {"transpose", {"f32[2, 3]"}, {{"permutation", L({0})}}, "C1"},
      {"slice", {"f32[4]"}, box("0, 0", "1", {1}), "C1"},
      {"slice", {"f32[4]"}, box("0", "1", {0}), "C2"},
      {"slice", {"f32[4]"}, box("2", "2", {2}), "C3"},
      {"slice", {"f32[4]"}, box("-1", "2", {1}), "C3"},
      {"slice", {"f32[n]"}, box("1", "n", {1}), "C3"},
      {"concat", {"f32[n, 2]", "f32[m, 2]"}, {{"axis", I(1)}}, "C1"},
      {"concat", {"f32[n, 2]", "f32[2]"}, {{"axis", I(1)}}, "C1"},
      {"concat", {"f32[]"}, {{"axis", I(0)}}, "C2"},
      {"pad", {"f32[4]", "f32[1]"}, padding("0", "0", "constant"), "C1"},
      {"pad", {"f32[4]", "f32[]"}, padding("0", "", "constant"), "C2"},
      {"pad", {"f32[4]", "f32[]"}, padding("-1", "0", "constant"), "C2"},
      {"pad", {"f32[4]", "f32[]"}, padding("4", "0", "reflect"), "C3"},
      {"pad", {"f32[0]", "f32[]"}, padding("1", "0", "edge"), "C3"},
      {"reverse", {"f32[2]"}, axes({0, 0}), "C1"},
      {"gather", {"f32[2]", "f32[2]"}, {}, "C1"},
      {"gather", {"f32[2]", "i64[2]"}, {{"axis", I(1)}}, "C3"},
      {"scatter", {"f32[2]", "u8[2]", "f32[2]"}, {}, "C1"},
      {"scatter", {"f32[2, n]", "i64[3]", "f32[3, m]"}, {}, "C2"},
      {"scatter", {"f32[2]", "i64[2]", "f32[2]"}, {{"axis", I(1)}}, "C3"},
      {"scatter",
       {"bool[2]", "i64[2]", "bool[2]"},
       {{"combine", S("add")}},
       "C4"},
      {"scatter", {"i4[2]", "i64[2]", "i4[2]"}, {{"combine", S("max")}}, "C4"},
  };
}

std::vector<OpCase> badOrdered() {
  return {
      {"cumulative", {"f32[2]"}, {{"kind", S("sum")}, {"axis", I(1)}}, "C1"},
      {"top_k", {"f32[2]"}, {{"k", Ds("1")}, {"axis", I(-1)}}, "C1"},
      {"top_k", {"f32[2]"}, {{"k", Ds("1, 1")}, {"axis", I(0)}}, "C2"},
      {"top_k", {"f32[2]"}, {{"k", Ds("3")}, {"axis", I(0)}}, "C3"},
      {"top_k", {"f32[n]"}, {{"k", Ds("n + 1")}, {"axis", I(0)}}, "C3"},
      {"log_sum_exp", {"f32[2, 2]"}, axes({1, 0}), "C1"},
  };
}

std::vector<OpCase> badAttention() {
  const std::string q = "f32[n, 8, s, 6]", k = "f32[n, 2, h, 6]",
                    v = "f32[n, 2, h, 5]", angles = "f32[n, s, 3]";
  return {
      {"attention", {q, k, "f32[n, 2, h]"}, scores(""), "C1"},
      {"attention", {q, "f32[m, 2, h, 6]", v}, scores(""), "C2"},
      {"attention", {q, k, "f32[n, 4, h, 5]"}, scores(""), "C2"},
      {"attention", {q, "f32[n, 2, h, 7]", v}, scores(""), "C2"},
      {"attention",
       {q, "f32[n, 3, h, 6]", "f32[n, 3, h, 5]"},
       scores(""),
       "C3"},
      {"attention", {q, k, v, "f32[s, h]"}, scores(""), "C4"},
      {"attention", {q, k, v, "f32[n, 2, s, h]"}, scores(""), "C4"},
      {"attention", {q, k, v}, scores("0, 0"), "C5"},
      {"rotary", {"f32[n, s, 6]", angles, angles}, {}, "C1"},
      {"rotary", {"f32[n, 8, s, 7]", angles, angles}, {}, "C1"},
      {"rotary", {q, angles, "f32[n, s, 6]"}, {}, "C2"},
      {"rms_norm", {"f32[n, 8]", "f32[7]"}, {{"axis", I(1)}}, "C1"},
      {"rms_norm", {"f32[n, 8]", "f32[8]"}, {{"axis", I(2)}}, "C2"},
      {"group_norm",
       {"f32[n, 8]", "f32[8]", "f32[4]"},
       {{"groups", I(4)}},
       "C1"},
      {"group_norm", {"f32[8]", "f32[8]", "f32[8]"}, {{"groups", I(4)}}, "C2"},
      {"group_norm",
       {"f32[n, 8]", "f32[8]", "f32[8]"},
       {{"groups", I(3)}},
       "C3"},
      {"group_norm",
       {"f32[n, 8]", "f32[8]", "f32[8]"},
       {{"groups", I(0)}},
       "C3"},
  };
}

std::vector<OpCase> badLayouts() {
  return {
      {"pack", {"f32[4, 5]"}, layout({2}, {1}), "C1"},
      {"pack", {"f32[4, 5]"}, layout({-1}, {1}), "C1"},
      {"pack", {"f32[4, 5]"}, layout({1, 1}, {1, 2}), "C1"},
      {"pack", {"f32[4, 5]"}, layout({1}, {}), "C2"},
      {"pack", {"f32[4, 5]"}, layout({1}, {0}), "C2"},
      {"pack", {"f32[4, 5]"}, layout({1}, {INT64_MIN}), "C2"},
      {"pack", {"f32[4, 5]"}, layout({1}, {2}, {0}), "C3"},
      {"pack", {"f32[4, 5]"}, layout({1}, {2}, {0, 0}), "C3"},
      {"pack", {"f32[4, 5]"}, layout({1}, {2}, {0, 2}), "C3"},
      {"pack", {"f32[4]", "f32[1]"}, layout({0}, {2}), "C4"},
      {"unpack", {"f32[4, 2]"}, layoutOf("8", layout({1}, {2})), "C1"},
      {"unpack", {"f32[4, 2]"}, layoutOf("8", layout({0}, {0})), "C2"},
      {"unpack", {"f32[4, 2]"}, layoutOf("8", layout({0}, {2}, {1})), "C3"},
      {"unpack", {"f32[4, 2]"}, layoutOf("9", layout({0}, {2})), "C4"},
      {"unpack", {"f32[4, 2]"}, layoutOf("8", layout({0}, {3})), "C4"},
      {"unpack", {"f32[n, 2]"}, layoutOf("n", layout({0}, {2})), "C4"},
      {"unpack", {"f32[4]"}, layoutOf("8", layout({0}, {2})), "C4"},
  };
}

std::vector<OpCase> badSmallIntegers() {
  const std::string x = "u8[1, 4, 9, 9]", w = "i8[6, 4, 3, 3]";
  return {
      {"matmul_integer", {"u8[2]", "i8[2, 2]", "u8[]", "i8[]"}, {}, "C1"},
      {"matmul_integer", {"u8[2, 2]", "i8[2, 2, 2]", "u8[]", "i8[]"}, {}, "C2"},
      {"matmul_integer",
       {"u8[n, 2, 2]", "i8[m, 2, 2]", "u8[]", "i8[]"},
       {},
       "C3"},
      {"matmul_integer", {"u8[2, 3]", "i8[2, 3]", "u8[]", "i8[]"}, {}, "C4"},
      {"matmul_integer", {"u8[2, 3]", "i16[3, 3]", "u8[]", "i16[]"}, {}, "C5"},
      {"matmul_integer", {"u8[2, 3]", "i8[3, 3]", "u8[]", "u8[]"}, {}, "C5"},
      {"matmul_integer", {"u8[2, 3]", "i8[3, 5]", "u8[3]", "i8[]"}, {}, "C6"},
      {"matmul_integer", {"u8[2, 3]", "i8[3, 5]", "u8[]", "i8[2]"}, {}, "C6"},
      {"conv_integer",
       {"u8[1, 4]", "i8[6, 4]", "u8[]", "i8[]"},
       window2(),
       "C1"},
      {"conv_integer",
       {x, w, "u8[]", "i8[]"},
       with(window2(), "low", L({1})),
       "C2"},
      {"conv_integer",
       {x, w, "u8[]", "i8[]"},
       with(window2(), "groups", I(2)),
       "C3"},
      {"conv_integer",
       {x, w, "u8[]", "i8[]"},
       with(window2(), "strides", L({0, 1})),
       "C4"},
      {"conv_integer", {x, w, "i8[]", "i8[]"}, window2(), "C5"},
      {"conv_integer", {x, w, "u8[1]", "i8[]"}, window2(), "C6"},
      {"conv_integer", {x, w, "u8[]", "i8[4]"}, window2(), "C6"},
  };
}

std::vector<OpCase> badReductions() {
  return {
      {"reduce", {"f32[2, 2]"}, reduce("sum", {1, 0}), "C1"},
      {"reduce", {"f32[2, 2]"}, reduce("sum", {2}), "C1"},
      {"reduce", {"f32[2]"}, reduce("and", {0}), "C2"},
      {"reduce", {"bool[2]"}, reduce("sum", {0}), "C2"},
      {"arg_reduce", {"f32[2]"}, {{"kind", S("min")}, {"axis", I(1)}}, "C1"},
      {"softmax", {"f32[2]"}, {{"axis", I(-1)}}, "C1"},
      {"log_softmax", {"f32[]"}, {{"axis", I(0)}}, "C1"},
      {"layer_norm", {"f32[n, 8]", "f32[8]", "f32[7]"}, {{"axis", I(1)}}, "C1"},
      {"layer_norm", {"f32[n, 8]", "f32[8]", "f32[8]"}, {{"axis", I(2)}}, "C2"},
      {"batch_norm",
       {"f32[n, 8]", "f32[8]", "f32[8]", "f32[8]", "f32[7]"},
       {},
       "C1"},
      {"batch_norm",
       {"f32[8]", "f32[8]", "f32[8]", "f32[8]", "f32[8]"},
       {},
       "C2"},
  };
}

std::vector<OpCase> badContractions() {
  const std::vector<std::string> x = {"f32[1, 4, 9, 9]", "f32[6, 4, 3, 3]"};
  const std::vector<std::string> t = {"f32[1, 4, 9, 9]", "f32[4, 6, 3, 3]"};
  return {
      {"matmul", {"f32[2]", "f32[2, 2]"}, {}, "C1"},
      {"matmul", {"f32[2, 2]", "f32[2, 2, 2]"}, {}, "C2"},
      {"matmul", {"f32[n, 2, 2]", "f32[m, 2, 2]"}, {}, "C3"},
      {"matmul", {"f32[2, 3]", "f32[2, 3]"}, {}, "C4"},
      {"matmul", {"f32[2, 2]", "f32[2, 2]"}, {{"wide", I(1)}}, "C5"},
      {"conv", {"f32[1, 4]", "f32[6, 4]"}, window2(), "C1"},
      {"conv", x, with(window2(), "low", L({1})), "C2"},
      {"conv", x, with(window2(), "groups", I(2)), "C3"},
      {"conv",
       {"f32[1, 4, 9, 9]", "f32[5, 2, 3, 3]"},
       with(window2(), "groups", I(2)),
       "C3"},
      {"conv", x, with(window2(), "strides", L({0, 1})), "C4"},
      {"conv", x, with(window2(), "high", L({0, -1})), "C4"},
      {"conv", x, with(window2(), "groups", I(0)), "C4"},
      {"conv", x, with(window2(), "wide", I(1)), "C5"},
      {"conv_transpose", {"f32[1, 4, 9]", "f32[4, 6]"}, transpose2(), "C1"},
      {"conv_transpose", t, with(transpose2(), "output_padding", L({})), "C2"},
      {"conv_transpose", t, with(transpose2(), "groups", I(3)), "C3"},
      {"conv_transpose", x, transpose2(), "C3"},
      {"conv_transpose", t, with(transpose2(), "dilations", L({0, 1})), "C4"},
      {"conv_transpose", t, with(transpose2(), "groups", I(-1)), "C4"},
      {"conv_transpose", t, with(transpose2(), "wide", I(1)), "C5"},
      {"pool", {"f32[1, 4]"}, maxPool2(), "C1"},
      {"pool", {"f32[1, 4, 9]"}, maxPool2(), "C2"},
      {"pool", {x[0]}, with(maxPool2(), "window", L({0, 1})), "C3"},
      {"avg_pool", {"f32[1, 4]"}, pool2(), "C1"},
      {"avg_pool", {"f32[1, 4, 9]"}, pool2(), "C2"},
      {"avg_pool", {x[0]}, with(pool2(), "low", L({-1, 1})), "C3"},
  };
}

std::vector<OpCase> joined(std::initializer_list<std::vector<OpCase>> lists) {
  std::vector<OpCase> all;
  for (const auto &list : lists)
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

} // namespace

std::vector<OpCase> goodCases() {
  return joined({elementwise(), constants(), movement(), contraction(),
                 ordered(), attention(), layouts(), smallIntegers()});
}

std::vector<OpCase> badCases() {
  return joined({badElementwise(), badConstants(), badMovement(),
                 badReductions(), badContractions(), badOrdered(),
                 badAttention(), badLayouts(), badSmallIntegers()});
}

std::vector<OpCase> wrongUses() {
  return {
      {"add", {"f32[]"}, {}, "add: takes 2 operands, found 1"},
      {"concat",
       {},
       {{"axis", I(0)}},
       "concat: takes 1 or more operands, found 0"},
      {"add",
       {"f32[]", "f16[]"},
       {},
       "add: operands share one dtype, found f32 and f16"},
      {"attention",
       {"f32[]"},
       scores(""),
       "attention: takes 3 to 4 operands, found 1"},
      {"exp", {"i32[]"}, {}, "exp: operand x is i32, needs a float"},
      {"neg",
       {"i4[]"},
       {},
       "neg: operand x is i4, needs a float or an integer"},
      {"exp", {"f8e5m2[]"}, {}, "exp: operand x is f8e5m2, needs a float"},
      {"add",
       {"bool[]", "bool[]"},
       {},
       "add: operand a is bool, needs a float or an integer"},
      {"not", {"f32[]"}, {}, "not: operand x is f32, needs an integer or bool"},
      {"iota",
       {},
       typed("4", DType::Bool),
       "iota: dtype is bool, needs a float or an integer"},
      {"neg", {"f32[]"}, {{"axis", I(0)}}, "neg: has no attribute axis"},
      {"softmax", {"f32[2]"}, {}, "softmax: attribute axis is missing"},
      {"softmax",
       {"f32[2]"},
       {{"axis", 1.0}},
       "softmax: axis is a float, needs an integer"},
      {"matmul",
       {"f32[2, 2]", "f32[2, 2]"},
       {{"transpose_a", I(2)}},
       "matmul: transpose_a is 2, needs 0 or 1"},
      {"cast",
       {"f32[]"},
       {{"dtype", I(99)}},
       "cast: dtype is 99, which is no "
       "dtype"},
      {"compare",
       {"f32[]", "f32[]"},
       {{"direction", S("near")}},
       "compare: direction is \"near\", needs one of eq|ne|lt|le|gt|ge"},
      {"conv",
       {"f32[1, 1, 2, 2]", "f32[1, 1, 7, 7]"},
       window2(),
       "conv: result has a negative size: f32[1, 1, -1, -1]"},
  };
}

} // namespace backplane::test
