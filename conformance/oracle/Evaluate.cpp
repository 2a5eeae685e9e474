// SPDX-License-Identifier: Apache-2.0
#include "Oracle.h"
#include "Value.h"
#include "sdk/graph/Control.h"
#include "sdk/graph/Decompose.h"
#include "sdk/graph/OpTable.h"

namespace backplane::conformance {

namespace {

/// More elements than any case has: a mistake in a graph, not a test.
constexpr int64_t maxElements = int64_t(1) << 30;
/// More iterations than any case has.
constexpr int64_t maxIterations = int64_t(1) << 16;

const Rules &rules() {
  static const Rules all = [] {
    Rules made;
    addMovementRules(made);
    addLayoutRules(made);
    addUnaryRules(made);
    addBinaryRules(made);
    addContractionRules(made);
    addOrderedRules(made);
    addReductionRules(made);
    addRandomRules(made);
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
    const MidRad &x = value.bounded[i];
    result.value.push_back(x.v);
    result.error.push_back(x.e);
    result.bits[i] = elementBits(value.dtype, x.v);
  }
  return result;
}

class Interpreter {
public:
  /// `symbols` are those around a region.
  Interpreter(const Graph &graph, const Declaration &declaration,
              const WeightPool *weights, SymbolValues symbols = {})
      : graph_(graph), declaration_(declaration), weights_(weights),
        symbols_(std::move(symbols)), values_(graph.values.size()) {}

  Result<std::vector<Expected>> run(const std::vector<Tensor> &inputs) {
    if (Status status = bind(inputs); !status.ok())
      return status;
    auto values = computeAll();
    if (!values)
      return values.status();
    std::vector<Expected> outputs;
    for (const Value &value : *values)
      outputs.push_back(toExpected(value));
    return outputs;
  }

private:
  Result<std::vector<Value>> computeAll() {
    for (const Op &op : graph_.ops) {
      Status status = isControl(op.name) ? control(op) : compute(op);
      if (!status.ok())
        return status.within(op.name);
    }
    std::vector<Value> outputs;
    for (const GraphOutput &output : graph_.outputs)
      outputs.push_back(values_[output.value]);
    return outputs;
  }

  // ---- regions ----

  Result<std::vector<Value>> runRegion(const Graph &region,
                                       const std::vector<Value> &inputs,
                                       SymbolValues symbols) const {
    Interpreter inner(region, declaration_, weights_, std::move(symbols));
    for (size_t i = 0; i < inputs.size(); ++i)
      inner.values_[region.inputs[i]] = inputs[i];
    return inner.computeAll();
  }

  Result<bool> holds(const Value &predicate) const {
    if (!predicate.exact)
      return unimplemented("the predicate is not certain");
    return predicate.bits[0] != 0;
  }

  Result<bool> choice(const Op &op) const {
    auto condition = ifCondition(op);
    if (!condition)
      return condition.status();
    if (!*condition)
      return holds(values_[op.operands[0]]);
    auto number = (*condition)->evaluate(symbols_);
    if (!number)
      return number.status();
    return *number != 0;
  }

  Result<std::vector<Value>> branch(const Op &op) const {
    auto chosen = choice(op);
    if (!chosen)
      return chosen.status();
    size_t first = op.dims("condition").empty() ? 1 : 0;
    std::vector<Value> inputs;
    for (size_t i = first; i < op.operands.size(); ++i)
      inputs.push_back(values_[op.operands[i]]);
    return runRegion(op.regions[*chosen ? 0 : 1], inputs, symbols_);
  }

  /// What each iteration gave, along a new first axis.
  Result<Value> stacked(const std::vector<Value> &parts,
                        const TensorType &type) const {
    auto dims = sizesOf(type);
    if (!dims)
      return dims.status();
    if (!dims->empty() && (*dims)[0] != static_cast<int64_t>(parts.size()))
      return invalidArgument("the loop ran " + std::to_string(parts.size()) +
                             " times, stacked results have room for " +
                             std::to_string((*dims)[0]));
    std::vector<const Value *> all;
    for (const Value &part : parts)
      all.push_back(&part);
    Value result;
    if (!all.empty())
      result = joined(all);
    result.dtype = type.dtype;
    result.dims = *dims;
    return result;
  }

  Result<std::vector<Value>> loop(const Op &op) const {
    auto info = whileInfo(op);
    if (!info)
      return info.status();
    auto limit = info->limit ? info->limit->evaluate(symbols_)
                             : Result<int64_t>(maxIterations);
    if (!limit)
      return limit.status();
    size_t first = info->firstOperand(), carried = info->carried;
    std::vector<Value> inputs;
    for (ValueId operand : op.operands)
      inputs.push_back(values_[operand]);
    std::vector<std::vector<Value>> parts(op.results.size() - carried);
    if (Status status = iterate(op, *info, *limit, inputs, parts); !status.ok())
      return status;
    std::vector<Value> results(inputs.begin() + static_cast<ptrdiff_t>(first),
                               inputs.begin() +
                                   static_cast<ptrdiff_t>(first + carried));
    for (size_t part = 0; part < parts.size(); ++part) {
      auto all = stacked(parts[part], graph_.type(op.results[carried + part]));
      if (!all)
        return all.status();
      results.push_back(std::move(*all));
    }
    return results;
  }

  /// Leaves the last predicate and carried values in `inputs`, and what each
  /// iteration gave for the stacked results in `parts`.
  Status iterate(const Op &op, const WhileInfo &info, int64_t limit,
                 std::vector<Value> &inputs,
                 std::vector<std::vector<Value>> &parts) const {
    auto first = static_cast<ptrdiff_t>(info.firstOperand());
    auto kept = first + static_cast<ptrdiff_t>(info.carried);
    SymbolValues symbols = symbols_;
    for (int64_t i = 0;; ++i) {
      auto goesOn = first ? holds(inputs[0]) : Result<bool>(true);
      if (!goesOn)
        return goesOn.status();
      if (!*goesOn || (info.limit && i == limit))
        return {};
      if (i == limit)
        return invalidArgument("the loop does not end");
      if (!info.iteration.empty())
        symbols[info.iteration] = i;
      auto given = runRegion(op.regions[0],
                             {inputs.begin() + first, inputs.end()}, symbols);
      if (!given)
        return given.status();
      std::move(given->begin(), given->begin() + kept, inputs.begin());
      for (size_t part = 0; part < parts.size(); ++part)
        parts[part].push_back(
            std::move((*given)[static_cast<size_t>(kept) + part]));
    }
  }

  Status control(const Op &op) {
    auto results = op.name == "if" ? branch(op) : loop(op);
    if (!results)
      return results.status();
    for (size_t i = 0; i < op.results.size(); ++i)
      values_[op.results[i]] = std::move((*results)[i]);
    return {};
  }

  // ---- ops ----

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

  /// Defines a symbol by a value, as the runtime does.
  Status read(const Op &op) {
    const Value &value = values_[op.operands[0]];
    auto bound = op.dims("bound")[0].evaluate(symbols_);
    if (!bound)
      return bound.status();
    if (!value.exact)
      return unimplemented("the size is not certain");
    auto size = static_cast<int64_t>(value.bits[0]);
    if (size < 0 || size > *bound)
      return Status(BP_STATUS_OUT_OF_RANGE,
                    op.string("symbol") + " is " + std::to_string(size) +
                        ", its bound is " + std::to_string(*bound));
    symbols_[op.string("symbol")] = size;
    values_[op.results[0]] = value;
    return {};
  }

  Status compute(const Op &op) {
    if (op.name == "weight" || op.name.starts_with("variable_"))
      return load(op);
    if (op.name == "read")
      return read(op);
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
  auto primitive =
      decompose(graph, [](const Op &op) { return rules().contains(op.name); });
  if (!primitive)
    return primitive.status();
  return Interpreter(*primitive, declaration, weights).run(inputs);
}

} // namespace backplane::conformance
