// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/FixSize.h"

namespace backplane {

std::optional<std::string> computedSymbol(const Graph &primitives) {
  std::set<std::string> names;
  for (const Op &op : primitives.ops)
    if (op.name == "dim")
      for (const auto &[name, attribute] : op.attributes)
        if (const auto *dims = std::get_if<Dims>(&attribute))
          for (const Dim &dim : *dims)
            dim.collectSymbols(names);
  return names.size() == 1 ? std::optional(*names.begin()) : std::nullopt;
}

static void fixIn(Graph &graph, const std::string &symbol, int64_t size) {
  auto fix = [&](Dim &dim) { dim = dim.substitute({{symbol, Dim(size)}}); };
  auto fixAll = [&](Dims &dims) {
    for (Dim &dim : dims)
      fix(dim);
  };
  for (Value &value : graph.values)
    fixAll(value.type.dims);
  for (Variable &variable : graph.variables)
    fixAll(variable.type.dims);
  for (Op &op : graph.ops) {
    for (auto &[name, attribute] : op.attributes)
      if (auto *dims = std::get_if<Dims>(&attribute))
        fixAll(*dims);
    for (Graph &region : op.regions)
      fixIn(region, symbol, size);
  }
  for (DimAssertion &assertion : graph.assertions) {
    fix(assertion.lhs);
    fix(assertion.rhs);
  }
  std::erase_if(graph.symbols,
                [&](const Symbol &other) { return other.name == symbol; });
}

std::optional<Graph> fixSymbol(Graph graph, const std::string &symbol,
                               int64_t size) {
  fixIn(graph, symbol, size);
  if (!graph.verify().ok())
    return std::nullopt;
  return graph;
}

} // namespace backplane
