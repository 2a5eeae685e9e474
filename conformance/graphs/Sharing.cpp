// SPDX-License-Identifier: Apache-2.0
//
// Values with several users, in-place candidates, many values alive at once,
// and ops that differ in one attribute only.
#include "Graphs.h"
#include "Sketch.h"

namespace backplane::conformance {

namespace {

using enum DType;
using Axes = std::vector<int64_t>;
using NamedBuild = std::pair<const char *, void (*)(Sketch &)>;

ValueId plane(Sketch &s) { return s.in({s.symbol("m"), s.symbol("n")}, -2, 2); }

// ---- in place ----

void inputStaysAlive(Sketch &s) {
  ValueId x = plane(s), next = s.op("add", {x, s.fill(1, x)});
  ValueId sum = s.reduce(next, "sum", {0});
  s.out(s.op("mul", {next, x}));
  s.out(s.op("sub", {s.broadcast(sum, s.type(x).dims, {1}), x}));
}

void valueStaysAlive(Sketch &s) {
  ValueId x = s.op("neg", {plane(s)});
  ValueId rows = s.reduce(x, "max", {1});
  ValueId y = s.op("add", {x, s.broadcast(rows, s.type(x).dims, {0})});
  ValueId columns = s.reduce(y, "max", {0});
  s.out(s.op("sub", {y, s.broadcast(columns, s.type(x).dims, {1})}));
  s.out(s.op("mul", {x, x}));
}

void withItself(Sketch &s) {
  ValueId x = plane(s), twice = s.op("add", {x, x});
  ValueId square = s.op("mul", {twice, twice});
  s.out(s.op("sub", {square, square}));
  s.out(square);
}

void transposedOverItself(Sketch &s) {
  Dim n = s.symbol("n");
  (void)s.symbol("m");
  ValueId x = s.op("neg", {s.in({n, n}, -2, 2)});
  s.out(s.op("add", {x, s.transpose(x, {1, 0})}));
}

void reversedOverItself(Sketch &s) {
  ValueId x = s.op("abs", {plane(s)});
  s.out(s.op("sub", {x, s.op("reverse", {x}, {{"axes", Axes{1}}})}));
}

void shiftedOverItself(Sketch &s) {
  Dim m = s.symbol("m"), n = s.symbol("n");
  ValueId x = s.op("neg", {s.in({m, n}, -2, 2)});
  auto part = [&](int64_t start) {
    return s.op("slice", {x},
                {{"starts", Dims{0, start}},
                 {"sizes", Dims{m, n - 1}},
                 {"strides", Axes{1, 1}}});
  };
  s.out(s.op("sub", {part(1), part(0)}));
}

void inputIsOutput(Sketch &s) {
  ValueId x = plane(s);
  s.out(x);
  s.out(s.op("neg", {x}));
}

void reshapedTwice(Sketch &s) {
  ValueId x = plane(s);
  Dims dims = s.type(x).dims;
  if (dims.size() < 2)
    return;
  ValueId y = s.op("neg", {x});
  s.out(s.reshape(y, {dims[1], dims[0]}));
  s.out(s.op("add", {s.reshape(y, {dims[0] * dims[1]}),
                     s.reshape(x, {dims[0] * dims[1]})}));
}

void rowsReplaced(Sketch &s) {
  Dim m = s.symbol("m"), n = s.symbol("n");
  ValueId x = s.op("neg", {s.in({m, n}, -2, 2)});
  ValueId index = s.indices(I64, {3}, m), rows = s.in({3, n}, -2, 2);
  s.out(s.op("scatter", {x, index, rows}));
  s.out(s.op("add", {x, x}));
}

void longLife(Sketch &s) {
  ValueId x = s.op("neg", {plane(s)}), y = x;
  for (int i = 0; i < 6; ++i) {
    ValueId most = s.reduce(y, "max", {i % 2});
    ValueId wide = s.broadcast(most, s.type(x).dims, {1 - i % 2});
    y = s.op("sub", {wide, y});
  }
  s.out(s.op("min", {y, x}));
}

void denselyJoined(Sketch &s) {
  std::vector<ValueId> parts = {plane(s)};
  for (int i = 0; i < 4; ++i) {
    ValueId all =
        parts.size() == 1 ? parts[0] : s.op("concat", parts, {{"axis", 1}});
    ValueId column = s.reduce(all, "max", {1});
    parts.push_back(s.broadcast(column, s.type(parts[0]).dims, {0}));
    parts.back() = s.op("sub", {parts.back(), parts[size_t(i)]});
  }
  s.out(s.op("concat", parts, {{"axis", 1}}));
}

void manyAlive(Sketch &s) {
  ValueId x = plane(s);
  std::vector<ValueId> rows;
  for (int i = 0; i < 10; ++i) {
    ValueId y = s.op("add", {x, s.fill(i, x)});
    rows.push_back(s.reduce(y, i % 2 ? "sum" : "max", {1}));
  }
  ValueId sum = rows.back();
  for (size_t i = rows.size() - 1; i-- > 0;)
    sum = s.op(i % 2 ? "sub" : "add", {sum, rows[i]});
  s.out(sum);
}

void fourOutputs(Sketch &s) {
  ValueId x = plane(s), a = s.op("abs", {x}), b = s.op("neg", {a});
  for (ValueId value : {a, b, s.op("add", {a, b}), s.reduce(b, "min", {0})})
    s.out(value);
}

void sortedAndUsed(Sketch &s) {
  Dim m = s.symbol("m"), n = s.symbol("n");
  ValueId x = s.in({m, n}, -2, 2);
  ValueId best = s.op("top_k", {x}, {{"k", Dims{min(n, 2)}}, {"axis", 1}});
  s.out(s.op("add", {best, best}));
  s.out(s.result(best, 1));
  s.out(s.reduce(x, "max", {1}));
}

/// Each read returns what was written last. The variable ends as it began.
void writesInOrder(Sketch &s) {
  auto read = [&] {
    return s.op("variable_read", {},
                {{"variable", "v"},
                 {"dtype", static_cast<int64_t>(s.dtype)},
                 {"dims", Dims{}}});
  };
  auto write = [&](ValueId value) {
    s.builder.add("variable_write", {value}, {{"variable", "v"}});
  };
  s.builder.variable("v", s.dtype, {});
  ValueId x = plane(s), first = read();
  write(s.reduce(x, "max", {0, 1}));
  ValueId second = read();
  write(s.op("neg", {second}));
  ValueId third = read();
  write(first);
  for (ValueId value : {second, third, read()})
    s.out(value);
}

void makeInPlace(const Sink &sink) {
  const std::vector<SymbolValues> sizes = {{{"m", 17}, {"n", 33}},
                                           {{"m", 1}, {"n", 1}},
                                           {{"m", 64}, {"n", 64}},
                                           {{"m", 5}, {"n", 127}}};
  std::vector<Pattern> patterns;
  for (const auto &[name, build] :
       std::initializer_list<NamedBuild>{{"input-alive", inputStaysAlive},
                                         {"value-alive", valueStaysAlive},
                                         {"with-itself", withItself},
                                         {"transposed", transposedOverItself},
                                         {"reversed", reversedOverItself},
                                         {"shifted", shiftedOverItself},
                                         {"input-is-output", inputIsOutput},
                                         {"reshaped", reshapedTwice},
                                         {"rows-replaced", rowsReplaced},
                                         {"long-life", longLife},
                                         {"densely-joined", denselyJoined},
                                         {"many-alive", manyAlive},
                                         {"four-outputs", fourOutputs},
                                         {"sorted", sortedAndUsed},
                                         {"writes-in-order", writesInOrder}})
    patterns.push_back(
        {name, {"in-place", "workspace"}, {F32, I32}, build, sizes});
  makePatterns(sink, "sharing", patterns);
}

// ---- one attribute apart ----

/// Two uses of an op on the same operands, and what combines them.
struct Pair {
  const char *name;
  const char *op;
  Attributes first, second;
  std::vector<DType> dtypes = {F32, I32};
};

Attributes along(const char *kind, int64_t axis, Attributes more = {}) {
  more["kind"] = std::string(kind);
  more["axis"] = axis;
  return more;
}

Attributes over(const char *kind, Axes axes) {
  return {{"kind", std::string(kind)}, {"axes", std::move(axes)}};
}

Attributes box(Dims starts, Dims sizes, Axes strides) {
  return {{"starts", std::move(starts)},
          {"sizes", std::move(sizes)},
          {"strides", std::move(strides)}};
}

std::vector<Pair> pairs() {
  Dim m = Dim::symbol("m"), n = Dim::symbol("n");
  Attributes forwards = along("sum", 1);
  return {
      {"reduce-kind", "reduce", over("min", {1}), over("max", {1})},
      {"reduce-axes", "reduce", over("sum", {0}), over("sum", {1})},
      {"reduce-keep",
       "reduce",
       over("max", {0, 1}),
       {{"kind", "max"}, {"axes", Axes{0, 1}}, {"keep", 1}}},
      {"transpose",
       "transpose",
       {{"permutation", Axes{1, 0}}},
       {{"permutation", Axes{0, 1}}}},
      {"reverse", "reverse", {{"axes", Axes{0}}}, {{"axes", Axes{1}}}},
      {"slice-start", "slice", box({0, 0}, {m, 4}, {1, 1}),
       box({0, 1}, {m, 4}, {1, 1})},
      {"slice-stride", "slice", box({0, 0}, {m, 3}, {1, 1}),
       box({0, 0}, {m, 3}, {1, 2})},
      {"cumulative-kind", "cumulative", forwards, along("max", 1)},
      {"cumulative-exclusive", "cumulative", forwards,
       along("sum", 1, {{"exclusive", 1}})},
      {"cumulative-reverse", "cumulative", forwards,
       along("sum", 1, {{"reverse", 1}})},
      {"arg-kind", "arg_reduce", along("min", 1), along("max", 1)},
      {"arg-last", "arg_reduce", along("max", 0),
       along("max", 0, {{"last", 1}})},
      {"clamp-low",
       "clamp",
       {{"low", -1.0}, {"high", 1.0}},
       {{"low", 0.0}, {"high", 1.0}}},
      {"clamp-high",
       "clamp",
       {{"low", -1.0}, {"high", 1.0}},
       {{"low", -1.0}, {"high", 2.0}}},
      {"cast",
       "cast",
       {{"dtype", int64_t(I8)}},
       {{"dtype", int64_t(U8)}},
       {I32}},
      {"softmax-axis", "softmax", {{"axis", 0}}, {{"axis", 1}}, {F32}},
      {"leaky-relu", "leaky_relu", {{"alpha", 0.1}}, {{"alpha", 0.2}}, {F32}},
      {"elu", "elu", {{"alpha", 0.5}}, {{"alpha", 1.5}}, {F32}},
      {"hard-sigmoid",
       "hard_sigmoid",
       {{"beta", 0.5}},
       {{"beta", 0.25}},
       {F32}},
      {"gelu", "gelu", {}, {{"approximate", "tanh"}}, {F32}},
      {"broadcast",
       "broadcast",
       {{"dims", Dims{2, m, n}}, {"axes", Axes{1, 2}}},
       {{"dims", Dims{m, 2, n}}, {"axes", Axes{0, 2}}}},
  };
}

/// Both results, each changed a little so that neither is moved alone.
Pattern patternOf(const Pair &pair, std::vector<SymbolValues> sizes) {
  auto build = [pair](Sketch &s) {
    ValueId x = plane(s);
    s.out(s.op(pair.op, {x}, pair.first));
    s.out(s.op(pair.op, {x}, pair.second));
  };
  return {pair.name, {"cse"}, pair.dtypes, build, std::move(sizes)};
}

void comparedBothWays(Sketch &s) {
  ValueId x = plane(s), y = plane(s);
  for (const char *direction : {"lt", "le", "gt", "ge", "eq", "ne"})
    s.out(s.op("compare", {x, y}, {{"direction", std::string(direction)}}));
}

void operandsSwapped(Sketch &s) {
  ValueId x = plane(s), y = plane(s);
  s.out(s.op("sub", {x, y}));
  s.out(s.op("sub", {y, x}));
  s.out(s.op("min", {s.op("add", {x, y}), s.op("add", {y, x})}));
}

void productsTransposed(Sketch &s) {
  (void)s.symbol("m");
  Dim n = s.symbol("n");
  ValueId x = s.in({n, n}), y = s.in({n, n});
  for (int64_t a : {0, 1})
    for (int64_t b : {0, 1})
      s.out(s.op("matmul", {x, y}, {{"transpose_a", a}, {"transpose_b", b}}));
}

void convolvedApart(Sketch &s) {
  ValueId x = s.in({1, 4, s.symbol("m"), s.symbol("n")});
  ValueId w = s.weight({4, 4, 3, 3});
  s.out(s.conv(x, w, 1, 1));
  s.out(s.conv(x, w, 2, 1));
  s.out(s.conv(x, w, 1, 2, 1, 2));
}

void normsApart(Sketch &s) {
  ValueId x = plane(s);
  Dims row = {Dim::symbol("n")};
  ValueId scale = s.in(row, 0.5, 1.5), shift = s.in(row);
  for (double epsilon : {0.1, 1.0})
    s.out(s.op("layer_norm", {x, scale, shift},
               {{"axis", 1}, {"epsilon", epsilon}}));
}

void countsApart(Sketch &s) {
  ValueId x = plane(s);
  for (int64_t axis : {0, 1}) {
    ValueId count = s.op("iota", {},
                         {{"dtype", static_cast<int64_t>(s.dtype)},
                          {"dims", s.type(x).dims},
                          {"axis", axis}});
    s.out(s.op("add", {x, count}));
  }
}

void makeCse(const Sink &sink) {
  const std::vector<SymbolValues> sizes = {
      {{"m", 9}, {"n", 17}}, {{"m", 16}, {"n", 16}}, {{"m", 33}, {"n", 5}}};
  std::vector<Pattern> patterns;
  for (const Pair &pair : pairs())
    patterns.push_back(patternOf(pair, sizes));
  for (const auto &[name, build] :
       std::initializer_list<NamedBuild>{{"compare", comparedBothWays},
                                         {"operands", operandsSwapped},
                                         {"matmul", productsTransposed},
                                         {"iota", countsApart}})
    patterns.push_back({name, {"cse"}, {F32, I32}, build, sizes});
  patterns.push_back({"conv", {"cse"}, {F32}, convolvedApart, sizes});
  patterns.push_back({"layer-norm", {"cse"}, {F32}, normsApart, sizes});
  makePatterns(sink, "one-apart", patterns);
}

} // namespace

void makeSharing(const Sink &sink) {
  makeInPlace(sink);
  makeCse(sink);
}

} // namespace backplane::conformance
