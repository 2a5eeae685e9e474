// SPDX-License-Identifier: Apache-2.0
//
// bp-vectorize: linalg ops on memrefs to loops over vectors. One loop of the op
// is run in steps of the vector width, the rest of it under a mask; the other
// loops stay scalar. Ops whose body is not lane by lane are left alone. Lines
// of elements that are computed in order are done side by side.
#include "sdk/emit/common/CodePaths.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/cpu/FenceExtensions.h"
#include "sdk/emit/cpu/LaneAccess.h"
#include "sdk/emit/cpu/LaneGather.h"
#include "sdk/emit/cpu/LaneLoops.h"
#include "sdk/emit/cpu/LaneRepeat.h"
#include "sdk/emit/cpu/LaneTranspose.h"
#include "sdk/emit/cpu/LaneWindow.h"
#include "sdk/emit/cpu/LineLanes.h"
#include "sdk/emit/cpu/MergeLoops.h"
#include "sdk/emit/cpu/SplitSearches.h"
#include "sdk/emit/cpu/UseMarks.h"
#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <bit>

namespace backplane {
#define GEN_PASS_DEF_VECTORIZEPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

struct VectorizePass : backplane::impl::VectorizePassBase<VectorizePass> {
  using VectorizePassBase::VectorizePassBase;
  void runOnOperation() override;

private:
  void vectorizeGeneric();
};

} // namespace

/// Lanes of tiles that are transposed: as many vectors are in registers.
static constexpr int64_t kTransposedLanes = 16;

/// Vectors of at most so many bits, whose lanes search rows of at least so many
/// elements by two reductions. Wider ones gather from several rows as quickly.
static constexpr unsigned kSplitBits = 256;
static constexpr int64_t kShortestSearch = 32;

/// Costs of one vector of iterations when `loop` is the vectorised one; the
/// unit is one vector memory access.
static double loopCost(linalg::GenericOp op, unsigned loop, int64_t lanes) {
  double cost = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    switch (laneAccess(op, operand, loop)) {
    case LaneAccess::Uniform:
      cost += 0.5;
      break;
    case LaneAccess::Contiguous:
      cost += 1;
      break;
    case LaneAccess::Alternate:
      cost += operand.getOperandNumber() < op.getNumDpsInputs()
                  ? 3
                  : double(lanes) * 0.75;
      break;
    case LaneAccess::Strided:
      cost += double(lanes) * 0.75;
      break;
    }
  }
  int64_t size = op.getStaticLoopRanges()[loop];
  if (!ShapedType::isDynamic(size) && size > 0) {
    int64_t vectors = (size + lanes - 1) / lanes;
    cost *= double(vectors * lanes) / double(size);
  }
  return cost;
}

/// The share of one vector of a reduced loop in the reduction of its lanes at
/// the end.
static double horizontalCost(linalg::GenericOp op, int64_t size,
                             int64_t lanes) {
  if (ShapedType::isDynamic(size))
    return 0.4;
  bool extreme = isa<arith::MaximumFOp, arith::MinimumFOp>(findCombiner(op, 0));
  double reduction = extreme || size < lanes ? 14 : 8;
  return std::max(0.4,
                  reduction * double(lanes) / double(std::max(size, lanes)));
}

/// The loop to vectorise, or none when scalar code does as well.
static std::optional<unsigned> chooseLoop(linalg::GenericOp op, int64_t lanes) {
  std::optional<unsigned> best;
  auto accesses =
      double(op->getNumOperands()) +
      double(llvm::range_size(op.getBody()->getOps<memref::LoadOp>()));
  double bestCost = 0.9 * accesses * double(lanes);
  auto types = op.getIteratorTypesArray();
  for (unsigned loop = 0; loop < types.size(); ++loop) {
    bool parallel = types[loop] == utils::IteratorType::parallel;
    if (!parallel && !canReduceLanes(op))
      continue;
    std::optional<double> loads =
        loadsElements(op) ? elementLoadCost(op, loop, lanes) : 0.0;
    if (!loads)
      continue;
    double cost = loopCost(op, loop, lanes) + *loads;
    if (!parallel)
      cost += horizontalCost(op, op.getStaticLoopRanges()[loop], lanes);
    if (cost <= bestCost) {
      best = loop;
      bestCost = cost;
    }
  }
  return best;
}

/// Gathers whose lanes are next to each other in memory as a rule, in another
/// order.
static bool vectorizeWindow(linalg::GenericOp op, unsigned vectorBits,
                            StringRef permute) {
  std::optional<unsigned> loop;
  if (!permute.empty() && op.hasPureBufferSemantics() && loadsElements(op))
    loop = findWindow(op);
  if (!loop)
    return false;
  OpBuilder builder(op);
  tellPath(op.getLoc(), path::window);
  emitWindow(builder, op, *loop, vectorBits / 32, permute);
  op.erase();
  return true;
}

static void tellLanes(linalg::GenericOp op, unsigned loop, bool scales,
                      bool isPadded) {
  bool reduces =
      op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction;
  tellPath(op.getLoc(), reduces             ? path::laneSums
                        : loadsElements(op) ? path::laneLoads
                                            : path::lanes);
  if (scales)
    tellPath(op.getLoc(), path::laneScales);
  if (isPadded)
    tellPath(op.getLoc(), path::lanePadding);
}

static void vectorize(linalg::GenericOp op, unsigned vectorBits, bool scalable,
                      bool extremesForget) {
  bool loads = loadsElements(op) && op.getNumReductionLoops() == 0;
  if (!op.hasPureBufferSemantics() ||
      !(loads || canVectorizeBody(*op.getBody())))
    return;
  int64_t lanes = vectorBits / widestElementBits(op);
  if (lanes < 2 || op.getNumLoops() == 0)
    return;
  OpBuilder builder(op);
  if (auto repetition = loads ? std::nullopt : findRepetition(op)) {
    tellPath(op.getLoc(), path::repetition);
    emitRepetition(builder, op, *repetition, lanes);
    op.erase();
    return;
  }
  std::optional<Transposition> loops;
  if (!loads)
    loops = findTransposition(op);
  if (loops) {
    tellPath(op.getLoc(), path::transposition);
    emitTransposition(
        builder, op, *loops,
        int64_t(std::bit_floor(uint64_t(std::min(lanes, kTransposedLanes)))));
    op.erase();
    return;
  }
  std::optional<unsigned> loop = chooseLoop(op, lanes);
  if (!loop)
    return;
  bool scales = scalable && !loads && canScaleLanes(op, *loop);
  if (!scales && sumsInRuns(op, *loop)) {
    lanes = vectorBits / 32;
    tellPath(op.getLoc(), path::laneRuns);
  }
  SmallVector<Padding> paddings;
  if (!scalable)
    paddings = takePaddings(op, *loop);
  tellLanes(op, *loop, scales, !paddings.empty());
  emitLaneLoops(builder, op, *loop, VectorWidth(lanes, scales), extremesForget,
                paddings);
  op.erase();
}

void VectorizePass::vectorizeGeneric() {
  SmallVector<linalg::GenericOp> ops;
  getOperation().walk([&](linalg::GenericOp op) { ops.push_back(op); });
  for (linalg::GenericOp op : ops)
    if (!vectorizeWindow(op, vectorBits, permute))
      vectorize(mergeContiguousLoops(op), vectorBits, scalable, comparesMaxima);
}

/// The memref without its last axes of one element, if it has such axes.
static Value withoutInnerUnits(OpBuilder &builder, Value memref) {
  auto shape = cast<MemRefType>(memref.getType()).getShape();
  while (shape.size() > 1 && shape.back() == 1)
    shape = shape.drop_back();
  auto reduced = memref::SubViewOp::rankReduceIfNeeded(builder, memref.getLoc(),
                                                       memref, shape);
  return succeeded(reduced) ? *reduced : memref;
}

/// Rows of one element are no loop to vectorise: copies and fills without them.
static void dropInnerUnits(OpBuilder &builder, linalg::LinalgOp op) {
  if (!isa<linalg::CopyOp, linalg::FillOp>(op))
    return;
  SmallVector<Value> reduced;
  for (Value operand : op->getOperands())
    reduced.push_back(isa<MemRefType>(operand.getType())
                          ? withoutInnerUnits(builder, operand)
                          : operand);
  auto rank = [](Value value) {
    auto type = dyn_cast<MemRefType>(value.getType());
    return type ? type.getRank() : -1;
  };
  if (isa<linalg::CopyOp>(op) && rank(reduced[0]) != rank(reduced[1]))
    return;
  op->setOperands(reduced);
}

static void generalizeNamed(ModuleOp module) {
  SmallVector<linalg::LinalgOp> named;
  module.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp>(op))
      named.push_back(op);
  });
  IRRewriter rewriter(module.getContext());
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    dropInnerUnits(rewriter, op);
    (void)linalg::generalizeNamedOp(rewriter, op);
  }
}

void VectorizePass::runOnOperation() {
  if (vectorBits <= kSplitBits && !scalable)
    splitSearches(getOperation(), kShortestSearch);
  // What windows read of padded copies is known while these have their names.
  vectorizeGeneric();
  generalizeNamed(getOperation());
  vectorizeGeneric();
  getOperation().walk([](memref::AllocOp op) {
    if (op.use_empty())
      op.erase();
  });
  vectorizeLines(getOperation(), vectorBits, scalable);
  multiplyShares(getOperation());
  if (comparesMaxima)
    compareMaxima(getOperation());
  fenceExtensions(getOperation());
}

} // namespace backplane
