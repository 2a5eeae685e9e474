// SPDX-License-Identifier: Apache-2.0
#include "Sketch.h"

#include "conformance/compare/Elements.h"

#include <algorithm>

namespace backplane::conformance {

Sketch::Sketch(const Sink &sink, int layer, const std::string &op, DType dtype,
               const std::string &variant, std::vector<std::string> tags,
               bool observed)
    : builder(sink, op, dtype, variant, std::move(tags)), dtype(dtype),
      observed_(observed) {
  builder.inLayer(layer);
}

const TensorType &Sketch::type(ValueId value) const {
  static const TensorType none;
  const Graph &graph = builder.graph();
  return value < graph.values.size() ? graph.type(value) : none;
}

ValueId Sketch::in(Dims dims, double low, double high) {
  return builder.input(
      dtype, std::move(dims),
      {.kind = InputRule::Kind::Range, .low = low, .high = high});
}

ValueId Sketch::in(Dims dims) {
  auto [low, high] = smallNumbers(dtype);
  return in(std::move(dims), low, high);
}

ValueId Sketch::indices(DType indexType, Dims dims, Dim bound) {
  return builder.input(
      indexType, std::move(dims),
      {.kind = InputRule::Kind::Index, .bound = std::move(bound)});
}

ValueId Sketch::op(std::string_view name, std::vector<ValueId> operands,
                   Attributes attributes) {
  ValueId value = builder.add(name, std::move(operands), std::move(attributes));
  if (observed_ && name != "constant" && name != "weight")
    out(value);
  return value;
}

ValueId Sketch::result(ValueId first, size_t result) const {
  for (const Op &op : builder.graph().ops)
    if (!op.results.empty() && op.results[0] == first &&
        result < op.results.size())
      return op.results[result];
  return static_cast<ValueId>(builder.graph().values.size());
}

ValueId Sketch::fill(double value, ValueId like) {
  return constant(type(like).dtype, type(like).dims, {value});
}

ValueId Sketch::constant(DType type, Dims dims,
                         const std::vector<double> &elements) {
  Tensor tensor{type, {}, Bytes(packedBytes(type, elements.size()))};
  for (size_t i = 0; i < elements.size(); ++i)
    storeBits(tensor, i, elementBits(type, static_cast<Real>(elements[i])));
  return op("constant", {},
            {{"value", std::move(tensor.data)},
             {"dtype", static_cast<int64_t>(type)},
             {"dims", std::move(dims)}});
}

ValueId Sketch::broadcast(ValueId x, Dims dims, std::vector<int64_t> axes) {
  return op("broadcast", {x},
            {{"dims", std::move(dims)}, {"axes", std::move(axes)}});
}

ValueId Sketch::withChannels(std::string_view name, ValueId x, int64_t axis,
                             double low, double high) {
  Dims dims = type(x).dims;
  if (dims.size() <= static_cast<size_t>(axis))
    return x;
  ValueId channels = in({dims[static_cast<size_t>(axis)]}, low, high);
  return op(name, {x, broadcast(channels, dims, {axis})});
}

ValueId Sketch::cast(ValueId x, DType to) {
  return op("cast", {x}, {{"dtype", static_cast<int64_t>(to)}});
}

ValueId Sketch::reduce(ValueId x, const std::string &kind,
                       std::vector<int64_t> axes, bool keep) {
  return op("reduce", {x},
            {{"kind", kind},
             {"axes", std::move(axes)},
             {"keep", static_cast<int64_t>(keep)}});
}

ValueId Sketch::conv(ValueId x, ValueId w, int64_t stride, int64_t pad,
                     int64_t groups, int64_t dilation) {
  auto both = [](int64_t n) { return std::vector<int64_t>{n, n}; };
  return op("conv", {x, w},
            {{"strides", both(stride)},
             {"dilations", both(dilation)},
             {"low", both(pad)},
             {"high", both(pad)},
             {"groups", groups}});
}

void Sketch::out(ValueId value) {
  if (std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end())
    return;
  outputs_.push_back(value);
  builder.output(value);
}

namespace {

int64_t valueOf(const Dim &dim, const SymbolValues &values, int64_t otherwise) {
  Result<int64_t> value = dim.evaluate(values);
  return value ? *value : otherwise;
}

/// Whether the op chooses among the elements of an axis that is not there.
bool choosesFromNone(const Graph &graph, const Op &op,
                     const SymbolValues &values) {
  bool picks = op.name == "gather" || op.name == "scatter";
  if (!picks && op.name != "arg_reduce")
    return false;
  auto axis = static_cast<size_t>(op.i64("axis"));
  const Dim &size = graph.type(op.operands[0]).dims[axis];
  const TensorType &chosen = graph.type(picks ? op.operands[1] : op.results[0]);
  return valueOf(size, values, 0) == 0 &&
         valueOf(chosen.elementCount(), values, 1) != 0;
}

/// Whether the op repeats elements of an axis that has none: the portable ops
/// leave that open, even where a later slice takes nothing of them.
bool repeatsNone(const Graph &graph, const Op &op, const SymbolValues &values) {
  if (op.name != "pad" || op.string("mode") == "constant")
    return false;
  const Dims &from = graph.type(op.operands[0]).dims,
             &to = graph.type(op.results[0]).dims;
  for (size_t i = 0; i < from.size(); ++i)
    if (valueOf(from[i], values, 0) == 0 && valueOf(to[i], values, 1) != 0)
      return true;
  return false;
}

} // namespace

bool fits(const Graph &graph, const SymbolValues &values) {
  for (const DimAssertion &assertion : graph.assertions)
    if (valueOf(assertion.lhs, values, 0) != valueOf(assertion.rhs, values, 1))
      return false;
  for (const backplane::Value &value : graph.values)
    for (const Dim &dim : value.type.dims)
      if (valueOf(dim, values, -1) < 0)
        return false;
  return std::none_of(graph.ops.begin(), graph.ops.end(), [&](const Op &op) {
    return choosesFromNone(graph, op, values) || repeatsNone(graph, op, values);
  });
}

namespace {

/// Each symbol in turn as 0 and as 1, where the graph allows it and no case of
/// the pattern has it.
void addEdges(CaseBuilder &builder, const Pattern &pattern) {
  for (const auto &[symbol, value] : pattern.sizes.front())
    for (int64_t small : {0, 1}) {
      SymbolValues sizes = pattern.sizes.front();
      sizes[symbol] = small;
      bool listed = std::find(pattern.sizes.begin(), pattern.sizes.end(),
                              sizes) != pattern.sizes.end();
      if (!listed && fits(builder.graph(), sizes))
        builder.addCase(Depth::Standard, pattern.dataSets.front(), sizes);
    }
}

void makeUnit(const Sink &sink, const std::string &family,
              const Pattern &pattern, DType dtype, bool observed) {
  Sketch sketch(sink, 4, family, dtype,
                pattern.name + (observed ? "-observed" : ""), pattern.tags,
                observed);
  pattern.build(sketch);
  Depth first = dtype == pattern.dtypes.front() && !observed ? Depth::Smoke
                                                             : Depth::Standard;
  for (const std::string &data : pattern.dataSets)
    for (const SymbolValues &sizes : pattern.sizes)
      sketch.builder.addCase(&sizes == &pattern.sizes.front() ? first
                                                              : Depth::Standard,
                             data, sizes);
  addEdges(sketch.builder, pattern);
  sketch.builder.finish();
}

} // namespace

void makePatterns(const Sink &sink, const std::string &family,
                  const std::vector<Pattern> &patterns) {
  for (const Pattern &pattern : patterns) {
    for (DType dtype : pattern.dtypes)
      makeUnit(sink, family, pattern, dtype, false);
    if (pattern.alsoObserved)
      makeUnit(sink, family, pattern, pattern.dtypes[0], true);
  }
}

} // namespace backplane::conformance
