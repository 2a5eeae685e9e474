// SPDX-License-Identifier: Apache-2.0
//
// Layer 5: blocks of common models with seeded weights, small enough for the
// oracle.
#include "Graphs.h"
#include "Sketch.h"

#include <cmath>

namespace backplane::conformance {

namespace {

using enum DType;
using Axes = std::vector<int64_t>;

/// Weights whose products keep the size of what they multiply.
ValueId balanced(Sketch &s, Dims dims, double terms) {
  double limit = std::sqrt(3 / terms);
  return s.weight(std::move(dims), -limit, limit);
}

ValueId linear(Sketch &s, ValueId x, int64_t from, int64_t to) {
  ValueId y = s.matmul(x, balanced(s, {from, to}, static_cast<double>(from)));
  Dims dims = s.type(y).dims;
  auto last = static_cast<int64_t>(dims.size()) - 1;
  return s.op("add", {y, s.broadcast(s.weight({to}), dims, {last})});
}

/// Convolution with batch normalization.
ValueId convNorm(Sketch &s, ValueId x, int64_t from, int64_t to, int64_t kernel,
                 int64_t stride = 1, int64_t groups = 1) {
  int64_t inputs = from / groups, terms = inputs * kernel * kernel;
  ValueId w = balanced(s, {to, inputs, kernel, kernel}, double(terms));
  ValueId y = s.conv(x, w, stride, kernel / 2, groups);
  return s.op("batch_norm",
              {y, s.weight({to}, 0.8, 1.2), s.weight({to}, -0.2, 0.2),
               s.weight({to}, -0.1, 0.1), s.weight({to}, 0.8, 1.2)});
}

ValueId layerNorm(Sketch &s, ValueId x, int64_t width) {
  auto axis = static_cast<int64_t>(s.type(x).rank()) - 1;
  return s.op("layer_norm",
              {x, s.weight({width}, 0.8, 1.2), s.weight({width}, -0.2, 0.2)},
              {{"axis", axis}});
}

// ---- perceptron and images ----

void perceptron(Sketch &s) {
  ValueId x = s.in({s.symbol("n"), 48});
  x = s.op("relu", {linear(s, x, 48, 96)});
  x = s.op("gelu", {linear(s, x, 96, 64)});
  x = linear(s, x, 64, 10);
  s.out(s.op("softmax", {x}, {{"axis", 1}}));
  s.out(x);
}

void residualBlock(Sketch &s) {
  ValueId x = s.in({s.symbol("n"), 8, s.symbol("h"), s.symbol("w")});
  ValueId y = s.op("relu", {convNorm(s, x, 8, 16, 3, 2)});
  y = convNorm(s, y, 16, 16, 3);
  ValueId shortcut = convNorm(s, x, 8, 16, 1, 2);
  y = s.op("relu", {s.op("add", {y, shortcut})});
  ValueId z = s.op("relu", {convNorm(s, y, 16, 16, 3)});
  y = s.op("relu", {s.op("add", {convNorm(s, z, 16, 16, 3), y})});
  s.out(linear(s, s.reduce(y, "max", {2, 3}), 16, 5));
}

/// Weights per channel from its mean.
ValueId squeezed(Sketch &s, ValueId x, int64_t channels) {
  Dims dims = s.type(x).dims;
  Dim area = dims.size() == 4 ? dims[2] * dims[3] : Dim(1);
  ValueId sum = s.reduce(x, "sum", {2, 3});
  ValueId count = s.cast(s.op("dim", {}, {{"value", Dims{area}}}), s.dtype);
  ValueId number = s.broadcast(s.reshape(count, {}), s.type(sum).dims, {});
  ValueId mean = s.op("div", {sum, number});
  ValueId y = s.op("relu", {linear(s, mean, channels, channels / 4)});
  y = s.op("hard_sigmoid", {linear(s, y, channels / 4, channels)});
  return s.op("mul", {x, s.broadcast(y, dims, {0, 1})});
}

void mobileBlock(Sketch &s) {
  ValueId x = s.in({1, 8, s.symbol("h"), s.symbol("w")});
  ValueId y = s.op("hard_swish", {convNorm(s, x, 8, 24, 1)});
  y = s.op("hard_swish", {convNorm(s, y, 24, 24, 5, 1, 24)});
  y = convNorm(s, squeezed(s, y, 24), 24, 8, 1);
  s.out(s.op("add", {x, y}));
}

ValueId twice(Sketch &s, ValueId x, int64_t from, int64_t to) {
  x = s.op("silu", {convNorm(s, x, from, to, 3)});
  return s.op("silu", {convNorm(s, x, to, to, 3)});
}

void shapedLikeU(Sketch &s) {
  Dim h = s.symbol("h"), w = s.symbol("w");
  ValueId x = s.in({1, 3, h + h, w + w}), sizes = s.in({h, w});
  ValueId wide = twice(s, x, 3, 6);
  Axes two = {2, 2}, one = {1, 1}, zero = {0, 0};
  ValueId low = s.op("pool", {wide},
                     {{"kind", "max"},
                      {"window", two},
                      {"strides", two},
                      {"dilations", one},
                      {"low", zero},
                      {"high", zero}});
  low = twice(s, low, 6, 12);
  low = s.op("mul", {low, s.broadcast(sizes, s.type(low).dims, {2, 3})});
  ValueId up = s.op("conv_transpose", {low, balanced(s, {12, 6, 2, 2}, 12)},
                    {{"strides", two},
                     {"dilations", one},
                     {"low", zero},
                     {"high", zero},
                     {"output_padding", zero}});
  ValueId joined = s.op("concat", {wide, up}, {{"axis", 1}});
  s.out(s.conv(twice(s, joined, 12, 6), balanced(s, {2, 6, 1, 1}, 6)));
}

// ---- transformers ----

constexpr int64_t width = 32, heads = 4, part = width / heads;

ValueId split(Sketch &s, ValueId x, const Dim &n, const Dim &t) {
  return s.transpose(s.reshape(x, {n, t, heads, part}), {0, 2, 1, 3});
}

ValueId join(Sketch &s, ValueId x, const Dim &n, const Dim &t) {
  return s.reshape(s.transpose(x, {0, 2, 1, 3}), {n, t, width});
}

ValueId feedForward(Sketch &s, ValueId x, const char *activation) {
  ValueId y = s.op(activation, {linear(s, x, width, 2 * width)});
  return linear(s, y, 2 * width, width);
}

/// Products and softmax spelled out, with a mask of lengths.
ValueId spelledAttention(Sketch &s, ValueId x, const Dim &n, const Dim &t) {
  ValueId q = split(s, linear(s, x, width, width), n, t);
  ValueId k = split(s, linear(s, x, width, width), n, t);
  ValueId v = split(s, linear(s, x, width, width), n, t);
  ValueId scores = s.matmul(q, s.transpose(k, {0, 1, 3, 2}));
  scores = s.op("mul", {scores, s.fill(1 / std::sqrt(part), scores)});
  ValueId mask = s.in({n, t}, -4, 0);
  scores =
      s.op("add", {scores, s.broadcast(mask, s.type(scores).dims, {0, 3})});
  ValueId p = s.op("softmax", {scores}, {{"axis", 3}});
  return linear(s, join(s, s.matmul(p, v), n, t), width, width);
}

void bertBlock(Sketch &s) {
  Dim n = s.symbol("n"), t = s.symbol("t");
  ValueId rows =
      s.op("gather", {s.weight({50, width}), s.indices(I64, {n, t}, 50)});
  ValueId x = layerNorm(s, rows, width);
  x = layerNorm(s, s.op("add", {x, spelledAttention(s, x, n, t)}), width);
  x = layerNorm(s, s.op("add", {x, feedForward(s, x, "gelu")}), width);
  s.out(x);
}

void gptBlock(Sketch &s) {
  Dim n = s.symbol("n"), t = s.symbol("t");
  ValueId x = s.in({n, t, width});
  ValueId y = s.op("rms_norm", {x, s.weight({width}, 0.8, 1.2)}, {{"axis", 2}});
  ValueId cosine = s.in({n, t, part / 2}), sine = s.in({n, t, part / 2});
  auto rotated = [&](ValueId value) {
    return s.op("rotary", {split(s, value, n, t), cosine, sine});
  };
  ValueId q = rotated(linear(s, y, width, width));
  ValueId k = rotated(linear(s, y, width, width));
  ValueId v = split(s, linear(s, y, width, width), n, t);
  ValueId seen =
      s.op("attention", {q, k, v},
           {{"scale", 1 / std::sqrt(part)}, {"causal", Dims{Dim(0)}}});
  x = s.op("add", {x, linear(s, join(s, seen, n, t), width, width)});
  s.out(s.op("add", {x, feedForward(s, layerNorm(s, x, width), "silu")}));
}

/// Three steps of decoding, each of which adds its key and value to a cache
/// given as an input, and looks at all positions up to its own.
void decoding(Sketch &s) {
  Dim t = s.symbol("t");
  ValueId keys = s.in({t, width}), values = s.in({t, width});
  ValueId x = s.in({1, width});
  ValueId wq = balanced(s, {width, width}, width);
  ValueId wk = balanced(s, {width, width}, width);
  ValueId wv = balanced(s, {width, width}, width);
  for (int64_t step = 0; step < 3; ++step) {
    ValueId place = s.constant(I64, {1}, {double(step)});
    keys = s.op("scatter", {keys, place, s.matmul(x, wk)});
    values = s.op("scatter", {values, place, s.matmul(x, wv)});
    auto whole = [&](ValueId value, const Dim &rows) {
      return split(s, s.reshape(value, {1, rows, width}), 1, rows);
    };
    ValueId seen =
        s.op("attention",
             {whole(s.matmul(x, wq), 1), whole(keys, t), whole(values, t)},
             {{"scale", 1 / std::sqrt(part)}, {"causal", Dims{Dim(step)}}});
    ValueId y = s.reshape(join(s, seen, 1, 1), {1, width});
    x = s.op("tanh", {s.op("add", {x, linear(s, y, width, width)})});
    s.out(x);
  }
  s.out(keys);
}

/// The same with a cache of six rows in session variables. Every call writes
/// the same rows, so that no call sees what another one left.
void decodingWithVariables(Sketch &s) {
  const Dims dims = {6, width};
  auto read = [&](const char *name) {
    s.builder.variable(name, s.dtype, dims);
    return s.op("variable_read", {},
                {{"variable", std::string(name)},
                 {"dtype", static_cast<int64_t>(s.dtype)},
                 {"dims", dims}});
  };
  ValueId wk = balanced(s, {width, width}, width);
  ValueId wv = balanced(s, {width, width}, width);
  ValueId keys = read("keys"), values = read("values");
  ValueId x = s.in({s.symbol("n"), width});
  ValueId token = s.reduce(x, "max", {0}, true);
  ValueId place = s.constant(I64, {1}, {0});
  keys = s.op("scatter", {keys, place, s.matmul(token, wk)});
  values = s.op("scatter", {values, place, s.matmul(token, wv)});
  ValueId scores = s.op("matmul", {x, keys}, {{"transpose_b", 1}});
  ValueId p = s.op("softmax", {scores}, {{"axis", 1}});
  s.out(s.op("tanh", {s.op("add", {x, s.matmul(p, values)})}));
  s.builder.add("variable_write", {keys}, {{"variable", "keys"}});
  s.builder.add("variable_write", {values}, {{"variable", "values"}});
}

// ---- integers ----

/// Rounds to a multiple and saturates, as quantized models do.
ValueId requantized(Sketch &s, ValueId sum, double scale) {
  ValueId x = s.cast(sum, F32);
  x = s.op("round_even", {s.op("mul", {x, s.fill(scale, x)})});
  x = s.op("clamp", {x}, {{"low", -128.0}, {"high", 127.0}});
  return s.cast(x, I8);
}

ValueId integerConv(Sketch &s, ValueId x, int64_t from, int64_t to,
                    int64_t groups, double zero) {
  Axes one = {1, 1};
  ValueId w = s.weight({to, from / groups, 3, 3}, -9, 10);
  return s.op("conv_integer",
              {x, w, s.constant(I8, {}, {zero}), s.constant(I8, {}, {1})},
              {{"strides", one},
               {"dilations", one},
               {"low", one},
               {"high", one},
               {"groups", groups}});
}

/// The scales are powers of two: products are exact and ties are even.
void integerNet(Sketch &s) {
  ValueId x = s.in({1, 4, s.symbol("h"), s.symbol("w")}, -100, 100);
  ValueId y = requantized(s, integerConv(s, x, 4, 8, 1, -3), 0x1p-6);
  y = requantized(s, integerConv(s, y, 8, 8, 8, 0), 0x1p-5);
  y = s.op("max", {y, s.fill(-3, y)});
  ValueId z = s.cast(s.reduce(s.cast(y, I32), "max", {2, 3}), I8);
  ValueId sums = s.op("matmul_integer",
                      {z, s.weight({8, 6}, -9, 10), s.constant(I8, {}, {-3}),
                       s.constant(I8, {}, {0})});
  s.out(sums);
  s.out(y);
}

struct Block {
  const char *name;
  void (*build)(Sketch &);
  std::vector<DType> dtypes;
  std::vector<SymbolValues> sizes;
};

std::vector<Block> blocks() {
  std::vector<SymbolValues> images = {{{"h", 10}, {"w", 9}},
                                      {{"h", 16}, {"w", 17}}};
  std::vector<SymbolValues> batches = {{{"h", 9}, {"n", 1}, {"w", 8}},
                                       {{"h", 12}, {"n", 2}, {"w", 17}}};
  std::vector<SymbolValues> texts = {
      {{"n", 1}, {"t", 7}}, {{"n", 2}, {"t", 16}}, {{"n", 1}, {"t", 1}}};
  return {
      {"mlp",
       perceptron,
       {F32, F16, BF16},
       {{{"n", 5}}, {{"n", 1}}, {{"n", 33}}}},
      {"resnet-block", residualBlock, {F32, F16}, batches},
      {"mobilenet-block", mobileBlock, {F32, F16}, images},
      {"unet-block", shapedLikeU, {F32}, images},
      {"bert-block", bertBlock, {F32, F16}, texts},
      {"gpt-block", gptBlock, {F32, F16}, texts},
      {"decode", decoding, {F32, F16}, {{{"t", 4}}, {{"t", 17}}, {{"t", 3}}}},
      {"decode-session",
       decodingWithVariables,
       {F32, F16},
       {{{"n", 1}}, {{"n", 5}}}},
      {"int8-cnn", integerNet, {I8}, images}};
}

} // namespace

void makeModels(const Sink &sink) {
  for (const Block &block : blocks())
    for (DType dtype : block.dtypes) {
      Sketch sketch(sink, 5, block.name, dtype, "seeded",
                    {"residual", "clamp-bias", "workspace", "in-place"});
      block.build(sketch);
      for (const SymbolValues &sizes : block.sizes)
        sketch.builder.addCase(Depth::Standard, "uniform", sizes);
      sketch.builder.finish();
    }
}

} // namespace backplane::conformance
