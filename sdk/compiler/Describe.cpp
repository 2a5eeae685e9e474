// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Describe.h"

using namespace backplane;

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
