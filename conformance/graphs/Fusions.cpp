// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops after contractions, in chains, around reductions and norms.
#include "Graphs.h"
#include "Sketch.h"

#include "conformance/cases/Data.h"

namespace backplane::conformance {

namespace {

using enum DType;
using Build = std::function<void(Sketch &)>;
using Tail = std::function<ValueId(Sketch &, ValueId, int64_t axis)>;

std::vector<SymbolValues> planes() {
  return {{{"m", 17}, {"n", 33}}, {{"m", 1}, {"n", 1}},
          {{"m", 64}, {"n", 7}},  {{"m", 0}, {"n", 5}},
          {{"m", 31}, {"n", 65}}, {{"m", 16}, {"n", 16}}};
}

ValueId plane(Sketch &s, double low = -2, double high = 2) {
  return s.in({s.symbol("m"), s.symbol("n")}, low, high);
}

// ---- chains ----

/// One op that keeps numbers of at most 4 within 4, chosen by `choice`.
ValueId link(Sketch &s, uint64_t choice, ValueId x, ValueId other) {
  static constexpr const char *unary[] = {
      "tanh", "sigmoid", "sin",  "relu", "neg",        "abs",  "silu",
      "cos",  "atan",    "gelu", "erf",  "hard_swish", "mish", "softsign"};
  static constexpr const char *binary[] = {"min", "max", "sub", "add", "mul"};
  if (choice % 3)
    return s.op(unary[choice / 3 % std::size(unary)], {x});
  const char *name = binary[choice / 3 % std::size(binary)];
  return s.op("tanh", {s.op(name, {x, other})});
}

ValueId integerLink(Sketch &s, uint64_t choice, ValueId x, ValueId other) {
  static constexpr const char *names[] = {"add", "sub", "mul", "min", "max",
                                          "and", "or",  "xor", "shl", "shr"};
  return s.op(names[choice % std::size(names)],
              choice / 16 % 2 ? std::vector{x, other} : std::vector{other, x});
}

Build chain(int length) {
  return [length](Sketch &s) {
    ValueId x = plane(s), y = plane(s), value = x;
    for (int i = 0; i < length; ++i) {
      uint64_t choice = randomBits(static_cast<uint64_t>(length), i) >> 8;
      value = isFloat(s.dtype) ? link(s, choice, value, i % 2 ? x : y)
                               : integerLink(s, choice, value, i % 2 ? x : y);
    }
    s.out(value);
  };
}

void makeChains(const Sink &sink) {
  std::vector<Pattern> patterns;
  for (int length : {2, 5, 8, 21})
    patterns.push_back({"chain" + std::to_string(length),
                        {"tail", "nan", "residual"},
                        {F32, F16, BF16, F64, I32, I8},
                        chain(length),
                        planes(),
                        {"uniform", "special"}});
  makePatterns(sink, "elementwise", patterns);
}

// ---- after contractions ----

ValueId bias(Sketch &s, ValueId x, int64_t axis) {
  return s.withChannels("add", x, axis);
}

ValueId clamp(Sketch &s, ValueId x) {
  return s.op("clamp", {x}, {{"low", -0.25}, {"high", 0.75}});
}

const std::vector<std::pair<std::string, Tail>> &tails() {
  static const std::vector<std::pair<std::string, Tail>> all = {
      {"bias-relu",
       [](Sketch &s, ValueId x, int64_t axis) {
         return s.op("relu", {bias(s, x, axis)});
       }},
      {"bias-clamp", [](Sketch &s, ValueId x,
                        int64_t axis) { return clamp(s, bias(s, x, axis)); }},
      {"clamp-bias", [](Sketch &s, ValueId x,
                        int64_t axis) { return bias(s, clamp(s, x), axis); }},
      {"bias-gelu",
       [](Sketch &s, ValueId x, int64_t axis) {
         return s.op("gelu", {bias(s, x, axis)});
       }},
      {"residual",
       [](Sketch &s, ValueId x, int64_t) {
         return s.op("add", {x, s.in(s.type(x).dims)});
       }},
      {"bias-residual-relu",
       [](Sketch &s, ValueId x, int64_t axis) {
         ValueId sum = s.op("add", {bias(s, x, axis), s.in(s.type(x).dims)});
         return s.op("relu", {sum});
       }},
      {"relu-residual",
       [](Sketch &s, ValueId x, int64_t axis) {
         ValueId active = s.op("relu", {bias(s, x, axis)});
         return s.op("sub", {s.in(s.type(x).dims), active});
       }},
      {"scale-shift-silu",
       [](Sketch &s, ValueId x, int64_t axis) {
         ValueId scaled = s.withChannels("mul", x, axis, 0.5, 1.5);
         return s.op("silu", {bias(s, scaled, axis)});
       }},
      {"gate", [](Sketch &s, ValueId x,
                  int64_t) { return s.op("mul", {x, s.op("sigmoid", {x})}); }},
      {"two-users",
       [](Sketch &s, ValueId x, int64_t axis) {
         s.out(s.op("abs", {x}));
         return s.op("tanh", {bias(s, x, axis)});
       }},
      {"transposed",
       [](Sketch &s, ValueId x, int64_t axis) {
         std::vector<int64_t> order;
         for (size_t i = s.type(x).rank(); i-- > 0;)
           order.push_back(static_cast<int64_t>(i));
         return s.op("relu", {s.transpose(bias(s, x, axis), order)});
       }},
      {"reduce", [](Sketch &s, ValueId x, int64_t axis) {
         return s.reduce(s.op("relu", {x}), "max", {axis});
       }}};
  return all;
}

/// A contraction with the axis of its channels.
struct Head {
  std::string name;
  std::vector<DType> dtypes;
  std::function<ValueId(Sketch &)> build;
  int64_t axis;
  std::vector<SymbolValues> sizes;
};

const std::vector<SymbolValues> &products() {
  static const std::vector<SymbolValues> sizes = {
      {{"k", 19}, {"m", 17}, {"n", 18}}, {{"k", 1}, {"m", 1}, {"n", 1}},
      {{"k", 64}, {"m", 5}, {"n", 33}},  {{"k", 0}, {"m", 3}, {"n", 4}},
      {{"k", 33}, {"m", 65}, {"n", 7}},  {{"k", 16}, {"m", 16}, {"n", 16}}};
  return sizes;
}

const std::vector<SymbolValues> &images() {
  static const std::vector<SymbolValues> sizes = {{{"h", 9}, {"w", 17}},
                                                  {{"h", 1}, {"w", 1}},
                                                  {{"h", 16}, {"w", 15}},
                                                  {{"h", 8}, {"w", 33}}};
  return sizes;
}

Head convHead(std::string name, std::vector<DType> dtypes, int64_t channels,
              int64_t results, int64_t groups, int64_t kernel, int64_t stride) {
  return {std::move(name), std::move(dtypes),
          [=](Sketch &s) {
            ValueId x = s.in({2, channels, s.symbol("h"), s.symbol("w")});
            ValueId w = s.weight({results, channels / groups, kernel, kernel});
            return s.conv(x, w, stride, kernel / 2, groups);
          },
          1, images()};
}

std::vector<Head> heads() {
  std::vector<Head> all = {{"matmul",
                            {F32, F16},
                            [](Sketch &s) {
                              Dim k = s.symbol("k");
                              ValueId x = s.in({s.symbol("m"), k});
                              return s.matmul(x, s.in({k, s.symbol("n")}));
                            },
                            1,
                            products()},
                           {"matmul-weight",
                            {F32, BF16},
                            [](Sketch &s) {
                              return s.matmul(s.in({s.symbol("m"), 48}),
                                              s.weight({48, 40}));
                            },
                            1,
                            {{{"m", 17}}, {{"m", 1}}, {{"m", 64}}, {{"m", 0}}}},
                           {"matmul-batch",
                            {F32},
                            [](Sketch &s) {
                              Dim k = s.symbol("k");
                              ValueId x = s.in({3, s.symbol("m"), k});
                              return s.matmul(x, s.in({3, k, s.symbol("n")}));
                            },
                            2,
                            products()},
                           convHead("conv", {F32, F16}, 6, 10, 1, 3, 1),
                           convHead("conv-1x1", {F32}, 16, 24, 1, 1, 1),
                           convHead("conv-depthwise", {F32}, 12, 12, 12, 3, 2)};
  all.push_back({"conv_transpose",
                 {F32},
                 [](Sketch &s) {
                   ValueId x = s.in({2, 5, s.symbol("h"), s.symbol("w")});
                   std::vector<int64_t> two = {2, 2}, one = {1, 1};
                   std::vector<int64_t> zero = {0, 0};
                   return s.op("conv_transpose", {x, s.weight({5, 4, 3, 3})},
                               {{"strides", two},
                                {"dilations", one},
                                {"low", one},
                                {"high", one},
                                {"output_padding", zero}});
                 },
                 1,
                 images()});
  return all;
}

void makeEpilogues(const Sink &sink) {
  for (const Head &head : heads()) {
    std::vector<Pattern> patterns;
    for (const auto &[name, tail] : tails()) {
      // Of the heads that are like others, some tails are enough.
      bool rare = head.name != "matmul" && head.name != "conv";
      if (rare && (name == "bias-gelu" || name == "gate" || name == "reduce" ||
                   name == "relu-residual" || name == "scale-shift-silu"))
        continue;
      Build build = [head, tail = tail](Sketch &s) {
        s.out(tail(s, head.build(s), head.axis));
      };
      patterns.push_back({head.name + "-" + name,
                          {"clamp-bias", "residual", "tail", "last-k"},
                          head.dtypes,
                          build,
                          head.sizes,
                          {"uniform"},
                          name == "bias-relu"});
    }
    makePatterns(sink, "epilogue", patterns);
  }
}

// ---- around reductions ----

/// x less its reduction along an axis, which is kept or repeated.
Build centred(const std::string &kind, int64_t axis, bool keep) {
  return [=](Sketch &s) {
    ValueId x = s.in({s.symbol("a"), s.symbol("b"), s.symbol("c")});
    Dims dims = s.type(x).dims;
    ValueId y = isFloat(s.dtype) ? s.op("tanh", {x}) : s.op("abs", {x});
    ValueId r = s.reduce(y, kind, {axis}, keep);
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < 3; ++i)
      if (keep || i != axis)
        axes.push_back(i);
    s.out(s.op("sub", {x, s.broadcast(r, dims, axes)}));
    s.out(s.op("neg", {r}));
  };
}

void makeReductions(const Sink &sink) {
  std::vector<Pattern> patterns;
  std::vector<SymbolValues> sizes = {{{"a", 5}, {"b", 17}, {"c", 9}},
                                     {{"a", 1}, {"b", 1}, {"c", 1}},
                                     {{"a", 33}, {"b", 8}, {"c", 64}},
                                     {{"a", 2}, {"b", 0}, {"c", 3}},
                                     {{"a", 16}, {"b", 65}, {"c", 4}}};
  for (const char *kind : {"sum", "max", "min"})
    for (int64_t axis : {0, 1, 2})
      patterns.push_back({std::string(kind) + std::to_string(axis),
                          {"tail", "last-k", "residual", "nan"},
                          {F32, F16, I32},
                          centred(kind, axis, axis == 1),
                          sizes,
                          {"uniform"},
                          axis == 2});
  makePatterns(sink, "reduce-centred", patterns);
}

// ---- norms and softmax ----

void maskedSoftmax(Sketch &s) {
  ValueId x = plane(s, -4, 4), mask = plane(s, -1, 1);
  ValueId keep =
      s.op("compare", {mask, s.fill(-0.5, mask)}, {{"direction", "gt"}});
  ValueId scaled = s.op("mul", {x, s.fill(0.125, x)});
  ValueId masked = s.op("select", {keep, scaled, s.fill(-1000, x)});
  ValueId p = s.op("softmax", {masked}, {{"axis", 1}});
  s.out(s.op("mul", {p, x}));
}

void lossOfLabels(Sketch &s) {
  ValueId x = plane(s, -4, 4);
  ValueId p = s.op("log_softmax", {x}, {{"axis", 1}});
  s.out(s.op("neg", {s.reduce(p, "max", {1})}));
  s.out(s.reduce(s.op("exp", {p}), "sum", {1}));
}

void residualNorm(Sketch &s) {
  ValueId x = plane(s), y = plane(s);
  Dims row = {s.type(x).dims.empty() ? Dim(1) : s.type(x).dims[1]};
  ValueId sum = s.op("add", {x, y});
  ValueId normal =
      s.op("layer_norm", {sum, s.in(row, 0.5, 1.5), s.in(row)}, {{"axis", 1}});
  s.out(s.op("gelu", {normal}));
  s.out(sum);
}

void rmsNorm(Sketch &s) {
  ValueId x = plane(s);
  Dims row = {s.type(x).dims.empty() ? Dim(1) : s.type(x).dims[1]};
  ValueId normal = s.op("rms_norm", {x, s.in(row, 0.5, 1.5)}, {{"axis", 1}});
  s.out(s.op("add", {x, s.op("silu", {normal})}));
}

void handmadeNorm(Sketch &s) {
  ValueId x = plane(s);
  Dims dims = s.type(x).dims;
  ValueId mean = s.reduce(s.op("mul", {x, s.fill(1.0 / 32, x)}), "sum", {1});
  ValueId c = s.op("sub", {x, s.broadcast(mean, dims, {0})});
  ValueId square = s.reduce(s.op("mul", {c, c}), "sum", {1}, true);
  ValueId scale = s.op("rsqrt", {s.op("add", {square, s.fill(0.5, square)})});
  s.out(s.op("mul", {c, s.broadcast(scale, dims, {0, 1})}));
}

void groupNormSilu(Sketch &s) {
  ValueId x = s.in({2, 8, s.symbol("m"), s.symbol("n")}, -2, 2);
  ValueId normal =
      s.op("group_norm", {x, s.in({8}, 0.5, 1.5), s.in({8})}, {{"groups", 4}});
  s.out(s.op("silu", {normal}));
}

void twoSoftmax(Sketch &s) {
  ValueId x = plane(s, -4, 4);
  ValueId p = s.op("softmax", {x}, {{"axis", 0}});
  ValueId q = s.op("softmax", {x}, {{"axis", 1}});
  s.out(s.op("sub", {p, q}));
}

void scoredAttention(Sketch &s) {
  Dim m = s.symbol("m"), n = s.symbol("n");
  ValueId q = s.in({2, 4, m, 8}), k = s.in({2, 2, n, 8}),
          v = s.in({2, 2, n, 5});
  ValueId scaled = s.op("mul", {q, s.fill(1.5, q)});
  ValueId y = s.op("attention", {scaled, k, v},
                   {{"scale", 0.35}, {"causal", Dims{n - m}}});
  s.out(s.op("add", {s.fill(0.25, y), y}));
}

void makeNorms(const Sink &sink) {
  std::vector<SymbolValues> full = {{{"m", 17}, {"n", 33}},
                                    {{"m", 1}, {"n", 1}},
                                    {{"m", 7}, {"n", 64}},
                                    {{"m", 31}, {"n", 31}}};
  std::vector<DType> floats = {F32, F16};
  std::vector<std::string> tags = {"softmax-max", "variance", "residual",
                                   "tail"};
  std::vector<Pattern> patterns;
  for (const auto &[name, build] :
       std::initializer_list<std::pair<const char *, void (*)(Sketch &)>>{
           {"masked-softmax", maskedSoftmax},
           {"log-softmax-loss", lossOfLabels},
           {"residual-layer-norm", residualNorm},
           {"rms-norm-residual", rmsNorm},
           {"handmade-norm", handmadeNorm},
           {"group-norm-silu", groupNormSilu},
           {"two-axes", twoSoftmax},
           {"attention", scoredAttention}})
    patterns.push_back({name, tags, floats, build, full, {"uniform"}, true});
  makePatterns(sink, "norm", patterns);
}

} // namespace

void makeFusions(const Sink &sink) {
  for (auto *family : {makeChains, makeEpilogues, makeReductions, makeNorms})
    family(sink);
}

} // namespace backplane::conformance
