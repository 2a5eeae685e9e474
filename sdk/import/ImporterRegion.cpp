// SPDX-License-Identifier: Apache-2.0
//
// Regions of ops with control flow, and the nested graphs of ONNX: which values
// they see, and how values from outside come in.
#include "Importer.h"

#include "sdk/graph/Control.h"

namespace backplane::frontend {

/// Some more than an artifact holds, as a body may be imported more than once.
constexpr size_t maxRegions = 8192;

Status Importer::beginRegion(std::string name) {
  if (scopes_.size() == maxRegionDepth)
    return unimplemented("graphs nested more than " +
                         std::to_string(maxRegionDepth) +
                         " deep are not supported");
  if (regions_ == maxRegions)
    return unimplemented("more than " + std::to_string(maxRegions) +
                         " graphs in graphs are not supported");
  Scope scope;
  scope.graph.name = std::move(name);
  // While it is built, a region has the symbols around it as its own.
  scope.graph.symbols = graph().symbols;
  scope.number = ++regions_;
  scope.names = nameMark();
  scopes_.push_back(std::move(scope));
  return {};
}

Dim Importer::addIteration(const std::optional<Dim> &limit) {
  Graph &region = graph();
  auto taken = [&](const std::string &name) {
    for (const Symbol &symbol : region.symbols)
      if (symbol.name == name)
        return true;
    return false;
  };
  std::string name = "i";
  for (int suffix = 1; taken(name); ++suffix)
    name = "i_" + std::to_string(suffix);
  Symbol symbol{.name = name};
  if (limit && limit->constant().value_or(0) > 0)
    symbol.maximum = *limit->constant() - 1;
  region.symbols.push_back(symbol);
  scopes_.back().iteration = name;
  return Dim::symbol(name);
}

Region Importer::endRegion() {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  forget(scope.names);
  std::erase_if(scope.graph.symbols, [&](const Symbol &symbol) {
    return symbol.name != scope.iteration;
  });
  return {std::move(scope.graph), std::move(scope.captured),
          std::move(scope.iteration)};
}

ValueId Importer::capture(ValueId outer) {
  return captureAt(scopes_.size(), outer, scopes_.size() - 1);
}

/// `value` of the graph at depth `from` as a value of the graph at `depth`.
ValueId Importer::captureAt(size_t depth, ValueId value, size_t from) {
  if (from >= depth)
    return value;
  ValueId outer = captureAt(depth - 1, value, from);
  Scope &scope = scopes_[depth - 1];
  if (auto found = scope.inner.find(outer); found != scope.inner.end())
    return found->second;
  const Graph &around = depth > 1 ? scopes_[depth - 2].graph : model_.graph;
  const Value &original = around.values[outer];
  ValueId inner = scope.graph.addInput(original.name, original.type);
  scope.captured.push_back(outer);
  scope.inner[outer] = inner;
  return inner;
}

Result<std::vector<ValueId>> Importer::addControl(Op op) {
  auto results = graph().addControl(std::move(op));
  if (!results.ok())
    return results.status();
  return results;
}

const onnx::TypeProto *Importer::declared(const std::string &name) const {
  auto found = declared_.find(name);
  return found == declared_.end() ? nullptr : found->second;
}

std::optional<Dim>
Importer::declaredDim(const onnx::TensorShapeProto::Dimension &dim) const {
  if (dim.has_dim_value() && dim.dim_value() >= 0)
    return Dim(dim.dim_value());
  auto known = symbols_.find(dim.dim_param());
  if (known == symbols_.end())
    return std::nullopt;
  return Dim::symbol(known->second);
}

Status Importer::addNested(const onnx::GraphProto &nested) {
  for (const onnx::TensorProto &initializer : nested.initializer())
    if (Status s = addInitializer(initializer, std::nullopt); !s.ok())
      return s;
  return addNodes(nested);
}

void Importer::forget(size_t mark) {
  while (order_.size() > mark) {
    auto [name, before] = std::move(order_.back());
    order_.pop_back();
    if (before)
      names_[name] = before;
    else
      names_.erase(name);
  }
}

} // namespace backplane::frontend
