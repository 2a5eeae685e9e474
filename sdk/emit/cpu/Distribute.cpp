// SPDX-License-Identifier: Apache-2.0
//
// bp-distribute: the work of a dispatch becomes one parallel loop of
// work-groups around its last op, with everything before it fused in. Sizes
// are chosen so that a work-group has tens of microseconds of work. A function
// that already has a parallel loop is left alone; one for which no such loop is
// found stays one work-group.
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/cpu/MergeLoops.h"
#include "sdk/emit/cpu/TileSizes.h"
#include "sdk/lower/ExpandPads.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace backplane {
#define GEN_PASS_DEF_DISTRIBUTEPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

struct DistributePass : backplane::impl::DistributePassBase<DistributePass> {
  void runOnOperation() override;
};

/// Marks ops of which the work-groups have copies.
constexpr StringLiteral kFused = "bp.fused";

} // namespace

static bool isReshape(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
      op);
}

/// The op whose results, reshaped or not, are all results of the function.
static Operation *findRoot(func::FuncOp func) {
  Operation *root = nullptr;
  for (auto result : func.getOps<bufferization::MaterializeInDestinationOp>()) {
    Operation *source = result.getSource().getDefiningOp();
    while (source && isReshape(source))
      source = source->getOperand(0).getDefiningOp();
    if (!source || (root && source != root))
      return nullptr;
    root = source;
  }
  return root;
}

static LogicalResult tile(RewriterBase &rewriter, Operation *root,
                          ArrayRef<int64_t> sizes) {
  SmallVector<OpFoldResult> tileSizes;
  for (int64_t size : sizes)
    tileSizes.push_back(rewriter.getIndexAttr(size));
  scf::SCFTileAndFuseOptions options;
  options.tilingOptions.setTileSizes(tileSizes).setLoopType(
      scf::SCFTilingOptions::LoopType::ForallOp);
  rewriter.setInsertionPoint(root);
  auto tiled = scf::tileConsumerAndFuseProducersUsingSCF(
      rewriter, cast<TilingInterface>(root), options);
  if (failed(tiled))
    return failure();
  for (OpResult result : root->getResults())
    if (Value replacement = tiled->replacements.lookup(result))
      rewriter.replaceAllUsesWith(result, replacement);
  rewriter.eraseOp(root);
  for (Operation *producer : tiled->fusedProducers)
    producer->setAttr(kFused, rewriter.getUnitAttr());
  return success();
}

/// Removes the originals of fused producers: those that report bad data are not
/// dead by themselves.
static void eraseFused(ModuleOp module) {
  SmallVector<Operation *> marked;
  module.walk([&](Operation *op) {
    if (op->hasAttr(kFused))
      marked.push_back(op);
  });
  for (Operation *op : llvm::reverse(marked)) {
    if (op->use_empty())
      op->erase();
    else
      op->removeAttr(kFused);
  }
}

/// Whether the size of a temporary has a limit that is known now. Such a one is
/// better off in the workspace, which stays in a near cache.
static bool isBounded(tensor::EmptyOp op) {
  return llvm::all_of(op.getDynamicSizes(), [](Value size) {
    return succeeded(ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::UB, {size}));
  });
}

/// Within a work-group, an intermediate of the shape of the result, and of
/// unlimited size, is kept where the result will be, when nothing reads it
/// after the result is computed.
static void computeInPlace(RewriterBase &rewriter, linalg::GenericOp root) {
  if (root.getNumDpsInits() != 1 || root.getNumReductionLoops() != 0)
    return;
  OpOperand &init = root.getDpsInitsMutable()[0];
  AffineMap map = root.getMatchingIndexingMap(&init);
  if (root.payloadUsesValueFromOperand(&init))
    return;
  for (OpOperand *input : root.getDpsInputOperands()) {
    auto producer = input->get().getDefiningOp<linalg::GenericOp>();
    if (!producer || producer->getBlock() != root->getBlock() ||
        producer.getNumDpsInits() != 1 ||
        producer.getNumReductionLoops() != 0 ||
        root.getMatchingIndexingMap(input) != map ||
        input->get().getType() != init.get().getType() ||
        producer->getNumResults() != 1)
      continue;
    auto empty = producer.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>();
    if (!empty || isBounded(empty))
      continue;
    bool earlier = llvm::all_of(producer->getUsers(), [&](Operation *user) {
      return user == root || user->isBeforeInBlock(root);
    });
    Operation *slice = init.get().getDefiningOp();
    if (!earlier || !slice)
      continue;
    rewriter.moveOpBefore(slice, producer);
    producer.getDpsInitsMutable()[0].set(init.get());
    init.set(input->get());
    return;
  }
}

static void computeInPlace(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  module.walk([&](tensor::ParallelInsertSliceOp op) {
    if (auto root = op.getSource().getDefiningOp<linalg::GenericOp>())
      computeInPlace(rewriter, root);
  });
}

static unsigned countComputations(func::FuncOp func) {
  unsigned count = 0;
  func.walk([&](TilingInterface) { ++count; });
  return count;
}

static void distribute(func::FuncOp func) {
  bool done = func.walk([](scf::ForallOp) { return WalkResult::interrupt(); })
                  .wasInterrupted();
  Operation *root = done ? nullptr : findRoot(func);
  if (!root)
    return;
  IRRewriter rewriter(func.getContext());
  if (countComputations(func) == 1)
    root = mergeLoops(rewriter, root);
  auto tilable = dyn_cast<TilingInterface>(root);
  if (!tilable)
    return;
  SmallVector<int64_t> sizes = chooseTileSizes(tilable);
  if (llvm::any_of(sizes, [](int64_t size) { return size != 0; }))
    (void)tile(rewriter, root, sizes);
}

/// Whether a reshape lies between two computations, where it would keep them
/// from being fused.
static bool hasInnerReshape(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        bool inner =
            isReshape(op) &&
            isa_and_nonnull<linalg::LinalgOp>(
                op->getOperand(0).getDefiningOp()) &&
            llvm::any_of(op->getUsers(), llvm::IsaPred<linalg::LinalgOp>);
        return inner ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether a tensor of several elements has rows of one: an innermost loop
/// that no vector can run.
static bool hasShortRows(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() > 1 && tensor.getShape().back() == 1 &&
         llvm::any_of(tensor.getShape(),
                      [](int64_t size) { return size != 1; });
}

static bool hasShortRows(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        bool computes =
            isa<linalg::LinalgOp, tensor::PadOp, tensor::ExtractOp>(op);
        auto isShort = [](Value value) {
          return hasShortRows(value.getType());
        };
        bool found = computes && (llvm::any_of(op->getOperands(), isShort) ||
                                  llvm::any_of(op->getResults(), isShort));
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Reads an element of rows of one element from the tensor without that axis.
static void dropInnerUnits(tensor::ExtractOp op) {
  while (hasShortRows(op.getTensor().getType())) {
    int64_t last = op.getTensor().getType().getRank() - 1;
    SmallVector<ReassociationIndices> groups;
    for (int64_t axis = 0; axis < last; ++axis)
      groups.push_back({axis});
    groups.back().push_back(last);
    OpBuilder builder(op);
    builder.setInsertionPointAfterValue(op.getTensor());
    op.getTensorMutable().assign(tensor::CollapseShapeOp::create(
        builder, op.getLoc(), op.getTensor(), groups));
    op.getIndicesMutable().assign(
        SmallVector<Value>(op.getIndices().drop_back()));
  }
}

static LogicalResult foldEmpties(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  tensor::populateFoldTensorEmptyPatterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

/// Whether an op has a loop that never runs, by its type: there is nothing to
/// share between work-groups, and tiling divides by the trip count.
static bool hasEmptyLoop(func::FuncOp func) {
  return func
      .walk([](linalg::LinalgOp op) {
        return llvm::is_contained(op.getStaticLoopRanges(), 0)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void DistributePass::runOnOperation() {
  ModuleOp module = getOperation();
  // Loops of one iteration go where they are in the way.
  if (hasInnerReshape(module) || hasShortRows(module)) {
    module.walk([](tensor::ExtractOp op) { dropInnerUnits(op); });
    OpPassManager units("builtin.module");
    units.addPass(createLinalgFoldUnitExtentDimsPass());
    units.addPass(createCanonicalizerPass());
    if (failed(runPipeline(units, module)) || failed(foldEmpties(module)))
      return signalPassFailure();
  }
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(bp::inputsAttr)) {
      bp::expandDynamicPads(func);
      if (!hasEmptyLoop(func))
        distribute(func);
    }
  // Temporaries of a work-group are its own.
  if (failed(foldEmpties(module)))
    return signalPassFailure();
  // Sizes in terms of the symbols; producers that were fused twice are one
  // again.
  OpPassManager clean("builtin.module");
  addCleanup(clean);
  if (failed(runPipeline(clean, module)))
    return signalPassFailure();
  eraseFused(module);
  computeInPlace(module);
}

} // namespace backplane
