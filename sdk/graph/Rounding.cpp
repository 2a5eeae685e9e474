// SPDX-License-Identifier: Apache-2.0
#include "Rounding.h"

#include <set>

namespace backplane {

namespace {

/// Ops whose float results are elements of their operands, or these with
/// another sign, or whole, or remainders.
bool isExact(const std::string &op) {
  static const std::set<std::string_view> names = {
      "weight",    "constant",   "iota",          "broadcast", "reshape",
      "transpose", "slice",      "concat",        "pad",       "reverse",
      "gather",    "select",     "neg",           "abs",       "sign",
      "floor",     "ceil",       "round_even",    "trunc",     "min",
      "max",       "rem",        "top_k",         "relu",      "clamp",
      "dim",       "arg_reduce", "variable_read",
  };
  return names.contains(op);
}

/// Reductions and updates that only choose elements.
bool choosesOne(const Op &op) {
  for (const char *name : {"kind", "combine"})
    if (op.attributes.contains(name)) {
      const std::string &how = op.string(name);
      return how == "min" || how == "max" || how == "none";
    }
  return false;
}

/// Whether every element of `from` is one of the narrow float `to`.
bool holds(DType to, DType from) {
  if (from == DType::Bool || from == to)
    return true;
  bool isF8 = isFloat(from) && bitWidth(from) == 8;
  return isF8 && bitWidth(to) == 16;
}

/// What a value is, seen from inside of the ops that are checked.
enum class State { Exact, Product, Rounded };

bool isProduct(const std::string &op) {
  return op == "matmul" || op == "conv" || op == "conv_transpose";
}

} // namespace

bool isNarrowFloat(DType dtype) {
  return isFloat(dtype) && bitWidth(dtype) < 32;
}

bool roundsToNarrow(const Graph &graph, const Op &op) {
  if (op.results.empty() || !isNarrowFloat(graph.type(op.results[0]).dtype))
    return false;
  if (op.name == "cast")
    return !holds(graph.type(op.results[0]).dtype,
                  graph.type(op.operands[0]).dtype);
  return !isExact(op.name) && !choosesOne(op) && op.regions.empty();
}

const Op *secondRounding(const Graph &graph, size_t first,
                         std::string_view location) {
  std::map<ValueId, State> states;
  for (size_t i = first; i < graph.ops.size(); ++i) {
    const Op &op = graph.ops[i];
    if (op.location != location)
      continue;
    State most = State::Exact;
    size_t products = 0;
    for (ValueId operand : op.operands)
      if (auto found = states.find(operand); found != states.end()) {
        most = std::max(most, found->second);
        products += found->second == State::Product;
      }
    bool isBias = op.name == "add" && most == State::Product && products == 1;
    bool rounds = roundsToNarrow(graph, op);
    if (rounds && most != State::Exact && !isBias)
      return &op;
    State state = isProduct(op.name) && rounds ? State::Product
                  : rounds                     ? State::Rounded
                                               : most;
    for (ValueId result : op.results)
      if (isFloat(graph.type(result).dtype))
        states[result] = state;
  }
  return nullptr;
}

} // namespace backplane
