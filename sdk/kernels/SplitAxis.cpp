// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/SplitAxis.h"

#include "sdk/graph/OpTable.h"

#include <algorithm>

namespace backplane {

namespace {

/// Builds the other graph; the shape rules check every step.
class Splitter {
public:
  Splitter(const Graph &graph, std::string symbol, size_t extra)
      : from_(graph), symbol_(Dim::symbol(symbol)), extra_(extra) {
    result_.symbol = std::move(symbol);
  }
  std::optional<SplitGraph> run();

private:
  bool addSymbols();
  bool addOp(const Op &op);
  bool adjust(const Op &op, Attributes &attributes) const;
  /// The sizes with more axes; none where the symbol is not first.
  std::optional<Dims> split(const Dims &dims) const;
  bool isSplit(ValueId value) const {
    const Dims &dims = from_.type(value).dims;
    return !dims.empty() && dims[0] == symbol_;
  }
  /// Numbers of axes behind the first.
  bool shift(Attribute &attribute) const;
  bool shiftMap(Attribute &attribute, bool hasFirst) const;

  const Graph &from_;
  Dim symbol_;
  size_t extra_;
  Dims parts_; ///< what takes the symbol's place
  std::vector<ValueId> values_;
  SplitGraph result_;
};

bool uses(const Dim &dim, const std::string &symbol) {
  std::set<std::string> names;
  dim.collectSymbols(names);
  return names.contains(symbol);
}

} // namespace

std::optional<Dims> Splitter::split(const Dims &dims) const {
  Dims result;
  for (size_t i = 0; i < dims.size(); ++i)
    if (i == 0 && dims[0] == symbol_)
      result = parts_;
    else if (uses(dims[i], result_.symbol))
      return std::nullopt;
    else
      result.push_back(dims[i]);
  return result;
}

bool Splitter::addSymbols() {
  result_.product = 1;
  Graph &graph = result_.graph;
  graph.name = from_.name;
  for (const Symbol &symbol : from_.symbols)
    if (symbol.name != result_.symbol)
      graph.symbols.push_back(symbol);
  for (size_t i = 0; i <= extra_; ++i) {
    std::string name = result_.symbol + "_" + std::to_string(i);
    auto isSame = [&](const Symbol &other) { return other.name == name; };
    if (!Dim::isSymbolName(name) || std::ranges::any_of(from_.symbols, isSame))
      return false;
    graph.symbols.push_back({name});
    parts_.push_back(Dim::symbol(name));
    result_.product = result_.product * parts_.back();
  }
  return true;
}

bool Splitter::shift(Attribute &attribute) const {
  if (auto *axis = std::get_if<int64_t>(&attribute)) {
    bool behind = *axis > 0;
    *axis += int64_t(extra_);
    return behind;
  }
  auto *axes = std::get_if<std::vector<int64_t>>(&attribute);
  for (int64_t &axis : *axes) {
    if (axis <= 0)
      return false;
    axis += int64_t(extra_);
  }
  return true;
}

/// `axes` of broadcast and `permutation` of transpose: axis i of one is axis
/// axes[i] of the other. `hasFirst`: the first one stays first.
bool Splitter::shiftMap(Attribute &attribute, bool hasFirst) const {
  auto axes = std::get<std::vector<int64_t>>(attribute);
  std::vector<int64_t> result;
  if (hasFirst) {
    if (axes.empty() || axes[0] != 0)
      return false;
    for (size_t i = 0; i <= extra_; ++i)
      result.push_back(int64_t(i));
    axes.erase(axes.begin());
  }
  for (int64_t axis : axes) {
    if (axis <= 0)
      return false;
    result.push_back(axis + int64_t(extra_));
  }
  attribute = std::move(result);
  return true;
}

/// The attributes for more axes. False where the op is not known to work on
/// each part of the first axis by itself.
bool Splitter::adjust(const Op &op, Attributes &attributes) const {
  auto is = [&](ValueId value) { return isSplit(value); };
  size_t operands = size_t(std::ranges::count_if(op.operands, is));
  bool all = operands == op.operands.size();
  if (auto dims = attributes.find("dims"); dims != attributes.end()) {
    auto more = split(std::get<Dims>(dims->second));
    if (!more)
      return false;
    dims->second = std::move(*more);
  }
  bool result = is(op.results[0]);
  if (operands == 0 && !result)
    return true;
  if (findOp(op.name)->elementwise || op.name == "constant")
    return all && result;
  if (op.name == "broadcast")
    return result && shiftMap(attributes.at("axes"), all);
  if (op.name == "reshape")
    return all && result;
  if (op.name == "transpose")
    return result && shiftMap(attributes.at("permutation"), true);
  if (op.name == "reduce")
    return shift(attributes.at("axes"));
  if (op.name == "concat" || op.name == "softmax" || op.name == "log_softmax")
    return all && shift(attributes.at("axis"));
  if (op.name != "matmul" || !is(op.operands[0]) || op.i64("transpose_a"))
    return false;
  // The second factor is one for all rows, or one for each.
  size_t rank = from_.type(op.operands[1]).rank();
  return result && (all ? rank > 2 : rank == 2);
}

bool Splitter::addOp(const Op &op) {
  Attributes attributes = op.attributes;
  if (!op.regions.empty() || op.results.empty() || !adjust(op, attributes))
    return false;
  std::vector<ValueId> operands;
  for (ValueId operand : op.operands)
    operands.push_back(values_[operand]);
  Graph &graph = result_.graph;
  auto results = graph.add(op.name, std::move(operands), std::move(attributes),
                           op.location);
  if (!results)
    return false;
  for (size_t i = 0; i < results->size(); ++i) {
    auto dims = split(from_.type(op.results[i]).dims);
    if (!dims || *dims != graph.type((*results)[i]).dims)
      return false;
    values_[op.results[i]] = (*results)[i];
  }
  return true;
}

std::optional<SplitGraph> Splitter::run() {
  if (!addSymbols())
    return std::nullopt;
  Graph &graph = result_.graph;
  values_.resize(from_.values.size());
  for (ValueId input : from_.inputs) {
    auto dims = split(from_.type(input).dims);
    if (!dims)
      return std::nullopt;
    values_[input] = graph.addInput(from_.values[input].name,
                                    {from_.type(input).dtype, *dims});
  }
  for (const Op &op : from_.ops)
    if (!addOp(op))
      return std::nullopt;
  for (const GraphOutput &output : from_.outputs)
    graph.addOutput(values_[output.value], output.name);
  if (!graph.verify().ok())
    return std::nullopt;
  return std::move(result_);
}

std::optional<SplitGraph> splitFirstAxis(const Graph &graph, size_t extra) {
  if (graph.outputs.empty())
    return std::nullopt;
  const Dims &dims = graph.type(graph.outputs[0].value).dims;
  auto symbol = dims.empty() ? std::nullopt : dims[0].symbolName();
  if (!symbol)
    return std::nullopt;
  return Splitter(graph, *symbol, extra).run();
}

} // namespace backplane
