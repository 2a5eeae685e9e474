// SPDX-License-Identifier: Apache-2.0
#include "Graph.h"

#include "Checks.h"
#include "Control.h"
#include "OpTable.h"

#include <algorithm>

namespace backplane {

// ---- attributes of an op ----

namespace {

template <typename T>
const T *find(const Attributes &attributes, std::string_view name) {
  auto it = attributes.find(name);
  return it == attributes.end() ? nullptr : std::get_if<T>(&it->second);
}

} // namespace

int64_t Op::i64(std::string_view name, int64_t otherwise) const {
  const auto *value = find<int64_t>(attributes, name);
  return value ? *value : otherwise;
}

double Op::f64(std::string_view name, double otherwise) const {
  const auto *value = find<double>(attributes, name);
  return value ? *value : otherwise;
}

std::string Op::string(std::string_view name,
                       std::string_view otherwise) const {
  const auto *value = find<std::string>(attributes, name);
  return value ? *value : std::string(otherwise);
}

std::vector<int64_t> Op::i64s(std::string_view name) const {
  const auto *value = find<std::vector<int64_t>>(attributes, name);
  return value ? *value : std::vector<int64_t>();
}

Dims Op::dims(std::string_view name) const {
  const auto *value = find<Dims>(attributes, name);
  return value ? *value : Dims();
}

const Bytes *Op::bytes(std::string_view name) const {
  return find<Bytes>(attributes, name);
}

// ---- building ----

ValueId Graph::addValue(TensorType type, std::string name) {
  values.push_back({std::move(type), std::move(name)});
  return static_cast<ValueId>(values.size() - 1);
}

ValueId Graph::addInput(std::string name, TensorType type) {
  inputs.push_back(addValue(std::move(type), std::move(name)));
  return inputs.back();
}

void Graph::addOutput(ValueId value, std::string name) {
  outputs.push_back({value, std::move(name)});
}

Status Graph::addSymbol(Symbol symbol) {
  if (Status status = checkSymbol(symbol); !status.ok())
    return status;
  for (const Symbol &other : symbols)
    if (other.name == symbol.name)
      return other == symbol
                 ? Status()
                 : invalidArgument("symbol " + symbol.name +
                                   " is declared with another range");
  symbols.push_back(std::move(symbol));
  return {};
}

const Variable *Graph::findVariable(std::string_view name) const {
  for (const Variable &variable : variables)
    if (variable.name == name)
      return &variable;
  return nullptr;
}

namespace {

void addAssertions(Graph &graph, std::vector<DimAssertion> assertions) {
  for (DimAssertion &next : assertions) {
    auto isSame = [&](const DimAssertion &other) {
      return other.lhs == next.lhs && other.rhs == next.rhs;
    };
    if (std::none_of(graph.assertions.begin(), graph.assertions.end(), isSame))
      graph.assertions.push_back(std::move(next));
  }
}

/// Sizes and conditions that a program can write down.
Status checkExpressible(std::span<const TensorType> results,
                        std::span<const DimAssertion> assertions) {
  for (const TensorType &type : results) {
    bool empty = std::find(type.dims.begin(), type.dims.end(), Dim(0)) !=
                 type.dims.end();
    if (!empty && !type.bytes().valid())
      return unimplemented("the size of its result is too large to express");
  }
  for (const DimAssertion &assertion : assertions)
    if (!assertion.lhs.valid() || !assertion.rhs.valid())
      return unimplemented("that " + assertion.message +
                           " is too large to express");
  return {};
}

} // namespace

Result<std::vector<ValueId>> Graph::add(std::string_view op,
                                        std::vector<ValueId> operands,
                                        Attributes attributes,
                                        std::string location) {
  auto failed = [&](const Status &status) {
    return location.empty() ? status : status.within(location);
  };
  const OpSpec *spec = findOp(op);
  if (!spec)
    return failed(notFound("no op has the name " + std::string(op)));
  if (Status status = completeAttributes(*spec, attributes); !status.ok())
    return failed(status);
  std::vector<TensorType> operandTypes;
  for (ValueId operand : operands) {
    if (operand >= values.size())
      return failed(invalidArgument(std::string(op) + ": there is no value %" +
                                    std::to_string(operand)));
    operandTypes.push_back(type(operand));
  }
  Result<std::vector<TensorType>> types =
      inferTypes(*spec, operandTypes, attributes);
  if (!types)
    return failed(types.status());
  OpUse use{*spec, operandTypes, attributes};
  if (Status status = checkVariableUse(*this, use); !status.ok())
    return failed(status);
  std::vector<DimAssertion> conditions =
      obligations(use, *types, symbols, location);
  if (Status status = checkExpressible(*types, conditions); !status.ok())
    return failed(status.within(std::string(op)));
  addAssertions(*this, std::move(conditions));
  Op added{std::string(op),       minVersion(*spec, attributes),
           std::move(operands),   {},
           std::move(attributes), {},
           std::move(location)};
  for (TensorType &type : *types)
    added.results.push_back(addValue(std::move(type)));
  ops.push_back(std::move(added));
  return ops.back().results;
}

Result<std::vector<ValueId>> Graph::addControl(Op op) {
  auto failed = [&](const Status &status) {
    return op.location.empty() ? status : status.within(op.location);
  };
  if (!isControl(op.name))
    return failed(notFound("no op with regions has the name " + op.name));
  for (ValueId operand : op.operands)
    if (operand >= values.size())
      return failed(invalidArgument(op.name + ": there is no value %" +
                                    std::to_string(operand)));
  for (const Graph &region : op.regions)
    if (Status status = verifyRegion(region, *this); !status.ok())
      return failed(status);
  auto types = controlTypes(*this, op);
  if (!types)
    return failed(types.status());
  for (TensorType &type : *types)
    op.results.push_back(addValue(std::move(type)));
  ops.push_back(std::move(op));
  return ops.back().results;
}

} // namespace backplane
