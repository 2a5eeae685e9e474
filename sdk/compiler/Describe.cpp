// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Describe.h"

using namespace backplane;

/// Calls `visit` with each number of a weight in the artifact.
template <typename Visit>
static void forEachWeight(ArtifactInfo &artifact, Visit visit) {
  auto visitProgram = [&](Program &program) {
    for (Slot &slot : program.slots)
      if (slot.kind == SlotKind::Weight)
        visit(slot.index);
  };
  for (VariableInfo &variable : artifact.variables)
    if (variable.initial >= 0)
      visit(variable.initial);
  for (VariantInfo &variant : artifact.variants) {
    visitProgram(variant.program);
    visitProgram(variant.init);
    for (RegionInfo &region : variant.regions)
      visitProgram(region.program);
  }
}

void backplane::dropUnusedWeights(ArtifactInfo &artifact,
                                  std::vector<std::string> &weights) {
  std::vector<bool> used(weights.size(), false);
  forEachWeight(artifact, [&](auto &number) { used[size_t(number)] = true; });
  std::vector<uint32_t> numbers(weights.size());
  std::vector<std::string> kept;
  for (size_t i = 0; i < weights.size(); ++i) {
    numbers[i] = uint32_t(kept.size());
    if (used[i])
      kept.push_back(std::move(weights[i]));
  }
  weights = std::move(kept);
  forEachWeight(artifact, [&](auto &number) {
    number = static_cast<std::remove_reference_t<decltype(number)>>(
        numbers[size_t(number)]);
  });
}

void backplane::describeModel(const Graph &graph, ArtifactInfo &artifact,
                              std::vector<std::string> &weights) {
  artifact.producer = "backplane " BACKPLANE_VERSION;
  artifact.model = graph.name;
  artifact.symbols = graph.symbols;
  artifact.checks = graph.assertions;
  for (ValueId input : graph.inputs)
    artifact.inputs.push_back({graph.values[input].name, graph.type(input)});
  for (const GraphOutput &output : graph.outputs)
    artifact.outputs.push_back({output.name, graph.type(output.value)});
  for (const Variable &variable : graph.variables) {
    VariableInfo info{{variable.name, variable.type}};
    if (!variable.initial.empty()) {
      info.initial = int32_t(weights.size());
      weights.push_back(variable.initial);
    }
    artifact.variables.push_back(std::move(info));
  }
}
