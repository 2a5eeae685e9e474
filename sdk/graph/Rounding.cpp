// SPDX-License-Identifier: Apache-2.0
#include "Rounding.h"

#include <algorithm>
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
      "dim",       "arg_reduce", "variable_read", "pack",      "unpack",
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

/// Whether narrow factors give sums that are not rounded.
bool isWide(const Op &op) {
  return op.attributes.contains("wide") && op.i64("wide");
}

/// Whether every element of `from` is one of the narrow float `to`.
bool holds(DType to, DType from) {
  if (from == DType::Bool || from == to)
    return true;
  // The powers of two of f8e8m0fnu reach as far as f32 does.
  if (from == DType::F8E8M0FNU)
    return to == DType::BF16;
  return isStoredFloat(from) && bitWidth(to) == 16;
}

/// Whether a value was rounded, seen from inside of the ops that are checked.
enum class State { Exact, Rounded };
using States = std::vector<State>;

/// Follows values through the ops of one location, into regions and out.
class RoundingCheck {
public:
  explicit RoundingCheck(std::string_view location) : location_(location) {}

  /// The states of the outputs. Inputs are those of a region, none: exact.
  States run(const Graph &graph, size_t first, const States &inputs) {
    std::map<ValueId, State> states;
    for (size_t i = 0; i < inputs.size() && i < graph.inputs.size(); ++i)
      states[graph.inputs[i]] = inputs[i];
    for (size_t i = first; i < graph.ops.size() && !second; ++i)
      if (const Op &op = graph.ops[i]; op.location == location_)
        follow(graph, op, states);
    States outputs;
    for (const GraphOutput &output : graph.outputs)
      outputs.push_back(stateOf(states, output.value));
    return outputs;
  }

  const Op *second = nullptr; ///< that rounds what was rounded

private:
  static State stateOf(const std::map<ValueId, State> &states, ValueId value) {
    auto found = states.find(value);
    return found == states.end() ? State::Exact : found->second;
  }

  void follow(const Graph &graph, const Op &op,
              std::map<ValueId, State> &states) {
    States operands;
    for (ValueId operand : op.operands)
      operands.push_back(stateOf(states, operand));
    States results =
        op.regions.empty() ? plain(graph, op, operands) : control(op, operands);
    for (size_t i = 0; i < op.results.size(); ++i)
      if (isFloat(graph.type(op.results[i]).dtype))
        states[op.results[i]] = results[i];
  }

  States plain(const Graph &graph, const Op &op, const States &operands) {
    State most = State::Exact;
    for (State state : operands)
      most = std::max(most, state);
    bool rounds = roundsToNarrow(graph, op);
    if (rounds && most != State::Exact)
      second = &op;
    State result = rounds ? State::Rounded : isWide(op) ? State::Exact : most;
    return States(op.results.size(), result);
  }

  /// A region takes the last operands, and gives its last outputs. What one
  /// iteration gives, the next one takes.
  States control(const Op &op, States operands) {
    size_t carried =
        op.attributes.contains("carried") ? size_t(op.i64("carried")) : 0;
    States results(op.results.size(), State::Exact);
    for (const Graph &region : op.regions) {
      size_t taken = std::min(operands.size(), region.inputs.size());
      States inputs(operands.end() - ptrdiff_t(taken), operands.end());
      for (bool changed = true; changed && !second;) {
        changed = false;
        States outputs = run(region, 0, inputs);
        size_t given = std::min(outputs.size(), results.size());
        for (size_t i = 0; i < given; ++i) {
          State state = outputs[outputs.size() - given + i];
          results[i] = std::max(results[i], state);
          if (i < carried && i < taken && inputs[i] < state) {
            inputs[i] = state;
            changed = true;
          }
        }
      }
    }
    return results;
  }

  std::string_view location_;
};

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
  RoundingCheck check(location);
  check.run(graph, first, {});
  return check.second;
}

} // namespace backplane
