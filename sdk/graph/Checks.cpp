// SPDX-License-Identifier: Apache-2.0
#include "Checks.h"

#include "ShapeRules.h"

namespace backplane {

Status checkSymbol(const Symbol &symbol) {
  std::string which = "symbol \"" + symbol.name + "\"";
  if (!Dim::isSymbolName(symbol.name))
    return invalidArgument(which + " is no name: use a letter or _, then "
                                   "letters, digits and _, at most 64");
  if (symbol.minimum < 0 || symbol.minimum > symbol.maximum)
    return invalidArgument(which + " has the range " +
                           std::to_string(symbol.minimum) + " to " +
                           std::to_string(symbol.maximum));
  if (symbol.divisor < 1)
    return invalidArgument(which + " has the divisor " +
                           std::to_string(symbol.divisor) +
                           ", needs at least 1");
  return {};
}

Status checkVariableUse(const Graph &graph, const OpUse &use) {
  bool isRead = use.spec.name == "variable_read";
  if (!isRead && use.spec.name != "variable_write")
    return {};
  std::string prefix = std::string(use.spec.name) + ": ";
  const std::string &name = rules::string(use, "variable");
  const Variable *variable = graph.findVariable(name);
  if (!variable)
    return invalidArgument(prefix + "the graph has no variable " + name);
  TensorType type =
      isRead ? TensorType{rules::dtype(use), rules::dims(use, "dims")}
             : use.operands[0];
  if (type != variable->type)
    return invalidArgument(prefix + "variable " + name + " is " +
                           variable->type.str() + ", found " + type.str());
  return {};
}

namespace {

class Collector {
public:
  Collector(const OpUse &use, std::span<const Symbol> symbols,
            const std::string &location)
      : use_(use), symbols_(symbols), location_(location) {}

  void requireEqual(const Dim &a, const Dim &b, std::string_view why) {
    if (a == b)
      return;
    std::string where = location_.empty() ? "" : location_ + ": ";
    assertions.push_back(
        {a, b, where + std::string(use_.spec.name) + ": " + std::string(why)});
  }

  void requireNonNegative(const Dim &dim, std::string_view why) {
    if (!dim.nonNegative() && !fromMinimum(dim).nonNegative())
      requireEqual(min(dim, 0), 0, why);
  }

  std::vector<DimAssertion> assertions;

private:
  /// The dim over symbols that count from their minimum.
  Dim fromMinimum(const Dim &dim) const {
    std::map<std::string, Dim, std::less<>> values;
    for (const Symbol &symbol : symbols_)
      values[symbol.name] = Dim::symbol(symbol.name) + symbol.minimum;
    return dim.substitute(values);
  }

  const OpUse &use_;
  std::span<const Symbol> symbols_;
  const std::string &location_;
};

void collectSlice(Collector &collector, const OpUse &use) {
  const Dims &starts = rules::dims(use, "starts"),
             &sizes = rules::dims(use, "sizes");
  const std::vector<int64_t> &strides = rules::i64s(use, "strides");
  for (size_t i = 0; i < starts.size(); ++i) {
    Dim last = starts[i] + (sizes[i] - 1) * Dim(strides[i]);
    collector.requireNonNegative(starts[i], "a start is not negative");
    if (sizes[i] != Dim(0))
      collector.requireNonNegative(use.operands[0].dims[i] - last - 1,
                                   "the box lies inside the operand");
  }
}

} // namespace

std::vector<DimAssertion> obligations(const OpUse &use,
                                      std::span<const TensorType> results,
                                      std::span<const Symbol> symbols,
                                      const std::string &location) {
  Collector collector(use, symbols, location);
  if (use.spec.name == "reshape")
    collector.requireEqual(use.operands[0].elementCount(),
                           results[0].elementCount(),
                           "element counts are equal");
  if (use.spec.name == "slice")
    collectSlice(collector, use);
  if (use.spec.name == "top_k") {
    auto axis = static_cast<size_t>(rules::i64(use, "axis"));
    collector.requireNonNegative(use.operands[0].dims[axis] -
                                     rules::dims(use, "k")[0],
                                 "k is not above the size of the axis");
  }
  if (use.spec.name == "pad")
    for (std::string_view side : {"low", "high"})
      for (const Dim &dim : rules::dims(use, side))
        collector.requireNonNegative(dim, "padding is not negative");
  for (const TensorType &type : results)
    for (const Dim &dim : type.dims)
      collector.requireNonNegative(dim, "a size is not negative");
  return std::move(collector.assertions);
}

} // namespace backplane
