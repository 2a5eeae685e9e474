// SPDX-License-Identifier: Apache-2.0
//
// Random steps that combine elements: reductions, contractions, windows, norms.
#include "RandomGraph.h"

#include "sdk/graph/OpTable.h"

#include <algorithm>

namespace backplane::conformance {

namespace {

using enum DType;
using Item = Growth::Item;
using Axes = std::vector<int64_t>;

template <size_t low, size_t high, TypeSet types> Item *withRank(Growth &g) {
  return g.find([](const TensorType &type) {
    return type.rank() >= low && type.rank() <= high &&
           contains(types, type.dtype);
  });
}

int64_t anyAxis(Growth &g, const Dims &dims) {
  return static_cast<int64_t>(g.dice.below(dims.size()));
}

/// The most elements that an axis has in any call, at least 1.
double longest(const Growth &g, const Dim &dim) {
  return std::max<double>(1, static_cast<double>(g.count({dim})));
}

bool isNeverEmpty(const Growth &g, const Dims &dims) {
  for (size_t call = 0; call < g.calls().size(); ++call)
    for (int64_t size : g.sizes(dims, call))
      if (size < 1)
        return false;
  return true;
}

template <size_t low, size_t high, TypeSet types> Item *filled(Growth &g) {
  Item *x = withRank<low, high, types>(g);
  return x && isNeverEmpty(g, g.type(*x).dims) ? x : nullptr;
}

void reduced(Growth &g, const Item &x) {
  Dims dims = g.type(x).dims;
  Axes axes = {anyAxis(g, dims)};
  if (axes[0] + 1 < static_cast<int64_t>(dims.size()) && g.dice.chance(30))
    axes.push_back(axes[0] + 1);
  double terms = 1;
  for (int64_t axis : axes)
    terms *= longest(g, dims[static_cast<size_t>(axis)]);
  std::string kind = g.dice.pick({"sum", "sum", "min", "max"});
  g.keep(g.s.reduce(x.id, kind, axes, g.dice.chance(40)),
         kind == "sum" ? x.magnitude * terms : x.magnitude);
}

/// x less its reduction, or divided by one more than it.
void normalised(Growth &g, const Item &x) {
  Dims dims = g.type(x).dims;
  int64_t axis = anyAxis(g, dims);
  Axes others;
  for (size_t i = 0; i < dims.size(); ++i)
    others.push_back(static_cast<int64_t>(i));
  ValueId most = g.s.reduce(g.s.op("abs", {x.id}), g.dice.pick({"max", "sum"}),
                            {axis}, true);
  ValueId wide = g.s.broadcast(g.with("add", most, 1), dims, others);
  g.keep(g.s.op("div", {x.id, wide}), 1);
}

void ranked(Growth &g, const Item &x) {
  int64_t axis = anyAxis(g, g.type(x).dims);
  if (g.dice.chance(50)) {
    std::string kind = g.dice.pick({"min", "max"});
    return g.keep(g.s.op("arg_reduce", {x.id},
                         {{"kind", kind},
                          {"axis", axis},
                          {"last", static_cast<int64_t>(g.dice.below(2))}}),
                  1);
  }
  Dim k = min(g.type(x).dims[static_cast<size_t>(axis)], 2);
  ValueId best = g.s.op("top_k", {x.id},
                        {{"k", Dims{k}},
                         {"axis", axis},
                         {"largest", static_cast<int64_t>(g.dice.below(2))}});
  g.keep(best, 1);
  g.keep(g.s.result(best, 1), 1);
}

void cumulated(Growth &g, const Item &x) {
  Dims dims = g.type(x).dims;
  int64_t axis = anyAxis(g, dims);
  std::string kind = g.dice.pick({"sum", "max", "min"});
  // Without exclusive: the first result would be infinite for min and max.
  g.keep(g.s.op("cumulative", {x.id},
                {{"kind", kind},
                 {"axis", axis},
                 {"reverse", static_cast<int64_t>(g.dice.below(2))}}),
         x.magnitude *
             (kind == "sum" ? longest(g, dims[static_cast<size_t>(axis)]) : 1));
}

void multiplied(Growth &g, const Item &x) {
  TensorType type = g.type(x);
  Dim k = type.dims.back(), n = g.anyDim();
  Dims all = type.dims;
  all.push_back(n);
  if (g.count(all) > 60000)
    return;
  Dims dims = {k, n};
  int64_t transposes = static_cast<int64_t>(g.dice.below(2));
  if (transposes)
    std::swap(dims[0], dims[1]);
  if (type.rank() > 2 && g.dice.chance(40))
    dims.insert(dims.begin(), type.dims.begin(), type.dims.end() - 2);
  Item right = g.fresh(type.dtype, dims, 1);
  g.keep(g.s.op("matmul", {x.id, right.id}, {{"transpose_b", transposes}}),
         x.magnitude * longest(g, k));
}

void withBias(Growth &g, const Item &x) {
  Dims dims = g.type(x).dims;
  int64_t axis = anyAxis(g, dims);
  Item bias = g.fresh(g.type(x).dtype, {dims[static_cast<size_t>(axis)]}, 1);
  ValueId sum = g.s.op("add", {x.id, g.s.broadcast(bias.id, dims, {axis})});
  if (g.dice.chance(60))
    sum = g.s.op(g.dice.pick({"relu", "tanh", "sigmoid", "gelu", "hard_swish"}),
                 {sum});
  g.keep(sum, x.magnitude + 1);
}

/// A window that fits images of any size: padding reaches at least as far.
Attributes window(Growth &g, int64_t size) {
  auto dilation = static_cast<int64_t>(1 + g.dice.below(2));
  int64_t reach = (size - 1) * dilation;
  int64_t low = reach - static_cast<int64_t>(g.dice.below(2)) * (reach / 2);
  return {{"strides", Axes(2, static_cast<int64_t>(1 + g.dice.below(2)))},
          {"dilations", Axes(2, dilation)},
          {"low", Axes(2, low)},
          {"high", Axes(2, reach - low)}};
}

Item image(Growth &g) {
  Item *x = withRank<4, 4, TypeSet::Float>(g);
  if (x && g.dice.chance(70) && g.type(*x).dims[1].constant() &&
      isNeverEmpty(g, g.type(*x).dims))
    return *x;
  auto channels = static_cast<int64_t>(1 + g.dice.below(4));
  Dims dims = {1, channels, g.anyDim(), g.anyDim()};
  DType dtype = contains(TypeSet::Float, g.s.dtype) ? g.s.dtype : F32;
  return g.fresh(dtype, dims, 2);
}

void convolved(Growth &g) {
  Item x = image(g);
  TensorType type = g.type(x);
  int64_t channels = type.dims[1].constant().value_or(1);
  if (channels > 12 || g.count(type.dims) > 3000)
    return;
  auto size = static_cast<int64_t>(1 + g.dice.below(3));
  int64_t groups = g.dice.chance(30) ? channels : 1;
  int64_t results = groups * static_cast<int64_t>(1 + g.dice.below(3));
  Attributes attributes = window(g, size);
  attributes["groups"] = groups;
  int64_t inputs = channels / groups, terms = inputs * size * size;
  Item w = g.fresh(type.dtype, {results, inputs, size, size}, 1);
  g.keep(g.s.op("conv", {x.id, w.id}, attributes), x.magnitude * double(terms));
}

void spread(Growth &g) {
  Item x = image(g);
  TensorType type = g.type(x);
  int64_t channels = type.dims[1].constant().value_or(1);
  if (channels > 8 || g.count(type.dims) > 800)
    return;
  Axes two = {2, 2}, one = {1, 1}, zero = {0, 0};
  Item w = g.fresh(type.dtype, {channels, 2, 3, 3}, 1);
  g.keep(g.s.op("conv_transpose", {x.id, w.id},
                {{"strides", g.dice.chance(50) ? two : one},
                 {"dilations", one},
                 {"low", zero},
                 {"high", g.dice.chance(50) ? one : zero},
                 {"output_padding", zero}}),
         x.magnitude * double(channels * 9));
}

void pooled(Growth &g) {
  Item x = image(g);
  if (!g.isSmall(g.type(x).dims))
    return;
  auto size = static_cast<int64_t>(2 + g.dice.below(2));
  Attributes attributes = window(g, size);
  attributes["window"] = Axes(2, size);
  // A window of padding alone has no maximum, and no mean.
  attributes["dilations"] = attributes["strides"] = Axes(2, 1);
  attributes["low"] = Axes(2, size - 1);
  attributes["high"] = Axes(2, 0);
  if (g.dice.chance(40)) {
    attributes["count_padding"] = static_cast<int64_t>(g.dice.below(2));
    return g.keep(g.s.op("avg_pool", {x.id}, attributes), x.magnitude);
  }
  attributes["kind"] = std::string(g.dice.pick({"sum", "max", "min"}));
  g.keep(g.s.op("pool", {x.id}, attributes), x.magnitude * double(size * size));
}

void soft(Growth &g, const Item &x) {
  int64_t axis = anyAxis(g, g.type(x).dims);
  ValueId value = g.tamed(x, 4);
  if (g.dice.chance(25))
    return g.keep(g.s.op("log_sum_exp", {value}, {{"axes", Axes{axis}}}), 12);
  const char *op = g.dice.pick({"softmax", "log_softmax"});
  g.keep(g.s.op(op, {value}, {{"axis", axis}}), 12);
}

void normed(Growth &g, const Item &x) {
  TensorType type = g.type(x);
  size_t axis = 1 + g.dice.below(type.rank() - 1);
  Dims part(type.dims.begin() + static_cast<ptrdiff_t>(axis), type.dims.end());
  ValueId scale = g.fresh(type.dtype, part, 1).id;
  // A large epsilon: a variance near zero says nothing about the result.
  Attributes attributes = {{"axis", static_cast<int64_t>(axis)},
                           {"epsilon", 0.5}};
  if (g.dice.chance(40))
    return g.keep(g.s.op("rms_norm", {x.id, scale}, attributes), 6);
  ValueId bias = g.fresh(type.dtype, part, 1).id;
  g.keep(g.s.op("layer_norm", {x.id, scale, bias}, attributes), 7);
}

void normedByChannel(Growth &g) {
  Item x = image(g);
  TensorType type = g.type(x);
  Dims channels = {type.dims[1]};
  auto one = [&] { return g.fresh(type.dtype, channels, 1).id; };
  if (g.dice.chance(50)) {
    ValueId scale = one(), bias = one();
    return g.keep(g.s.op("group_norm", {x.id, scale, bias},
                         {{"groups", 1}, {"epsilon", 0.5}}),
                  7);
  }
  ValueId scale = one(), bias = one(), mean = one();
  ValueId variance = g.with("add", g.s.op("abs", {one()}), 0.5);
  g.keep(g.s.op("batch_norm", {x.id, scale, bias, mean, variance}),
         2 * x.magnitude + 3);
}

void attended(Growth &g) {
  DType dtype = isFloat(g.s.dtype) ? g.s.dtype : F32;
  Dim rows = g.anyDim(), columns = g.anyDim();
  auto part = static_cast<int64_t>(2 + 2 * g.dice.below(4));
  int64_t heads = g.dice.chance(50) ? 2 : 1;
  ValueId q = g.fresh(dtype, {1, 2, rows, part}, 1).id;
  ValueId k = g.fresh(dtype, {1, heads, columns, part}, 1).id;
  ValueId v = g.fresh(dtype, {1, heads, columns, 3}, 2).id;
  if (g.dice.chance(50)) {
    ValueId cosine = g.fresh(dtype, {1, rows, part / 2}, 1).id;
    ValueId sine = g.fresh(dtype, {1, rows, part / 2}, 1).id;
    q = g.s.op("rotary", {q, cosine, sine},
               {{"interleaved", static_cast<int64_t>(g.dice.below(2))}});
  }
  Attributes attributes = {{"scale", 0.5}, {"causal", Dims{}}};
  if (g.dice.chance(40))
    attributes["causal"] = Dims{columns - rows};
  if (g.dice.chance(30))
    attributes["soft_cap"] = 2.0;
  g.keep(g.s.op("attention", {q, k, v}, attributes), 2);
}

void ofBytes(Growth &g) {
  DType left = g.dice.chance(50) ? I8 : U8, right = I8;
  Dim m = g.anyDim(), k = g.anyDim();
  ValueId a = g.fresh(left, {m, k}, 1).id, b = g.fresh(right, {k, 5}, 1).id;
  ValueId aZero = g.s.constant(left, {}, {3});
  ValueId bZero = g.s.constant(right, {}, {0});
  g.keep(g.s.op("matmul_integer", {a, b, aZero, bZero}), 1);
}

void imageOfBytes(Growth &g) {
  Dims dims = {1, 3, g.anyDim(), g.anyDim()};
  ValueId x = g.fresh(U8, dims, 1).id, w = g.fresh(I8, {4, 3, 2, 2}, 1).id;
  Attributes attributes = window(g, 2);
  attributes["groups"] = int64_t(1);
  g.keep(g.s.op("conv_integer",
                {x, w, g.s.constant(U8, {}, {7}), g.s.constant(I8, {}, {1})},
                attributes),
         1);
}

} // namespace

const std::vector<Step> &combiningSteps() {
  static const std::vector<Step> all = {
      from<filled<1, 5, TypeSet::Number>, reduced>,
      from<filled<1, 5, TypeSet::Number>, reduced>,
      from<filled<1, 4, TypeSet::Float>, normalised>,
      from<filled<1, 4, TypeSet::Int>, ranked>,
      from<withRank<1, 4, TypeSet::Number>, cumulated>,
      from<withRank<2, 4, TypeSet::Number>, multiplied>,
      from<withRank<2, 4, TypeSet::Number>, multiplied>,
      from<withRank<2, 4, TypeSet::Float>, withBias>,
      from<withRank<2, 4, TypeSet::Float>, withBias>,
      convolved,
      convolved,
      spread,
      pooled,
      from<filled<1, 4, TypeSet::Float>, soft>,
      from<filled<2, 4, TypeSet::Float>, normed>,
      normedByChannel,
      attended,
      ofBytes,
      imageOfBytes};
  return all;
}

} // namespace backplane::conformance
