// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/ProgramPipelines.h"

#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/TargetProperties.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace backplane;

namespace {

const StagePipeline *pipelineOf(const Target &target, const Stage &stage) {
  auto found = llvm::find_if(target.stages, [&](const StagePipeline &one) {
    return one.stage == stage.name;
  });
  return found == target.stages.end() ? nullptr : &*found;
}

/// What a pipeline must keep.
struct Interface {
  explicit Interface(func::FuncOp main)
      : type(main.getFunctionType()), arguments(main.getArgAttrsAttr()),
        results(main.getResAttrsAttr()) {}
  bool operator==(const Interface &) const = default;

  FunctionType type;
  ArrayAttr arguments, results;
};

size_t countOps(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  return main ? llvm::range_size(main.getOps()) - 1 : 0;
}

std::string label(const Target &target, const Stage &stage) {
  return "target " + target.name + ", stage " + std::string(stage.name);
}

Status run(VariantContext &context, ModuleOp module, const Target &target,
           const StagePipeline &stage) {
  Interface before(module.lookupSymbol<func::FuncOp>("main"));
  setTargetProperties(module, target.properties);
  Status status =
      runPasses(module, context.diagnostics, [&](OpPassManager &manager) {
        // That it parses was found out when the target was looked up.
        (void)parsePassPipeline(stage.pipeline, manager);
      });
  module->removeAttr(bp::targetAttr);
  if (!status.ok())
    return status;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || !(Interface(main) == before))
    return invalidArgument("its pipeline changed the inputs or outputs of the "
                           "program, which stay as the model has them");
  return {};
}

} // namespace

Status backplane::runProgramPipeline(VariantContext &context, ModuleOp module,
                                     const Stage &stage, OneDevice device,
                                     Draft &draft) {
  for (unsigned i = 0; i < context.targets.size(); ++i) {
    const Target &target = context.targets[i];
    const StagePipeline *pipeline = pipelineOf(target, stage);
    if (!pipeline || (device && *device != i))
      continue;
    std::string where = label(target, stage);
    if (!device) {
      draft.report.push_back(where + ": its pipeline is left out, as several "
                                     "targets share the program");
      continue;
    }
    size_t before = countOps(module);
    if (Status s = run(context, module, target, *pipeline); !s.ok())
      return s.within(target.plugin->name + ": " + where);
    draft.report.push_back(where + ": ran " + pipeline->pipeline + ", " +
                           std::to_string(before) + " ops before, " +
                           std::to_string(countOps(module)) + " after");
  }
  return {};
}
