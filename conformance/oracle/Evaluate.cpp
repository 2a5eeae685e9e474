// SPDX-License-Identifier: Apache-2.0
#include "Oracle.h"
#include "Value.h"
#include "sdk/graph/Decompose.h"
#include "sdk/graph/OpTable.h"

namespace backplane::conformance {

namespace {

/// More elements than any case has: a mistake in a graph, not a test.
constexpr int64_t maxElements = int64_t(1) << 30;

const Rules &rules() {
  static const Rules all = [] {
    Rules made;
    addMovementRules(made);
    addUnaryRules(made);
    addBinaryRules(made);
    addContractionRules(made);
    addOrderedRules(made);
    addReductionRules(made);
    addActivationRules(made);
    addNormRules(made);
    addSoftmaxRules(made);
    return made;
  }();
  return all;
}

Value fromTensor(const Tensor &tensor) {
  Value value;
  value.dtype = tensor.dtype;
  value.dims = tensor.dims;
  value.computed = false;
  value.bits.resize(value.count());
  for (size_t i = 0; i < value.bits.size(); ++i)
    value.bits[i] = loadBits(tensor, i);
  return value;
}

Expected toExpected(const Value &value) {
  Expected result;
  result.dtype = value.dtype;
  result.dims = value.dims;
  result.bits = value.bits;
  if (value.accepts) {
    result.match = Match::Decision;
    result.accepts = value.accepts;
  } else if (value.exact) {
    result.match = value.computed ? Match::Value : Match::Bits;
  }
  if (value.exact)
    return result;
  result.match = value.accepts ? Match::Decision : Match::Limit;
  result.sigma = value.sigma;
  result.biasGate = value.biasGate;
  result.bits.resize(value.bounded.size());
  for (size_t i = 0; i < value.bounded.size(); ++i) {
    const Bounded &x = value.bounded[i];
    result.value.push_back(x.v);
    result.error.push_back(x.e);
    result.bits[i] = elementBits(value.dtype, x.v);
  }
  return result;
}

class Interpreter {
public:
  Interpreter(const Graph &graph, const Declaration &declaration,
              const WeightPool *weights)
      : graph_(graph), declaration_(declaration), weights_(weights),
        values_(graph.values.size()) {}

  Result<std::vector<Expected>> run(const std::vector<Tensor> &inputs) {
    if (Status status = bind(inputs); !status.ok())
      return status;
    for (const Op &op : graph_.ops)
      if (Status status = compute(op); !status.ok())
        return status.within(op.name);
    std::vector<Expected> outputs;
    for (const GraphOutput &output : graph_.outputs)
      outputs.push_back(toExpected(values_[output.value]));
    return outputs;
  }

private:
  Status bind(const std::vector<Tensor> &inputs) {
    if (inputs.size() != graph_.inputs.size())
      return invalidArgument("the graph has " +
                             std::to_string(graph_.inputs.size()) +
                             " inputs, got " + std::to_string(inputs.size()));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorType &type = graph_.type(graph_.inputs[i]);
      if (inputs[i].dtype != type.dtype || inputs[i].dims.size() != type.rank())
        return invalidArgument("input " + std::to_string(i) + " is not a " +
                               type.str());
      for (size_t axis = 0; axis < type.rank(); ++axis)
        if (auto symbol = type.dims[axis].symbolName())
          symbols_.emplace(*symbol, inputs[i].dims[axis]);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      auto dims = sizesOf(graph_.type(graph_.inputs[i]));
      if (!dims)
        return dims.status();
      size_t bits = inputs[i].elementCount() * bitWidth(inputs[i].dtype);
      if (*dims != inputs[i].dims || inputs[i].data.size() < (bits + 7) / 8)
        return invalidArgument("input " + std::to_string(i) +
                               " has other dims or fewer bytes than its type");
      values_[graph_.inputs[i]] = fromTensor(inputs[i]);
    }
    return {};
  }

  Result<Sizes> sizesOf(const TensorType &type) const {
    Sizes sizes;
    int64_t count = 1;
    for (const Dim &dim : type.dims) {
      auto size = dim.evaluate(symbols_);
      if (!size)
        return size.status();
      if (*size < 0 || (*size > 0 && count > maxElements / *size))
        return invalidArgument("a value of " + std::to_string(*size) +
                               " along an axis is out of range");
      count *= *size == 0 ? 1 : *size;
      sizes.push_back(*size);
    }
    return sizes;
  }

  Status compute(const Op &op) {
    if (op.name == "weight" || op.name.starts_with("variable_"))
      return load(op);
    auto rule = rules().find(op.name);
    const OpSpec *spec = findOp(op.name);
    if (rule == rules().end() || !spec)
      return unimplemented("the oracle does not know this op");
    const TensorType &type = graph_.type(op.results[0]);
    auto dims = sizesOf(type);
    if (!dims)
      return dims.status();
    Step step{op,       {},           type.dtype,         *dims,
              symbols_, declaration_, spec->numericClass, {}};
    for (ValueId operand : op.operands)
      step.operands.push_back(&values_[operand]);
    DType own = step.operands.empty() ? type.dtype : step.operand(0).dtype;
    step.numerics = declaration_.of(
        spec->numericClass,
        isFloat(own) || !isFloat(type.dtype) ? own : type.dtype);
    auto results = rule->second(step);
    if (!results)
      return results.status();
    for (size_t i = 0; i < op.results.size(); ++i)
      values_[op.results[i]] = std::move((*results)[i]);
    return {};
  }

  /// The value of a weight, or zeros for no id.
  Result<Value> weight(const TensorType &type, const std::string &id) const {
    Tensor tensor;
    tensor.dtype = type.dtype;
    auto dims = sizesOf(type);
    if (!dims)
      return dims.status();
    tensor.dims = *dims;
    const Weight *found =
        weights_ && !id.empty() ? weights_->find(id) : nullptr;
    if (!found && !id.empty())
      return notFound("the pool has no weight " + id);
    size_t bytes = (tensor.elementCount() * bitWidth(type.dtype) + 7) / 8;
    if (found)
      tensor.data.assign(found->data.begin(), found->data.end());
    if (found && tensor.data.size() < bytes)
      return dataLoss("weight " + id + " is too short");
    tensor.data.resize(bytes);
    return fromTensor(tensor);
  }

  Status load(const Op &op) {
    std::string variable = op.string("variable");
    if (op.name == "variable_write") {
      variables_[variable] = values_[op.operands[0]];
      return {};
    }
    std::string id = op.string("id");
    auto known = variables_.find(variable);
    if (op.name == "variable_read" && known != variables_.end()) {
      values_[op.results[0]] = known->second;
      return {};
    }
    if (const Variable *declared = graph_.findVariable(variable))
      id = declared->initial;
    auto value = weight(graph_.type(op.results[0]), id);
    if (!value)
      return value.status();
    values_[op.results[0]] = std::move(*value);
    return {};
  }

  const Graph &graph_;
  const Declaration &declaration_;
  const WeightPool *weights_;
  SymbolValues symbols_;
  std::vector<Value> values_;
  std::map<std::string, Value> variables_;
};

} // namespace

Result<std::vector<Expected>> evaluate(const Graph &graph,
                                       const std::vector<Tensor> &inputs,
                                       const Declaration &declaration,
                                       const WeightPool *weights) {
  // A composite without a rule of its own means its decomposition.
  auto primitive = decompose(graph, [](const Op &op) {
    return rules().find(op.name) != rules().end();
  });
  if (!primitive)
    return primitive.status();
  return Interpreter(*primitive, declaration, weights).run(inputs);
}

} // namespace backplane::conformance
