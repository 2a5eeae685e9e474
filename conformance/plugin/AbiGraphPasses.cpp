// SPDX-License-Identifier: Apache-2.0
//
// AbiGraphPasses.cpp: the graph passes of a library that has a driver too.
#include "CompilerFixture.h"
#include "Groups.h"

#include "hal/core/GraphPassCalls.h"
#include "sdk/graph/GraphTable.h"
#include "sdk/graph/Wire.h"

#include <algorithm>

namespace backplane::checks {
namespace {

struct Listed {
  std::string target;
  GraphPass pass;
};

/// The graph passes of a compiler.
class Passes {
public:
  explicit Passes(Trial &trial) : compiler_(trial) {
    if (compiler_.good())
      list(trial);
  }
  const std::vector<Listed> &all() const { return all_; }
  Result<std::optional<Bytes>> run(const std::string &target,
                                   const std::string &pass,
                                   const Bytes &graph) const {
    return callGraphPass(compiler_.plugin(), target, pass, graph, graphTable());
  }

private:
  void list(Trial &trial) {
    for (const std::string &target : compiler_.targets()) {
      auto passes = callGraphPasses(compiler_.plugin(), target);
      if (!trial.expectOk(passes.status(), "target " + target))
        return;
      for (GraphPass &pass : *passes)
        all_.push_back({target, std::move(pass)});
    }
    if (all_.empty())
      trial.skip("the compiler has no graph passes");
  }

  CompilerFixture compiler_;
  std::vector<Listed> all_;
};

/// y[n] = exp(neg(x)).
Graph smallGraph() {
  Graph graph;
  (void)graph.addSymbol({"a", 1, 1024, 1});
  ValueId x = graph.addInput("x", {DType::F32, {Dim::symbol("a")}});
  graph.addOutput((*graph.add("exp", {(*graph.add("neg", {x}))[0]}))[0], "y");
  return graph;
}

void stages(Trial &trial) {
  const Passes passes(trial);
  for (const Listed &one : passes.all())
    trial.expect(one.pass.stage == "partition" || one.pass.stage == "lower",
                 "pass " + one.pass.name + " is for stage '" + one.pass.stage +
                     "'; graph passes are for partition, lower");
}

void unknown(Trial &trial) {
  Passes passes(trial);
  if (trial.ok() && !passes.all().empty())
    trial.expect(!passes
                      .run(passes.all()[0].target, "a-pass-that-is-not-there",
                           writeGraph(smallGraph()))
                      .ok(),
                 "it ran a pass that it does not list");
}

/// Bytes that are no graph, or the first part of one.
void damaged(Trial &trial, size_t keep) {
  Passes passes(trial);
  Bytes bytes = writeGraph(smallGraph());
  bytes.resize(bytes.size() * keep / 8);
  std::ranges::reverse(bytes);
  for (const Listed &one : passes.all()) {
    auto result = passes.run(one.target, one.pass.name, bytes);
    trial.expect(!result || !*result,
                 "pass " + one.pass.name + " made a graph of damaged bytes");
  }
}

void gives(Trial &trial) {
  Passes passes(trial);
  const Graph before = smallGraph();
  for (const Listed &one : passes.all()) {
    auto result = passes.run(one.target, one.pass.name, writeGraph(before));
    if (result.status().code() == BP_STATUS_UNIMPLEMENTED)
      continue;
    if (!trial.expectOk(result.status(), "pass " + one.pass.name) || !*result)
      continue;
    auto after = readGraph(**result);
    if (!trial.expectOk(after.status(), "the graph of pass " + one.pass.name))
      continue;
    bool same = after->symbols == before.symbols && after->inputs.size() == 1 &&
                after->outputs.size() == 1 && after->outputs[0].name == "y" &&
                after->type(after->inputs[0]) == before.type(before.inputs[0]);
    trial.expect(same, "pass " + one.pass.name +
                           " changed the symbols, "
                           "inputs or outputs");
  }
}

} // namespace

void addGraphPasses(Checks &all) {
  Group group(all, "L0/graph-passes",
              "Graph passes are listed for stages that there are, give graphs "
              "with the same inputs and outputs, and refuse what is no graph.");
  group.add("stages", stages);
  group.add("unknown", unknown);
  group.add("gives", gives);
  for (size_t keep : {size_t(1), size_t(4), size_t(7), size_t(8)})
    group.add("damaged-" + std::to_string(keep), damaged, keep);
}

} // namespace backplane::checks
