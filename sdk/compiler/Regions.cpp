// SPDX-License-Identifier: Apache-2.0
//
// Regions.cpp: ops with regions in the compiler: each region becomes a program.
#include "sdk/compiler/Variant.h"

#include "sdk/graph/Control.h"
#include "sdk/package/Check.h"

using namespace mlir;
using namespace backplane;

static RegionInfo describeRegion(const Graph &region) {
  RegionInfo result{.name = region.name, .checks = region.assertions};
  for (ValueId input : region.inputs)
    result.inputs.push_back(region.type(input).bytes());
  for (const GraphOutput &output : region.outputs)
    result.outputs.push_back(region.type(output.value).bytes());
  return result;
}

static Result<uint32_t> compileRegion(VariantContext &context,
                                      const backplane::Op &op, size_t number,
                                      const Graph &around, unsigned device,
                                      Draft &draft) {
  if (draft.regions.size() >= limits::regions)
    return unimplemented(op.location + ": a model has at most " +
                         std::to_string(limits::regions) +
                         " regions that run, this one has more");
  Graph region = op.regions[number];
  // An artifact has no ranges of iterations, so no memory is planned with them.
  for (backplane::Symbol &iteration : region.symbols)
    iteration.maximum = INT64_MAX;
  std::string part = op.name != "if" ? "body" : number == 0 ? "then" : "else";
  region.name = op.location + ", " + part;
  region.symbols = symbolsInside(around.symbols, region);
  size_t report = draft.report.size();
  auto compiled = compileProgram(
      context, region, part + std::to_string(draft.regions.size()) + ".",
      device, std::move(draft));
  if (!compiled)
    return compiled.status().within(region.name);
  draft = std::move(compiled->draft);
  for (size_t i = report; i < draft.report.size(); ++i)
    if (!StringRef(draft.report[i]).starts_with("in "))
      draft.report[i] = "in " + region.name + ": " + draft.report[i];
  RegionInfo described = describeRegion(region);
  if (op.name == "while")
    described.iteration = op.string("iteration");
  described.device = uint8_t(device);
  described.program = std::move(compiled->program);
  draft.regions.push_back(std::move(described));
  return uint32_t(draft.regions.size() - 1);
}

Status backplane::compileRegions(VariantContext &context, ModuleOp module,
                                 const Graph &graph, Draft &draft,
                                 Refusals &refusals) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (bp::ControlOp control : main.getOps<bp::ControlOp>()) {
    const backplane::Op &op = bp::controlOf(control, graph);
    SmallVector<int64_t> programs;
    for (size_t i = 0; i < op.regions.size(); ++i) {
      auto number =
          compileRegion(context, op, i, graph, bp::deviceOf(control), draft);
      if (!number) {
        if (number.status().code() == BP_STATUS_UNIMPLEMENTED)
          refuse(context, control, number.status(), refusals);
        return number.status();
      }
      programs.push_back(*number);
    }
    control.setPrograms(programs);
  }
  return {};
}
