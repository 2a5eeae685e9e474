// SPDX-License-Identifier: Apache-2.0
#include "GraphRules.h"

#include <algorithm>

namespace backplane::conformance {
namespace {

template <typename... Names> bool isOneOf(const Op &op, Names... names) {
  return ((op.name == names) || ...);
}

/// Whether elements of the first operand are in the result as they are, or
/// converted.
bool isMove(const Op &op) {
  return isOneOf(op, "broadcast", "reshape", "transpose", "slice", "reverse",
                 "cast", "pad", "pack", "unpack");
}

class Rules {
public:
  explicit Rules(const Graph &graph)
      : graph_(graph), rules_(graph.inputs.size()),
        makers_(graph.values.size(), nullptr) {
    for (const Op &op : graph.ops)
      for (ValueId result : op.results)
        makers_[result] = &op;
  }

  std::vector<InputRule> run() {
    for (size_t i = 0; i < rules_.size(); ++i)
      if (isFloat(graph_.type(graph_.inputs[i]).dtype))
        rules_[i].kind = InputRule::Kind::Range;
    for (const Op &op : graph_.ops)
      look(op);
    return std::move(rules_);
  }

private:
  using Kind = InputRule::Kind;

  void look(const Op &op) {
    if (isOneOf(op, "gather", "scatter")) {
      auto axis = static_cast<size_t>(op.i64("axis"));
      Dim bound = graph_.type(op.operands[0]).dims[axis];
      each(op.operands[1], false, [&](InputRule &rule) {
        rule.kind = Kind::Index;
        rule.bound = bound;
      });
    } else if (isOneOf(op, "div", "mod")) {
      each(op.operands[1], false, [&](InputRule &rule) {
        if (rule.kind == Kind::Values)
          rule.kind = Kind::Divisor;
      });
    } else if (isOneOf(op, "log", "sqrt", "rsqrt", "pow", "log1p")) {
      each(op.operands[0], true, [&](InputRule &rule) {
        if (rule.kind == Kind::Range)
          rule.kind = Kind::Positive;
      });
    } else if (op.name == "matmul") {
      addTerms(op, 0, op.i64("transpose_a") ? 2 : 1);
      addTerms(op, 1, op.i64("transpose_b") ? 1 : 2);
    } else if (op.name == "reduce") {
      Dim terms(1);
      for (int64_t axis : op.i64s("axes"))
        terms = terms * graph_.type(op.operands[0]).dims[size_t(axis)];
      each(op.operands[0], false, [&](InputRule &rule) { rule.terms = terms; });
    }
  }

  /// A product sums along an axis of an operand, counted from the last one.
  void addTerms(const Op &op, size_t operand, size_t fromLast) {
    const Dims &dims = graph_.type(op.operands[operand]).dims;
    each(op.operands[operand], false,
         [&](InputRule &rule) { rule.terms = dims[dims.size() - fromLast]; });
  }

  /// Visits the rules of inputs whose elements a value has, moved; also those
  /// that sums and products made larger or smaller, where `computed`.
  void each(ValueId value, bool computed,
            const std::function<void(InputRule &)> &visit) {
    auto input = std::ranges::find(graph_.inputs, value);
    if (input != graph_.inputs.end())
      return visit(rules_[size_t(input - graph_.inputs.begin())]);
    const Op *op = makers_[value];
    if (!op)
      return;
    if (op->name == "concat" || (computed && isOneOf(*op, "add", "mul")))
      for (ValueId operand : op->operands)
        each(operand, computed, visit);
    else if (isMove(*op))
      each(op->operands[0], computed, visit);
  }

  const Graph &graph_;
  std::vector<InputRule> rules_;
  std::vector<const Op *> makers_; ///< of each value; null: none
};

} // namespace

std::vector<InputRule> rulesOf(const Graph &graph) {
  return Rules(graph).run();
}

} // namespace backplane::conformance
