// SPDX-License-Identifier: Apache-2.0
//
// Rebuilds a graph op by op; composites that nobody keeps are expanded by their
// rule of DecomposeRules.h.
#include "Decompose.h"

#include "Control.h"
#include "DecomposeRules.h"
#include "OpTable.h"
#include "Rounding.h"

namespace backplane {

namespace {

class Rewriter {
public:
  Rewriter(const Graph &from, const std::function<bool(const Op &)> &keep,
           bool inRegions, std::span<const Symbol> around = {})
      : from_(from), keep_(keep), inRegions_(inRegions), around_(around),
        map_(from.values.size()) {}

  Result<Graph> run() {
    to_.name = from_.name;
    // Decompositions of a region may use the symbols around it.
    to_.symbols = symbolsInside(around_, from_);
    to_.assertions = from_.assertions;
    to_.variables = from_.variables;
    for (ValueId input : from_.inputs)
      map_[input] = to_.addInput(from_.values[input].name, from_.type(input));
    for (const Op &op : from_.ops)
      if (Status status = rewrite(op); !status.ok())
        return status;
    for (const GraphOutput &output : from_.outputs)
      to_.addOutput(map_[output.value], output.name);
    to_.symbols = from_.symbols;
    return std::move(to_);
  }

private:
  std::vector<ValueId> mapped(const std::vector<ValueId> &values) const {
    std::vector<ValueId> result;
    for (ValueId value : values)
      result.push_back(map_[value]);
    return result;
  }

  /// Regions are rewritten too.
  Status rewriteControl(Op copy) {
    std::vector<Symbol> symbols = to_.symbols;
    for (Graph &region : copy.regions) {
      if (!inRegions_)
        break;
      Result<Graph> inner = Rewriter(region, keep_, true, symbols).run();
      if (!inner)
        return inner.status();
      region = std::move(*inner);
    }
    append(std::move(copy));
    return {};
  }

  void append(Op copy) {
    copy.operands = mapped(copy.operands);
    for (ValueId &result : copy.results) {
      const Value &value = from_.values[result];
      result = map_[result] = to_.addValue(value.type, value.name);
    }
    to_.ops.push_back(std::move(copy));
  }

  Status rewrite(const Op &op) {
    if (isControl(op.name))
      return rewriteControl(op);
    const OpSpec *spec = findOp(op.name);
    if (!spec)
      return notFound("no op has the name " + op.name);
    if (spec->composite && !keep_(op))
      return expand(op);
    append(op);
    return {};
  }

  Status expand(const Op &op) {
    std::string location =
        op.location.empty() ? op.name : op.location + " (" + op.name + ")";
    size_t first = to_.ops.size();
    Result<ValueId> value = decomposeOp(to_, op, mapped(op.operands), location);
    if (!value)
      return value.status();
    if (const Op *second = secondRounding(to_, first, location))
      return internalError("decomposition of " + op.name +
                           " rounds to a narrow float before " + second->name);
    ValueId old = op.results[0];
    if (to_.type(*value) != from_.type(old))
      return internalError("decomposition of " + op.name + " gives " +
                           to_.type(*value).str() + ", needs " +
                           from_.type(old).str());
    if (to_.values[*value].name.empty())
      to_.values[*value].name = from_.values[old].name;
    map_[old] = *value;
    return {};
  }

  const Graph &from_;
  const std::function<bool(const Op &)> &keep_;
  bool inRegions_;
  std::span<const Symbol> around_; ///< symbols of what a region stands in
  std::vector<ValueId> map_;
  Graph to_;
};

} // namespace

Result<Graph> decompose(const Graph &graph,
                        const std::function<bool(const Op &)> &keep,
                        bool inRegions) {
  return Rewriter(graph, keep, inRegions).run();
}

} // namespace backplane
