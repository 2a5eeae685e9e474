// SPDX-License-Identifier: Apache-2.0
//
// bp-bufferize: tensors to memrefs, in place wherever the destinations allow.
// Copies become linalg.generic so that they are vectorised like everything
// else; pads become fill and copy.
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/common/UseDestinations.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace backplane {
#define GEN_PASS_DEF_BUFFERIZEPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

struct BufferizePass : backplane::impl::BufferizePassBase<BufferizePass> {
  void runOnOperation() override;
};

} // namespace

static LogicalResult decomposePads(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  patterns.add<linalg::DecomposePadOpPattern>(module.getContext());
  return applyPatternsGreedily(module, std::move(patterns));
}

static LogicalResult bufferize(ModuleOp module) {
  bufferization::OneShotBufferizationOptions options;
  options.memCpyFn = [](OpBuilder &builder, Location loc, Value from,
                        Value to) -> LogicalResult {
    linalg::CopyOp::create(builder, loc, from, to);
    return success();
  };
  // Every work-group has its own workspace: what a parallel region writes to
  // is either private or a disjoint slice of a destination.
  options.checkParallelRegions = false;
  IRRewriter rewriter(module.getContext());
  if (failed(bufferization::eliminateEmptyTensors(rewriter, module)))
    return failure();
  bufferization::BufferizationState state;
  return bufferization::runOneShotBufferize(module, options, state);
}

/// The argument under casts and reshapes that keep all of its elements.
static Value wholeBuffer(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<memref::ExpandShapeOp, memref::CollapseShapeOp, memref::CastOp>(
            op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Removes copies of a destination to itself, which are what is left of
/// results that were computed in place, whole or as a slice.
static void dropSelfCopies(ModuleOp module) {
  module.walk([](linalg::CopyOp op) {
    Value from = op.getInputs()[0], to = op.getOutputs()[0];
    Value whole = wholeBuffer(from);
    if (from == to || (whole == wholeBuffer(to) && isa<BlockArgument>(whole)))
      op.erase();
  });
}

/// The copy by which memory that starts as a copy of something becomes a
/// result, if that is all that the destination is for.
static linalg::CopyOp lastCopy(memref::AllocOp made, Value destination) {
  if (!isa<BlockArgument>(destination) || !destination.hasOneUse() ||
      made.getType() != destination.getType())
    return {};
  auto last = dyn_cast<linalg::CopyOp>(*destination.user_begin());
  bool isLast = last && last.getInputs()[0] == made.getResult() &&
                last->getBlock() == made->getBlock();
  bool startsAsCopy = llvm::any_of(made->getUsers(), [&](Operation *user) {
    auto first = dyn_cast<linalg::CopyOp>(user);
    return first && first != last && first.getOutputs()[0] == made.getResult();
  });
  return isLast && startsAsCopy ? last : linalg::CopyOp();
}

/// An operand that is copied to be updated in place is copied to where the
/// result goes at once.
static void updateDestinations(ModuleOp module) {
  module.walk([](memref::AllocOp made) {
    for (Operation *user : made->getUsers()) {
      auto copy = dyn_cast<linalg::CopyOp>(user);
      if (!copy || !lastCopy(made, copy.getOutputs()[0]))
        continue;
      made.replaceAllUsesWith(copy.getOutputs()[0]);
      copy.erase();
      return made.erase();
    }
  });
}

void BufferizePass::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(decomposePads(module)))
    return signalPassFailure();
  useDestinations(module);
  if (failed(bufferize(module)))
    return signalPassFailure();
  OpPassManager merge("builtin.module"), clean("builtin.module");
  merge.addPass(createCSEPass()); // slices that are the same become one value
  clean.addPass(createCanonicalizerPass());
  clean.addPass(createCSEPass());
  if (failed(runPipeline(merge, module)))
    return signalPassFailure();
  dropSelfCopies(module);
  if (failed(runPipeline(clean, module)))
    return signalPassFailure();
  updateDestinations(module); // loops carry no memory any more
}

} // namespace backplane
