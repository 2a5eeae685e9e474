// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/WidenFloats.h"

#include "sdk/graph/Control.h"
#include "sdk/graph/OpTable.h"

using namespace backplane;

namespace {

bool hasDType(uint64_t set, DType type) { return set >> uint32_t(type) & 1; }

/// Whether an op does more than move, choose and convert.
bool computes(const OpSpec &spec) {
  return spec.types != TypeSet::Any || spec.numericClass != "EXACT" ||
         spec.name == "compare";
}

/// The next wider float in which the target computes.
std::optional<DType> widerFloat(const Target &target, DType type) {
  for (DType wider : {DType::F32, DType::F64})
    if (isFloat(type) && bitWidth(wider) > bitWidth(type) &&
        hasDType(target.computeDTypes, wider))
      return wider;
  return std::nullopt;
}

class Widener {
public:
  Widener(const Target &target, Graph from)
      : target_(target), from_(std::move(from)), map_(from_.values.size()) {}

  Result<Graph> run() {
    to_ = from_;
    to_.values.clear();
    to_.ops.clear();
    for (ValueId &input : to_.inputs)
      input = define(input);
    for (const Op &op : from_.ops) {
      auto missing = missingDType(target_, from_, op);
      auto wider = missing ? widerFloat(target_, *missing) : std::nullopt;
      Status status = wider ? widen(op, *missing, *wider) : copy(op);
      if (!status.ok())
        return status;
    }
    for (GraphOutput &output : to_.outputs)
      output.value = map_[output.value];
    return std::move(to_);
  }

private:
  ValueId define(ValueId old) {
    return map_[old] = to_.addValue(from_.type(old), from_.values[old].name);
  }

  Status copy(Op op) {
    for (ValueId &operand : op.operands)
      operand = map_[operand];
    for (ValueId &result : op.results)
      result = define(result);
    to_.ops.push_back(std::move(op));
    return {};
  }

  Result<ValueId> cast(ValueId value, DType type, const Op &op) {
    auto result =
        to_.add("cast", {value}, {{"dtype", int64_t(type)}}, op.location);
    return result ? Result<ValueId>((*result)[0]) : result.status();
  }

  Status widen(const Op &op, DType narrow, DType wide) {
    std::vector<ValueId> operands;
    for (ValueId old : op.operands) {
      Result<ValueId> value = map_[old];
      if (from_.type(old).dtype == narrow)
        value = cast(map_[old], wide, op);
      if (!value)
        return value.status();
      operands.push_back(*value);
    }
    Attributes attributes = op.attributes;
    if (auto dtype = attributes.find("dtype"); dtype != attributes.end())
      dtype->second = int64_t(wide);
    if (auto sums = attributes.find("wide"); sums != attributes.end())
      sums->second = int64_t(0);
    auto results = to_.add(op.name, operands, attributes, op.location);
    if (!results)
      return results.status();
    for (size_t i = 0; i < op.results.size(); ++i) {
      Result<ValueId> value = (*results)[i];
      DType wanted = from_.type(op.results[i]).dtype;
      if (to_.type((*results)[i]).dtype != wanted)
        value = cast((*results)[i], wanted, op);
      if (!value)
        return value.status();
      map_[op.results[i]] = *value;
      to_.values[*value].name = from_.values[op.results[i]].name;
    }
    return {};
  }

  const Target &target_;
  Graph from_, to_;
  std::vector<ValueId> map_;
};

} // namespace

std::optional<DType> backplane::missingDType(const Target &target,
                                             const Graph &graph, const Op &op) {
  const OpSpec *spec = findOp(op.name);
  if (!spec || spec->composite || isControl(op.name) || !computes(*spec))
    return std::nullopt;
  const auto &values = op.operands.empty() ? op.results : op.operands;
  DType type = graph.type(values[0]).dtype;
  return hasDType(target.computeDTypes, type) ? std::nullopt
                                              : std::optional(type);
}

Result<Graph> backplane::widenFloats(const Target &target, Graph graph) {
  bool needed = std::ranges::any_of(graph.ops, [&](const Op &op) {
    return missingDType(target, graph, op).has_value();
  });
  if (!needed)
    return graph;
  return Widener(target, std::move(graph)).run();
}
