// SPDX-License-Identifier: Apache-2.0
#include "Repro.h"

#include "conformance/compare/Elements.h"
#include "conformance/compare/Envelope.h"

#include <algorithm>
#include <thread>

namespace backplane::conformance {

namespace {

/// Copies ops from one graph to another on demand.
class Carver {
public:
  Carver(const Repro &from, const std::vector<bool> &kept,
         const ValueTable &values)
      : from_(from), kept_(kept), values_(values),
        map_(from.graph.values.size()) {}

  Result<Repro> run(const std::vector<ValueId> &outputs) {
    const Graph &graph = from_.graph;
    to_.graph.name = graph.name;
    to_.graph.symbols = graph.symbols;
    to_.graph.variables = graph.variables;
    to_.weights = from_.weights;
    needed_.resize(graph.values.size());
    for (ValueId output : outputs)
      needed_[output] = true;
    std::vector<bool> taken(graph.ops.size());
    for (size_t i = graph.ops.size(); i-- > 0;)
      taken[i] = take(graph.ops[i], i);
    for (size_t i = 0; i < graph.inputs.size(); ++i)
      if (needed_[graph.inputs[i]])
        addInput(graph.inputs[i], from_.inputs[i]);
    for (size_t i = 0; i < graph.ops.size(); ++i)
      if (Status status = copy(graph.ops[i], taken[i]); !status.ok())
        return status;
    for (size_t i = 0; i < outputs.size(); ++i)
      to_.graph.addOutput(*map_[outputs[i]], "y" + std::to_string(i));
    if (Status status = bindSymbols(); !status.ok())
      return status;
    return std::move(to_);
  }

private:
  bool take(const Op &op, size_t index) {
    bool isNeeded = std::ranges::any_of(
        op.results, [&](ValueId result) { return needed_[result]; });
    if (!isNeeded || !(kept_[index] || isSource(op)))
      return false;
    for (ValueId operand : op.operands)
      needed_[operand] = true;
    return true;
  }

  void addInput(ValueId value, const Tensor &tensor) {
    map_[value] = to_.graph.addInput(
        "x" + std::to_string(to_.graph.inputs.size()), from_.graph.type(value));
    to_.inputs.push_back(tensor);
  }

  Status copy(const Op &op, bool isTaken) {
    if (isTaken) {
      Op added = op;
      for (ValueId &operand : added.operands)
        operand = *map_[operand];
      for (ValueId &result : added.results) {
        ValueId old = result;
        result = to_.graph.addValue(from_.graph.type(old));
        map_[old] = result;
      }
      to_.graph.ops.push_back(std::move(added));
      return {};
    }
    for (ValueId result : op.results) {
      if (!needed_[result])
        continue;
      if (!values_[result])
        return notFound("no value is known for a result of " + op.name);
      addInput(result, *values_[result]);
    }
    return {};
  }

  /// Drops symbols that nothing uses and adds an input for each that no input
  /// binds any more.
  Status bindSymbols() {
    Graph &graph = to_.graph;
    std::set<std::string> used, bound;
    for (const Value &value : graph.values)
      for (const Dim &dim : value.type.dims)
        dim.collectSymbols(used);
    for (const Op &op : graph.ops)
      for (const auto &[name, attribute] : op.attributes)
        if (const Dims *dims = std::get_if<Dims>(&attribute))
          for (const Dim &dim : *dims)
            dim.collectSymbols(used);
    for (ValueId input : graph.inputs)
      for (const Dim &dim : graph.type(input).dims)
        if (auto symbol = dim.symbolName())
          bound.insert(*symbol);
    std::erase_if(graph.symbols, [&](const Symbol &symbol) {
      return !used.contains(symbol.name);
    });
    SymbolValues symbols = symbolsOf(from_);
    for (const std::string &name : used) {
      if (bound.contains(name))
        continue;
      auto size = symbols.find(name);
      if (size == symbols.end())
        return notFound("symbol " + name + " has no value");
      graph.addInput("size_" + name, {DType::U8, {Dim::symbol(name)}});
      Tensor tensor{DType::U8, {size->second}, {}};
      tensor.data.resize(static_cast<size_t>(size->second));
      to_.inputs.push_back(std::move(tensor));
    }
    return graph.verify();
  }

  using Value = backplane::Value;
  const Repro &from_;
  const std::vector<bool> &kept_;
  const ValueTable &values_;
  std::vector<std::optional<ValueId>> map_;
  std::vector<bool> needed_;
  Repro to_;
};

} // namespace

bool isSource(const Op &op) {
  return op.operands.empty() && op.name != "variable_read" &&
         op.regions.empty();
}

Result<ValueTable> valuesByOracle(const Repro &repro) {
  Graph graph = repro.graph;
  graph.outputs.clear();
  for (ValueId value = 0; value < graph.values.size(); ++value)
    graph.addOutput(value, "v" + std::to_string(value));
  auto all = evaluate(graph, repro.inputs, {}, &repro.weights);
  if (!all)
    return all.status();
  ValueTable values(all->size());
  for (size_t i = 0; i < all->size(); ++i)
    values[i] = tensorOf((*all)[i]);
  return values;
}

Result<Repro> carve(const Repro &from, const std::vector<bool> &kept,
                    const std::vector<ValueId> &outputs,
                    const ValueTable &values) {
  return Carver(from, kept, values).run(outputs);
}

Result<Graph> withDims(const Graph &graph, const ReplaceDim &replaced) {
  Graph result;
  result.name = graph.name;
  result.variables = graph.variables;
  std::vector<ValueId> map(graph.values.size());
  std::set<std::string> used;
  for (ValueId input : graph.inputs) {
    const TensorType &type = graph.type(input);
    Dims dims = type.dims;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      dims[axis] = replaced(dims[axis], axis);
      dims[axis].collectSymbols(used);
    }
    map[input] = result.addInput(graph.values[input].name, {type.dtype, dims});
  }
  for (const Symbol &symbol : graph.symbols)
    if (used.contains(symbol.name))
      result.symbols.push_back(symbol);
  for (const Op &op : graph.ops) {
    std::vector<ValueId> operands;
    for (ValueId operand : op.operands)
      operands.push_back(map[operand]);
    Attributes attributes = op.attributes;
    for (auto &[name, attribute] : attributes)
      if (auto *dims = std::get_if<Dims>(&attribute);
          dims && op.name != "weight")
        for (Dim &dim : *dims)
          dim = replaced(dim, std::nullopt);
    if (!op.regions.empty())
      return unimplemented("an op with regions keeps its dims");
    auto results =
        result.add(op.name, operands, std::move(attributes), op.location);
    if (!results)
      return results.status();
    for (size_t i = 0; i < op.results.size(); ++i)
      map[op.results[i]] = (*results)[i];
  }
  for (const GraphOutput &output : graph.outputs)
    result.addOutput(map[output.value], output.name);
  if (Status status = result.verify(); !status.ok())
    return status;
  return result;
}

SymbolValues symbolsOf(const Repro &repro) {
  SymbolValues symbols;
  for (size_t i = 0; i < repro.inputs.size(); ++i) {
    const Dims &dims = repro.graph.type(repro.graph.inputs[i]).dims;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      if (auto symbol = dims[axis].symbolName())
        symbols.emplace(*symbol, repro.inputs[i].dims[axis]);
  }
  return symbols;
}

Result<Repro> withoutWeights(const Repro &repro) {
  Repro result = repro;
  result.weights = {};
  std::vector<Op> ops;
  for (Op &op : result.graph.ops) {
    if (op.name != "weight") {
      ops.push_back(std::move(op));
      continue;
    }
    const Weight *weight = repro.weights.find(op.string("id"));
    if (!weight)
      return notFound("the pool has no weight " + op.string("id"));
    Bytes bytes(weight->data.begin(), weight->data.end());
    if (bytes.size() <= maxConstantBytes) {
      op.name = "constant";
      op.attributes.erase("id");
      op.attributes["value"] = std::move(bytes);
      ops.push_back(std::move(op));
      continue;
    }
    Tensor tensor{weight->type.dtype, {}, std::move(bytes)};
    for (const Dim &dim : weight->type.dims)
      tensor.dims.push_back(dim.constant().value_or(0));
    result.graph.values[op.results[0]].name =
        "w" + std::to_string(result.inputs.size());
    result.graph.inputs.push_back(op.results[0]);
    result.inputs.push_back(std::move(tensor));
  }
  result.graph.ops = std::move(ops);
  if (Status status = result.graph.verify(); !status.ok())
    return status;
  return result;
}

namespace {

Unit unitOf(const Repro &repro) {
  Unit unit;
  unit.id = "repro";
  unit.layer = 6;
  unit.op = "repro";
  unit.graph = repro.graph;
  unit.weights = repro.weights;
  for (ValueId input : unit.graph.inputs)
    if (DType dtype = unit.graph.type(input).dtype; isFloat(dtype))
      unit.dtype = dtype;
  Case only;
  only.id = "repro/given";
  only.dataSet = "uniform";
  unit.cases = {only};
  return unit;
}

std::vector<Verdict> judge(const Unit &unit, const Repro &repro,
                           std::vector<Expected> answers,
                           const std::vector<Tensor> &outputs,
                           const Declaration &declaration) {
  tightenLoose(unit.graph, repro.inputs, declaration, &unit.weights, 1, answers,
               std::max(1u, std::thread::hardware_concurrency()));
  std::vector<Verdict> verdicts;
  for (size_t i = 0; i < answers.size(); ++i)
    verdicts.push_back(compare(answers[i],
                               i < outputs.size() ? outputs[i] : Tensor(),
                               declaration.of("DOT", answers[i].dtype)));
  return verdicts;
}

JobOptions judgedBy(JobOptions options, const Repro *const &repro,
                    const bool &judges, Examination &seen) {
  options.judgement.inputsOf = [&](const Unit &, const Case &) {
    return repro->inputs;
  };
  options.judgement.evaluate =
      [&](const Graph &graph, const std::vector<Tensor> &inputs,
          const Declaration &declaration,
          const WeightPool *weights) -> Result<std::vector<Expected>> {
    if (!judges)
      return std::vector<Expected>();
    return evaluate(graph, inputs, declaration, weights);
  };
  options.judgement.judge =
      [&](const Unit &unit, const Case &, const std::vector<Expected> &expected,
          const std::vector<Tensor> &outputs, const Declaration &declaration) {
        if (!judges)
          return std::vector<Verdict>{{.pass = true}};
        return judge(unit, *repro, expected, outputs, declaration);
      };
  options.judgement.isProbe = [](const Unit &) { return false; };
  options.judgement.expectsError = [](const Case &) { return false; };
  options.observe = [&](const Observation &observed) {
    seen.outputs = observed.outputs;
    seen.expected = observed.expected;
  };
  return options;
}

} // namespace

Examiner::Examiner(JobOptions options, bool takesKernels)
    : takesKernels_(takesKernels),
      job_(judgedBy(std::move(options), repro_, judges_, seen_)) {}

Result<Examination> Examiner::observe(const Repro &repro) {
  judges_ = false;
  auto found = examine(repro);
  judges_ = true;
  return found;
}

Result<Examination> Examiner::examine(const Repro &repro) {
  repro_ = &repro;
  seen_ = {};
  Unit unit = unitOf(repro);
  unit.takesKernels = takesKernels_;
  auto records = job_.run(unit);
  repro_ = nullptr;
  if (!records)
    return records.status();
  seen_.status = records->at(0).status;
  seen_.reason = records->at(0).reason;
  return std::move(seen_);
}

} // namespace backplane::conformance
