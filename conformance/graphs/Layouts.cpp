// SPDX-License-Identifier: Apache-2.0
//
// Ops that only move elements, between ops that compute.
#include "Graphs.h"
#include "Sketch.h"

namespace backplane::conformance {

namespace {

using enum DType;
using Axes = std::vector<int64_t>;
using NamedBuild = std::pair<const char *, void (*)(Sketch &)>;

/// A cheap op that every dtype has, to put between movements.
ValueId touch(Sketch &s, ValueId x) {
  return isFloat(s.dtype) ? s.op("tanh", {x}) : s.op("add", {x, x});
}

ValueId box(Sketch &s) {
  return s.in({s.symbol("a"), s.symbol("b"), s.symbol("c")}, -2, 2);
}

ValueId slice(Sketch &s, ValueId x, Dims starts, Dims sizes, Axes strides) {
  return s.op("slice", {x},
              {{"starts", std::move(starts)},
               {"sizes", std::move(sizes)},
               {"strides", std::move(strides)}});
}

ValueId concat(Sketch &s, std::vector<ValueId> xs, int64_t axis) {
  return s.op("concat", std::move(xs), {{"axis", axis}});
}

ValueId pad(Sketch &s, ValueId x, Dims low, Dims high, const std::string &mode,
            double value = 0) {
  ValueId filler = s.constant(s.dtype, {}, {value});
  return s.op(
      "pad", {x, filler},
      {{"low", std::move(low)}, {"high", std::move(high)}, {"mode", mode}});
}

// ---- transposes and reshapes ----

void transposeAndBack(Sketch &s) {
  ValueId x = box(s);
  s.out(s.transpose(touch(s, s.transpose(x, {2, 0, 1})), {1, 2, 0}));
}

void transposeThenReduce(Sketch &s) {
  ValueId x = touch(s, s.transpose(box(s), {1, 2, 0}));
  s.out(s.reduce(x, "max", {1}));
  s.out(s.reduce(x, "sum", {2}));
}

void reduceThenTranspose(Sketch &s) {
  ValueId x = box(s);
  s.out(s.transpose(touch(s, s.reduce(x, "max", {1})), {1, 0}));
}

void flattenAndBack(Sketch &s) {
  ValueId x = box(s);
  Dims dims = s.type(x).dims;
  if (dims.size() < 3)
    return;
  ValueId flat = touch(s, s.reshape(x, {dims[0] * dims[1] * dims[2]}));
  s.out(s.reshape(flat, {dims[2], dims[1], dims[0]}));
}

void splitHeads(Sketch &s) {
  Dim m = s.symbol("a"), n = s.symbol("b");
  ValueId x = s.in({m, n, 24}, -2, 2);
  ValueId heads = s.transpose(s.reshape(x, {m, n, 4, 6}), {0, 2, 1, 3});
  ValueId back = s.transpose(touch(s, heads), {0, 2, 1, 3});
  s.out(s.op("sub", {s.reshape(back, {m, n, 24}), x}));
}

void transposedOperands(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b"), c = s.symbol("c");
  ValueId x = s.transpose(s.in({b, a}), {1, 0});
  ValueId y = s.transpose(s.in({c, b}), {1, 0});
  s.out(s.transpose(s.matmul(x, y), {1, 0}));
}

void batchMoved(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b"), c = s.symbol("c");
  ValueId x = s.transpose(s.in({a, 3, b}), {1, 0, 2});
  ValueId y = s.transpose(s.in({b, c, 3}), {2, 0, 1});
  s.out(s.transpose(s.matmul(x, y), {1, 0, 2}));
}

// ---- slices, joins, pads ----

void splitAndJoin(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b"), half = floorDiv(b, 2);
  ValueId x = s.in({a, b}, -2, 2);
  ValueId left = slice(s, x, {0, 0}, {a, half}, {1, 1});
  ValueId right = slice(s, x, {0, half}, {a, b - half}, {1, 1});
  s.out(concat(s, {right, touch(s, left)}, 1));
}

void evenAndOdd(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b"), half = floorDiv(b, 2);
  ValueId x = s.in({a, b}, -2, 2);
  ValueId even = slice(s, x, {0, 0}, {a, half}, {1, 2});
  ValueId odd = slice(s, x, {0, b - half}, {a, half}, {1, 1});
  s.out(s.op("sub", {touch(s, even), odd}));
}

void joinThenReduce(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b"), c = s.symbol("c");
  ValueId x = s.in({a, b}), y = s.in({a, c});
  s.out(s.reduce(concat(s, {touch(s, x), y, x}, 1), "sum", {1}));
}

void joinedTwice(Sketch &s) {
  ValueId x = box(s);
  ValueId once = concat(s, {x, touch(s, x)}, 0);
  s.out(concat(s, {once, once}, 2));
}

void padThenReduce(Sketch &s) {
  ValueId x = pad(s, touch(s, box(s)), {1, 0, 2}, {0, 3, 1}, "constant", 2);
  s.out(s.reduce(x, "min", {2}));
  s.out(s.reduce(x, "sum", {0}));
}

void padAndCut(Sketch &s) {
  ValueId x = box(s);
  Dims dims = s.type(x).dims;
  ValueId wide = touch(s, pad(s, x, {1, 1, 1}, {1, 1, 1}, "edge"));
  s.out(slice(s, wide, {0, 1, 2}, dims, {1, 1, 1}));
}

void reverseThenCumulate(Sketch &s) {
  ValueId x = s.op("reverse", {box(s)}, {{"axes", Axes{0, 2}}});
  ValueId sum = s.op("cumulative", {x}, {{"kind", "sum"}, {"axis", 2}});
  s.out(s.op("reverse", {sum}, {{"axes", Axes{2}}}));
}

void padThenConv(Sketch &s) {
  Dim h = s.symbol("a"), w = s.symbol("b");
  ValueId x =
      pad(s, s.in({1, 3, h, w}), {0, 0, 2, 1}, {0, 0, 1, 2}, "constant");
  s.out(touch(s, s.conv(x, s.weight({5, 3, 3, 3}))));
}

void joinThenConv(Sketch &s) {
  Dim h = s.symbol("a"), w = s.symbol("b");
  ValueId x = s.in({1, 2, h, w}), y = s.in({1, 3, h, w});
  ValueId both = concat(s, {touch(s, x), y}, 1);
  s.out(s.conv(both, s.weight({4, 5, 3, 3}), 1, 1));
}

// ---- look-ups ----

void lookUpThenAdd(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b"), c = s.symbol("c");
  ValueId table = s.in({b, c});
  ValueId rows = s.op("gather", {table, s.indices(I64, {a}, b)});
  s.out(touch(s, s.op("add", {rows, s.in({a, c})})));
}

void lookUpOfComputed(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b"), c = s.symbol("c");
  ValueId table = touch(s, s.in({c, b}));
  ValueId rows =
      s.op("gather", {table, s.indices(I32, {a, 2}, b)}, {{"axis", 1}});
  s.out(s.reduce(rows, "sum", {2}));
}

void lookUpThenProduct(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b"), c = s.symbol("c");
  ValueId rows = s.op("gather", {s.in({b, c}), s.indices(I64, {a}, b)});
  s.out(s.matmul(rows, s.in({c, 9})));
}

void scatterThenUse(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b"), c = s.symbol("c");
  ValueId x = touch(s, s.in({b, c}));
  ValueId put = s.op("scatter", {x, s.indices(I64, {a}, b), s.in({a, c})},
                     {{"combine", "add"}});
  s.out(touch(s, put));
  s.out(x);
}

void replaceRows(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b"), c = s.symbol("c");
  ValueId x = s.in({b, c}), rows = touch(s, s.in({a, c}));
  ValueId put = s.op("scatter", {x, s.indices(I32, {a}, b), rows});
  s.out(s.op("sub", {put, x}));
}

void columnAndRow(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b");
  ValueId column = touch(s, s.in({a})), row = s.in({b});
  ValueId grid = s.op(
      "mul", {s.broadcast(column, {a, b}, {0}), s.broadcast(row, {a, b}, {1})});
  s.out(s.reduce(grid, "sum", {0}));
  s.out(grid);
}

void onePerAxis(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b"), c = s.symbol("c");
  ValueId thin = s.in({a, 1, c}, -2, 2), full = s.in({a, b, c}, -2, 2);
  ValueId wide = s.broadcast(thin, {a, b, c}, {0, 1, 2});
  s.out(touch(s, s.op("sub", {wide, full})));
}

void countedMask(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b");
  ValueId x = s.in({a, b}, -2, 2);
  auto count = [&](int64_t axis) {
    return s.op("iota", {},
                {{"dtype", static_cast<int64_t>(I64)},
                 {"dims", Dims{a, b}},
                 {"axis", axis}});
  };
  ValueId below = s.op("compare", {count(1), count(0)}, {{"direction", "le"}});
  s.out(s.op("select", {below, touch(s, x), s.fill(0, x)}));
}

void windows(Sketch &s) {
  Dim h = s.symbol("a"), w = s.symbol("b");
  ValueId x = touch(s, s.in({1, 3, h, w}));
  Axes two = {2, 2}, one = {1, 1};
  ValueId most = s.op("pool", {x},
                      {{"kind", "max"},
                       {"window", two},
                       {"strides", one},
                       {"dilations", one},
                       {"low", one},
                       {"high", Axes{0, 0}}});
  s.out(s.op("sub", {most, x}));
}

// ---- symbols ----

/// Sizes that are equal in one call and differ in the next, never by type.
void equalBySizeOnly(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b"), c = s.symbol("c");
  ValueId x = s.in({a, b}), y = s.in({b, c});
  ValueId product = s.matmul(touch(s, x), y);
  s.out(product);
  s.out(s.op("add", {s.reduce(x, "sum", {0}), s.reduce(y, "max", {1})}));
}

void derivedSizes(Sketch &s) {
  Dim a = s.symbol("a"), b = s.symbol("b");
  Dim rows = ceilDiv(a, 2), columns = max(b - 3, 0);
  ValueId x = s.in({a, b}, -2, 2);
  ValueId inner = slice(s, x, {a - rows, 0}, {rows, columns}, {1, 1});
  ValueId flat = s.reshape(touch(s, inner), {rows * columns});
  s.out(concat(s, {flat, s.reshape(x, {a * b})}, 0));
}

} // namespace

void makeLayouts(const Sink &sink) {
  const std::vector<SymbolValues> sizes = {{{"a", 5}, {"b", 17}, {"c", 9}},
                                           {{"a", 1}, {"b", 1}, {"c", 1}},
                                           {{"a", 16}, {"b", 16}, {"c", 16}},
                                           {{"a", 33}, {"b", 7}, {"c", 65}},
                                           {{"a", 4}, {"b", 31}, {"c", 2}}};
  std::vector<Pattern> patterns;
  for (const auto &[name, build] : std::initializer_list<NamedBuild>{
           {"transpose-and-back", transposeAndBack},
           {"transpose-reduce", transposeThenReduce},
           {"reduce-transpose", reduceThenTranspose},
           {"flatten-and-back", flattenAndBack},
           {"split-heads", splitHeads},
           {"transposed-matmul", transposedOperands},
           {"batch-moved", batchMoved},
           {"split-join", splitAndJoin},
           {"even-odd", evenAndOdd},
           {"join-reduce", joinThenReduce},
           {"joined-twice", joinedTwice},
           {"pad-reduce", padThenReduce},
           {"pad-cut", padAndCut},
           {"reverse-cumulate", reverseThenCumulate},
           {"pad-conv", padThenConv},
           {"join-conv", joinThenConv},
           {"gather-add", lookUpThenAdd},
           {"gather-computed", lookUpOfComputed},
           {"gather-matmul", lookUpThenProduct},
           {"scatter-add", scatterThenUse},
           {"scatter-replace", replaceRows},
           {"column-row", columnAndRow},
           {"size-one", onePerAxis},
           {"counted-mask", countedMask},
           {"windows", windows},
           {"symbols-equal", equalBySizeOnly},
           {"symbols-derived", derivedSizes}})
    patterns.push_back({name,
                        {"index", "stride", "tail", "broadcast"},
                        {F32, I32},
                        build,
                        sizes});
  makePatterns(sink, "layout", patterns);
}

} // namespace backplane::conformance
