// SPDX-License-Identifier: Apache-2.0
//
// Units of `if` and `while`: which region runs, what it sees of the graph
// around it, what loops carry from one iteration to the next and what they
// stack.
#include "CaseBuilder.h"
#include "Rules.h"

namespace backplane::conformance {

namespace {

using Ids = std::vector<ValueId>;

TensorType typed(DType dtype, Dims dims) { return {dtype, std::move(dims)}; }

/// Builds a region of a unit's graph.
class Region {
public:
  explicit Region(const Graph &around, const std::string &iteration = "")
      : iteration_(iteration) {
    graph_.symbols = around.symbols;
    if (!iteration.empty())
      graph_.symbols.push_back({iteration});
  }
  ValueId input(const TensorType &type) { return graph_.addInput("", type); }
  ValueId add(std::string_view op, Ids operands, Attributes attributes = {}) {
    auto results = graph_.add(op, std::move(operands), std::move(attributes));
    return results ? results->front() : ValueId(graph_.values.size());
  }
  Ids control(Op op) {
    auto results = graph_.addControl(std::move(op));
    return results ? *results : Ids(9, ValueId(graph_.values.size()));
  }
  /// `count` rows of x from `first` on.
  ValueId rows(ValueId x, const Dim &first, const Dim &count) {
    Dims sizes = graph_.type(x).dims, starts(sizes.size(), Dim(0));
    starts[0] = first;
    sizes[0] = count;
    return add("slice", {x},
               {{"starts", starts},
                {"sizes", sizes},
                {"strides", std::vector<int64_t>(sizes.size(), 1)}});
  }
  ValueId row(ValueId x, const Dim &index) {
    Dims dims = graph_.type(x).dims;
    return add("reshape", {rows(x, index, 1)},
               {{"dims", Dims(dims.begin() + 1, dims.end())}});
  }
  const Graph &graph() const { return graph_; }
  Graph finish(const Ids &outputs) {
    for (ValueId output : outputs)
      graph_.addOutput(output, "");
    graph_.symbols.clear();
    if (!iteration_.empty())
      graph_.symbols.push_back({iteration_});
    return graph_;
  }

private:
  Graph graph_;
  std::string iteration_;
};

Op ifOp(Ids operands, Graph then, Graph otherwise, Dims condition = {}) {
  return {"if",
          1,
          std::move(operands),
          {},
          {{"condition", condition}},
          {std::move(then), std::move(otherwise)},
          "if"};
}

Op whileOp(Ids operands, int64_t carried, Graph body, Dims limit,
           bool conditional = false) {
  std::string iteration = body.symbols.empty() ? "" : body.symbols.back().name;
  return {"while",
          1,
          std::move(operands),
          {},
          {{"carried", carried},
           {"conditional", int64_t(conditional)},
           {"iteration", iteration},
           {"limit", std::move(limit)}},
          {std::move(body)},
          "while"};
}

/// A region that returns op(x), or op(x, x).
Graph simple(const Graph &around, std::string_view op, const TensorType &type,
             bool binary = false) {
  Region region(around);
  ValueId x = region.input(type);
  return region.finish({region.add(op, binary ? Ids{x, x} : Ids{x})});
}

void outputs(CaseBuilder &builder, const Ids &values) {
  for (ValueId value : values)
    builder.output(value);
}

std::vector<std::string> tagsOfControl() {
  return {"index", "tail", "in-place", "cache"};
}

// ---- if ----

/// A predicate that is an input, one that is computed, and one of the sizes.
void makeChoices(const Sink &sink, DType dtype, const std::string &variant) {
  CaseBuilder builder(sink, "if", dtype, variant, tagsOfControl());
  TensorType type = typed(dtype, {builder.symbol("n")});
  Ids operands;
  if (variant == "predicate")
    operands = {builder.input(DType::Bool, {})};
  ValueId x = builder.input(dtype, type.dims);
  if (variant == "computed") {
    ValueId least = builder.add(
        "reduce", {x},
        {{"kind", "min"}, {"axes", std::vector<int64_t>{0}}, {"keep", 0}});
    ValueId most = builder.add(
        "reduce", {x},
        {{"kind", "max"}, {"axes", std::vector<int64_t>{0}}, {"keep", 0}});
    operands = {builder.add("compare", {least, most}, {{"direction", "lt"}})};
  }
  operands.push_back(x);
  Dims condition;
  if (variant == "sizes")
    condition = {mod(type.dims[0], Dim(2))};
  Graph then = simple(builder.graph(), "add", type, true);
  Graph otherwise = simple(builder.graph(), "neg", type);
  Ids y = builder.control(ifOp(operands, then, otherwise, condition));
  // Its result is used again, beside an operand of it.
  outputs(builder, {y[0], builder.add("max", {y[0], x})});
  for (int64_t size : {1, 2, 17, 64, 65, 1000})
    builder.addCase(size == 17 ? smokeOf(dtype) : Depth::Standard,
                    size % 2 ? "uniform" : "integers", {{"n", size}});
  builder.finish();
}

/// Results that are operands, exchanged in one region only.
void makeExchange(const Sink &sink) {
  CaseBuilder builder(sink, "if", DType::F32, "exchange", tagsOfControl());
  TensorType type = typed(DType::F32, {builder.symbol("n")});
  ValueId p = builder.input(DType::Bool, {});
  ValueId x = builder.input(DType::F32, type.dims);
  ValueId y = builder.input(DType::F32, type.dims);
  Region then(builder.graph()), otherwise(builder.graph());
  ValueId a = then.input(type), b = then.input(type);
  ValueId c = otherwise.input(type), d = otherwise.input(type);
  outputs(builder, builder.control(ifOp({p, x, y}, then.finish({b, a}),
                                        otherwise.finish({c, d}))));
  for (int64_t size : {1, 16, 17, 100})
    builder.addCase(Depth::Standard, "bits", {{"n", size}});
  builder.finish();
}

/// Zeros among the divisors choose the region that does not divide.
void makeUntaken(const Sink &sink) {
  CaseBuilder builder(sink, "if", DType::I32, "untaken-error",
                      {"error-word", "cache"});
  TensorType type = typed(DType::I32, {builder.symbol("n")});
  ValueId x = builder.input(DType::I32, type.dims);
  ValueId size = builder.add("abs", {x});
  ValueId least = builder.add(
      "reduce", {size},
      {{"kind", "min"}, {"axes", std::vector<int64_t>{0}}, {"keep", 0}});
  ValueId zero = builder.add(
      "constant", {},
      {{"value", Bytes(4)}, {"dtype", int64_t(DType::I32)}, {"dims", Dims()}});
  ValueId p = builder.add("compare", {least, zero}, {{"direction", "gt"}});
  Graph then = simple(builder.graph(), "div", type, true);
  Graph otherwise = simple(builder.graph(), "neg", type);
  outputs(builder, builder.control(ifOp({p, x}, then, otherwise)));
  for (int64_t n : {1, 2, 3, 65, 1000})
    builder.addCase(n == 3 ? Depth::Smoke : Depth::Standard, "integers",
                    {{"n", n}});
  builder.finish();
}

/// A choice in a choice; the inner one sees what both take.
void makeNested(const Sink &sink) {
  CaseBuilder builder(sink, "if", DType::F32, "nested", tagsOfControl());
  TensorType type = typed(DType::F32, {builder.symbol("n")});
  ValueId p = builder.input(DType::Bool, {}),
          q = builder.input(DType::Bool, {});
  ValueId x = builder.input(DType::F32, type.dims);
  Region then(builder.graph());
  ValueId inner = then.input(typed(DType::Bool, {}));
  ValueId value = then.input(type);
  Ids chosen =
      then.control(ifOp({inner, value}, simple(then.graph(), "abs", type),
                        simple(then.graph(), "relu", type)));
  Region otherwise(builder.graph());
  otherwise.input(typed(DType::Bool, {}));
  ValueId unchanged = otherwise.input(type);
  outputs(builder, builder.control(ifOp({p, q, x}, then.finish(chosen),
                                        otherwise.finish({unchanged}))));
  for (int64_t n : {1, 16, 17, 33, 65, 129})
    builder.addCase(Depth::Standard, "uniform", {{"n", n}});
  builder.finish();
}

// ---- while ----

/// Running sums of the rows of x, in one direction or the other.
void makeRunningSums(const Sink &sink, DType dtype, bool reversed) {
  CaseBuilder builder(sink, "while", dtype, reversed ? "reversed" : "sums",
                      tagsOfControl());
  Dim n = builder.symbol("n"), w = builder.symbol("w");
  InputRule rule = termsOf(n + Dim(1));
  ValueId start = builder.input(dtype, {w}, rule);
  ValueId x = builder.input(dtype, {n, w}, rule);
  Region body(builder.graph(), "i");
  ValueId before = body.input(typed(dtype, {w}));
  ValueId rows = body.input(typed(dtype, {n, w}));
  Dim i = Dim::symbol("i");
  ValueId row = body.row(rows, reversed ? n - Dim(1) - i : i);
  ValueId after = body.add("add", {before, row});
  outputs(builder, builder.control(whileOp({start, x}, 1,
                                           body.finish({after, after}), {n})));
  // Rows of 16 floats start where devices bind, others are copied there.
  for (auto [rows, width] :
       {std::pair(5, 3), {4, 16}, {1, 7}, {0, 5}, {33, 64}})
    builder.addCase(rows == 5 ? smokeOf(dtype) : Depth::Standard, "integers",
                    {{"n", rows}, {"w", width}});
  builder.finish();
}

/// Exchanges two values, n times.
void makeSwaps(const Sink &sink) {
  CaseBuilder builder(sink, "while", DType::F32, "exchange", tagsOfControl());
  Dim n = builder.symbol("n"), w = builder.symbol("w");
  TensorType type = typed(DType::F32, {w});
  ValueId x = builder.input(DType::F32, {w}),
          y = builder.input(DType::F32, {w});
  builder.input(DType::F32, {n});
  Region body(builder.graph());
  ValueId a = body.input(type), b = body.input(type);
  outputs(builder,
          builder.control(whileOp({x, y}, 2, body.finish({b, a}), {n})));
  for (int64_t times : {0, 1, 2, 3, 8})
    builder.addCase(Depth::Standard, "bits", {{"n", times}, {"w", 17}});
  builder.finish();
}

/// Counts up to a number of the data, and negates a value each time.
void makePredicate(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "while", dtype, "predicate", tagsOfControl());
  Dim n = builder.symbol("n");
  InputRule rule = indexBelow(Dim(9));
  ValueId most = builder.input(DType::I32, {}, rule);
  ValueId x = builder.input(dtype, {n});
  TensorType counter = typed(DType::I32, {});
  auto constant = [](uint8_t value) {
    return Attributes{{"value", Bytes{value, 0, 0, 0}},
                      {"dtype", int64_t(DType::I32)},
                      {"dims", Dims()}};
  };
  Attributes below = {{"direction", "lt"}};
  ValueId zero = builder.add("constant", {}, constant(0));
  Region body(builder.graph());
  ValueId count = body.input(counter), value = body.input(typed(dtype, {n}));
  ValueId limit = body.input(counter);
  ValueId next =
      body.add("add", {count, body.add("constant", {}, constant(1))});
  ValueId going = body.add("compare", {next, limit}, below);
  ValueId turned = body.add("neg", {value});
  outputs(builder,
          builder.control(whileOp(
              {builder.add("compare", {zero, most}, below), zero, x, most}, 2,
              body.finish({going, next, turned}), {}, true)));
  for (int64_t size : {1, 16, 17, 65, 130})
    builder.addCase(size == 17 ? smokeOf(dtype) : Depth::Standard, "uniform",
                    {{"n", size}});
  builder.finish();
}

/// h = h * W + row of x: a recurrent layer whose weights are inside.
void makeRecurrent(const Sink &sink) {
  CaseBuilder builder(sink, "while", DType::F32, "recurrent",
                      {"index", "tail", "cache"});
  Dim n = builder.symbol("n"), b = builder.symbol("b");
  InputRule rule = termsOf(16);
  ValueId h = builder.input(DType::F32, {b, 16}, rule);
  ValueId x = builder.input(DType::F32, {n, b, 16}, rule);
  ValueId w = builder.weight(DType::F32, {16, 16}, -0.25, 0.25);
  Region body(builder.graph(), "i");
  ValueId before = body.input(typed(DType::F32, {b, 16}));
  ValueId rows = body.input(typed(DType::F32, {n, b, 16}));
  ValueId weight =
      body.add("weight", {}, builder.graph().ops.back().attributes);
  ValueId product = body.add("matmul", {before, weight});
  ValueId after = body.add("add", {product, body.row(rows, Dim::symbol("i"))});
  Ids y = builder.control(whileOp({h, x}, 1, body.finish({after, after}), {n}));
  outputs(builder, {y[0], y[1], builder.add("matmul", {y[0], w})});
  for (auto [steps, batch] : {std::pair(3, 2), {1, 1}, {4, 5}})
    builder.addCase(steps == 3 ? Depth::Smoke : Depth::Standard, "uniform",
                    {{"n", steps}, {"b", batch}});
  builder.finish();
}

/// The greatest of the first rows, of one more in each iteration: sizes inside
/// depend on it.
void makeGrowing(const Sink &sink) {
  CaseBuilder builder(sink, "while", DType::F32, "growing", tagsOfControl());
  Dim n = builder.symbol("n"), w = builder.symbol("w");
  ValueId x = builder.input(DType::F32, {n, w});
  Region body(builder.graph(), "i");
  ValueId rows = body.input(typed(DType::F32, {n, w}));
  ValueId first = body.rows(rows, 0, Dim::symbol("i") + Dim(1));
  ValueId most = body.add(
      "reduce", {first},
      {{"kind", "max"}, {"axes", std::vector<int64_t>{0}}, {"keep", 0}});
  outputs(builder, builder.control(whileOp({x}, 0, body.finish({most}), {n})));
  for (auto [rows, width] : {std::pair(4, 3), {17, 16}, {1, 1}})
    builder.addCase(Depth::Standard, "uniform", {{"n", rows}, {"w", width}});
  builder.finish();
}

/// A loop in a loop: all pairs of rows of x and y, multiplied.
void makePairs(const Sink &sink) {
  CaseBuilder builder(sink, "while", DType::F32, "pairs", tagsOfControl());
  Dim n = builder.symbol("n"), m = builder.symbol("m"), w = builder.symbol("w");
  ValueId x = builder.input(DType::F32, {n, w});
  ValueId y = builder.input(DType::F32, {m, w});
  Region outer(builder.graph(), "i");
  ValueId left = outer.input(typed(DType::F32, {n, w}));
  ValueId right = outer.input(typed(DType::F32, {m, w}));
  Region inner(outer.graph(), "j");
  ValueId a = inner.input(typed(DType::F32, {n, w}));
  ValueId b = inner.input(typed(DType::F32, {m, w}));
  ValueId product = inner.add(
      "mul", {inner.row(a, Dim::symbol("i")), inner.row(b, Dim::symbol("j"))});
  Ids rows =
      outer.control(whileOp({left, right}, 0, inner.finish({product}), {m}));
  outputs(builder,
          builder.control(whileOp({x, y}, 0, outer.finish(rows), {n})));
  for (auto [a, b] : {std::pair(2, 3), {3, 1}, {5, 5}, {0, 2}})
    builder.addCase(Depth::Standard, "uniform", {{"n", a}, {"m", b}, {"w", 6}});
  builder.finish();
}

/// A choice in each iteration, by the number of the iteration.
void makeAlternating(const Sink &sink) {
  CaseBuilder builder(sink, "while", DType::F32, "alternating",
                      tagsOfControl());
  Dim n = builder.symbol("n"), w = builder.symbol("w");
  TensorType type = typed(DType::F32, {w});
  ValueId x = builder.input(DType::F32, {w});
  builder.input(DType::F32, {n});
  Region body(builder.graph(), "i");
  ValueId before = body.input(type);
  Ids after = body.control(ifOp({before}, simple(body.graph(), "neg", type),
                                simple(body.graph(), "add", type, true),
                                {mod(Dim::symbol("i"), Dim(2))}));
  outputs(builder, builder.control(whileOp(
                       {x}, 1, body.finish({after[0], after[0]}), {n})));
  for (int64_t times : {1, 2, 7, 0})
    builder.addCase(Depth::Standard, "uniform", {{"n", times}, {"w", 5}});
  builder.finish();
}

} // namespace

void makeControl(const Sink &sink) {
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16,
                      DType::I64, DType::I32, DType::I16, DType::I8}) {
    for (const char *variant : {"predicate", "computed", "sizes"})
      makeChoices(sink, dtype, variant);
    makeRunningSums(sink, dtype, false);
  }
  for (DType dtype : {DType::F32, DType::F16, DType::I64}) {
    makeRunningSums(sink, dtype, true);
    makePredicate(sink, dtype);
  }
  for (auto *make : {makeExchange, makeUntaken, makeNested, makeSwaps,
                     makeRecurrent, makeGrowing, makePairs, makeAlternating})
    make(sink);
}

} // namespace backplane::conformance
