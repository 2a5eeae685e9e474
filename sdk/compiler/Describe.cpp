// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Describe.h"

using namespace backplane;

static std::unique_ptr<fb::TensorInfoT> tensorInfo(std::string_view name,
                                                   const TensorType &type) {
  auto info = std::make_unique<fb::TensorInfoT>();
  info->name = name;
  info->dtype = uint32_t(type.dtype);
  for (const Dim &dim : type.dims) {
    info->sizes.push_back(dim.constant().value_or(-1));
    if (!type.isStatic())
      info->exprs.push_back(dim.str());
  }
  return info;
}

static void describeSymbols(const Graph &graph, fb::ArtifactT &artifact) {
  for (const Symbol &symbol : graph.symbols) {
    auto info = std::make_unique<fb::SymbolInfoT>();
    info->name = symbol.name;
    info->minimum = symbol.minimum;
    info->maximum = symbol.maximum;
    info->divisor = symbol.divisor;
    artifact.symbols.push_back(std::move(info));
  }
  for (const DimAssertion &assertion : graph.assertions) {
    auto check = std::make_unique<fb::CheckT>();
    check->lhs = assertion.lhs.str();
    check->rhs = assertion.rhs.str();
    check->message = assertion.message;
    artifact.checks.push_back(std::move(check));
  }
}

void backplane::describeModel(const Graph &graph, fb::ArtifactT &artifact,
                              std::vector<std::string> &weights) {
  artifact.producer = "backplane " BACKPLANE_VERSION;
  artifact.model = graph.name;
  describeSymbols(graph, artifact);
  for (ValueId input : graph.inputs)
    artifact.inputs.push_back(
        tensorInfo(graph.values[input].name, graph.type(input)));
  for (const GraphOutput &output : graph.outputs)
    artifact.outputs.push_back(
        tensorInfo(output.name, graph.type(output.value)));
  for (const Variable &variable : graph.variables) {
    auto info = std::make_unique<fb::VariableInfoT>();
    info->type = tensorInfo(variable.name, variable.type);
    if (!variable.initial.empty()) {
      info->initial = int32_t(weights.size());
      weights.push_back(variable.initial);
    }
    artifact.variables.push_back(std::move(info));
  }
}
