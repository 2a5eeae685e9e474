// SPDX-License-Identifier: Apache-2.0
//
// Optimize.cpp: what is done to a graph before devices matter. An `if` whose
// condition turns out to be constant gives way to the ops of its branch.
#include "sdk/compiler/Variant.h"

#include "sdk/compiler/Phase.h"
#include "sdk/compiler/ProgramPipelines.h"
#include "sdk/compiler/WidenFloats.h"
#include "sdk/graph/Control.h"
#include "sdk/graph/Decompose.h"
#include "sdk/optimize/FoldConstants.h"
#include "sdk/optimize/Passes.h"

#include "backplane/compiler.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace backplane;

/// Refuses a graph with a dtype that the target can neither hold nor, where it
/// is asked to, compute in, and one with a size that it must know.
static Status checkTypes(const Target &target, const Graph &graph) {
  if (std::string why = missingSize(target, graph); !why.empty())
    return unimplemented(why);
  for (const backplane::Op &op : graph.ops) {
    if (auto type = missingDType(target, graph, op))
      return unimplemented("target " + target.name + " does not compute in " +
                           std::string(name(*type)) + ", as " + op.name + " " +
                           op.location + " does");
    for (const auto *list : {&op.operands, &op.results})
      for (ValueId value : *list)
        if (DType type = graph.type(value).dtype;
            !(target.storageDTypes >> unsigned(type) & 1))
          return unimplemented("target " + target.name + " has no " +
                               std::string(name(type)) + ", which " + op.name +
                               " " + op.location + " uses");
  }
  return {};
}

Result<Graph> backplane::decomposeFor(const VariantContext &context,
                                      const Graph &graph, OneDevice device) {
  const Target &target = context.targets[device.value_or(0)];
  auto keep = [&](const backplane::Op &op) {
    return !context.refusedComposites.count(
               compositeKey(op.name, op.location)) &&
           askClaim(context.services, target, graph, op).supported;
  };
  auto result = decompose(graph, keep, false);
  if (!result)
    return result.status().within(stage::decompose.name);
  if (!device)
    return result;
  result = widenFloats(target, std::move(*result));
  if (!result)
    return result.status().within(stage::decompose.name);
  if (auto status = checkTypes(target, *result); !status.ok())
    return status;
  return result;
}

/// Whether all devices have these BP_FUSE_ bits.
static bool allFuse(const VariantContext &context, uint32_t bits) {
  return llvm::all_of(context.targets, [&](const Target &target) {
    return (target.fusion & bits) == bits;
  });
}

/// Whether the device that comes first makes masks of places where it needs
/// them.
static bool makesMasks(const VariantContext &context) {
  return (context.targets.front().fusion & BP_FUSE_NARROW_ATTENTION) != 0;
}

/// One round of passes, then constants that these have found.
static Status runRound(VariantContext &context, ModuleOp module,
                       OneDevice device, Draft &draft) {
  auto read = [&](StringRef id) -> std::optional<Bytes> {
    const Weight *weight = context.pool.find(std::string_view(id));
    if (!weight || weight->data.size() > maxConstantBytes)
      return std::nullopt;
    return Bytes(weight->data.begin(), weight->data.end());
  };
  bool keepBytes = allFuse(context, BP_FUSE_WIDENING | BP_FUSE_WEIGHTS);
  auto status =
      runPasses(module, context.diagnostics, [&](OpPassManager &manager) {
        manager.addPass(bp::createForwardVariablesPass());
        manager.addPass(bp::createSimplifyPass());
        manager.addPass(createCSEPass());
        manager.addPass(bp::createTableLookupPass(read));
        if (allFuse(context, BP_FUSE_WIDENING))
          manager.addPass(bp::createQuantizedProductsPass({keepBytes}));
        manager.addPass(bp::createFoldScalesPass());
      });
  if (status.ok())
    status =
        runProgramPipeline(context, module, stage::optimize, device, draft);
  if (status.ok())
    status =
        runPasses(module, context.diagnostics, [&](OpPassManager &manager) {
          manager.addPass(bp::createSimplifyPass());
          manager.addPass(createCSEPass());
          manager.addPass(
              bp::createOutlineConstantsPass(makesMasks(context), keepBytes));
        });
  if (!status.ok())
    return status;
  if (failed(bp::foldConstants(module, context.services.evaluate, context.pool,
                               draft.report)))
    return context.diagnostics.take(
        internalError("constants cannot be folded"));
  return runPasses(module, context.diagnostics, [&](OpPassManager &manager) {
    manager.addPass(bp::createSimplifyPass());
    manager.addPass(createCSEPass());
  });
}

/// What the condition of an `if` always is, once constants are folded.
static std::optional<bool> knownCondition(const WeightPool &pool,
                                          bp::ControlOp op) {
  if (op.getKind() != "if")
    return std::nullopt;
  std::vector<Dim> condition = op.getCondition().getDims();
  if (!condition.empty()) {
    std::optional<int64_t> value = condition[0].constant();
    return value ? std::optional(*value != 0) : std::nullopt;
  }
  mlir::Value predicate = op.getOperand(0);
  while (auto reshape = predicate.getDefiningOp<bp::ReshapeOp>())
    predicate = reshape.getX();
  if (auto constant = predicate.getDefiningOp<bp::ConstantOp>())
    if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()))
      return bp::toBytes(elements)[0] != 0;
  if (auto weight = predicate.getDefiningOp<bp::WeightOp>())
    if (const Weight *found = pool.find(std::string_view(weight.getId()));
        found && found->data.size() == 1)
      return found->data[0] != 0;
  return std::nullopt;
}

/// Whether any `if` gave way to one of its regions. One with checks of its own
/// stays: they are asked when it is entered.
static Result<bool> decideIfs(VariantContext &context, ModuleOp module,
                              const Graph &graph, OneDevice device,
                              Draft &draft) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  SmallVector<bp::ControlOp> ops(main.getOps<bp::ControlOp>());
  bool any = false;
  for (bp::ControlOp op : ops) {
    std::optional<bool> taken = knownCondition(context.pool, op);
    const backplane::Op &control = bp::controlOf(op, graph);
    if (!taken || !control.regions[*taken ? 0 : 1].assertions.empty())
      continue;
    Graph region = control.regions[*taken ? 0 : 1];
    region.symbols = symbolsInside(graph.symbols, region);
    auto ops = decomposeFor(context, region, device);
    if (!ops)
      return ops.status().within(control.location);
    draft.report.push_back(control.location + ": always takes " +
                           (*taken ? "then" : "else"));
    bp::inlineRegion(op, *taken ? 0 : 1, *ops);
    any = true;
  }
  return any;
}

Status backplane::optimize(VariantContext &context, ModuleOp module,
                           const Graph &graph, OneDevice device, Draft &draft) {
  Phase phase(context.services, stage::optimize.name);
  for (;;) {
    if (auto status = runRound(context, module, device, draft); !status.ok())
      return status;
    auto decided = decideIfs(context, module, graph, device, draft);
    if (!decided || !*decided)
      return decided.status();
  }
}
