// SPDX-License-Identifier: Apache-2.0
//
// The whole compiler, read top to bottom: here per model, in Variant.cpp per
// target. docs/reference/stages.md has the contract of each stage.
#include "sdk/compiler/Compile.h"

#include "sdk/compiler/Describe.h"
#include "sdk/compiler/Phase.h"
#include "sdk/compiler/Variant.h"
#include "sdk/graph/Satisfiable.h"
#include "sdk/graph/Wire.h"

#include <set>

using namespace backplane;

/// Keeps the graph, so that it can be compiled for further targets later on.
static void embedGraph(const Graph &graph, fb::ArtifactT &artifact,
                       std::vector<std::string> &weights) {
  artifact.graph = writeGraph(graph);
  std::set<std::string> known(weights.begin(), weights.end());
  for (const auto &[id, type] : weightsOf(graph))
    if (known.insert(id).second)
      weights.push_back(id);
}

Status backplane::compileModel(CompileRequest request,
                               const CompileServices &services) {
  if (auto status = checkSatisfiable(request.model.graph); !status.ok())
    return status;
  fb::ArtifactT artifact;
  std::vector<std::string> weights;
  describeModel(request.model.graph, artifact, weights);
  for (const std::string &name : request.targets) {
    auto targets = findTargets(services, name);
    if (!targets)
      return targets.status();
    std::string dumps = request.dumpDir;
    if (!dumps.empty() && request.targets.size() > 1)
      dumps += "/" + name;
    VariantCompiler compiler(services, *targets, request.model.weights, weights,
                             dumps);
    Phase phase(services, "variant " + name);
    auto variant = compiler.run(request.model.graph);
    if (!variant)
      return variant.status().within(name);
    artifact.variants.push_back(std::move(*variant));
  }
  if (request.embedGraph)
    embedGraph(request.model.graph, artifact, weights);
  for (const std::string &id : weights) {
    artifact.weights.push_back(std::make_unique<fb::WeightInfoT>());
    artifact.weights.back()->id = id;
  }
  Phase phase(services, "write artifact");
  return writeArtifact(request.outputPath, artifact, request.model.weights);
}
