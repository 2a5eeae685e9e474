// SPDX-License-Identifier: Apache-2.0
//
// bp-distribute-loops: what bp-distribute left as one work-group, as it is no
// linalg op or several. Work is cut where iterations do not meet: a nest of
// independent loops by its outermost one, copies by their rows.
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/cpu/LineLanes.h"
#include "sdk/emit/cpu/TileSizes.h"
#include "sdk/lower/Marks.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Pass/Pass.h"

namespace backplane {
#define GEN_PASS_DEF_DISTRIBUTELOOPSPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

/// Work of a group, in elementary operations on single elements or vectors, and
/// in bytes that are copied: some ten microseconds.
constexpr double kGroupWork = 1 << 15, kGroupBytes = 1 << 17;
/// Lines that are lanes have work-groups of so many, or a multiple.
constexpr int64_t kLanes = 64;
/// Groups of copies whose sizes are known at run time only.
constexpr int64_t kUnknownGroups = 16;

struct DistributeLoopsPass
    : backplane::impl::DistributeLoopsPassBase<DistributeLoopsPass> {
  void runOnOperation() override;
};

} // namespace

static double countOf(scf::ForOp loop) {
  std::optional<APInt> known = loop.getStaticTripCount();
  return double(known ? known->getSExtValue() : kUnknownSize);
}

static double workOf(Block &body);

static double workOf(Operation &op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    double each = 1 + workOf(*loop.getBody());
    return countOf(loop) * (areLanes(loop) ? each / 8 : each);
  }
  double work = 1;
  for (Region &region : op.getRegions())
    for (Block &block : region)
      work += workOf(block) / double(op.getNumRegions());
  return work;
}

static double workOf(Block &body) {
  double work = 0;
  for (Operation &op : body.without_terminator())
    work += workOf(op);
  return work;
}

/// Iterations of a work-group; 0: all of them.
static int64_t chooseLines(scf::ForOp loop) {
  double all = workOf(*loop), count = countOf(loop);
  auto lines =
      std::max<int64_t>(1, int64_t(kGroupWork * count / std::max(1.0, all)));
  if (areLanes(loop))
    lines = (lines + kLanes - 1) / kLanes * kLanes;
  return loop.getStaticTripCount() && double(lines) >= count ? 0 : lines;
}

/// The loop over work-groups, of `step` iterations each.
static scf::ForallOp makeGroups(OpBuilder &builder, Location loc,
                                OpFoldResult count, int64_t step) {
  OpFoldResult low = builder.getIndexAttr(0), each = builder.getIndexAttr(step);
  auto groups = scf::ForallOp::create(builder, loc, {low}, {count}, {each},
                                      ValueRange(), std::nullopt);
  builder.setInsertionPointToStart(groups.getBody());
  return groups;
}

static void distributeLoop(scf::ForOp loop) {
  int64_t lines = chooseLines(loop);
  if (lines == 0 || !isZeroInteger(loop.getLowerBound()) ||
      !isOneInteger(loop.getStep()))
    return;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  scf::ForallOp groups =
      makeGroups(builder, loc, getAsOpFoldResult(loop.getUpperBound()), lines);
  Value first = groups.getInductionVar(0);
  Value size = arith::ConstantIndexOp::create(builder, loc, lines);
  Value end = arith::MinUIOp::create(
      builder, loc, arith::AddIOp::create(builder, loc, first, size),
      loop.getUpperBound());
  loop->moveBefore(groups.getBody()->getTerminator());
  loop.getLowerBoundMutable().assign(first);
  loop.getUpperBoundMutable().assign(end);
}

/// Whether no copy writes where another one does, and none reads what one
/// writes: each goes from an input to a part of an output.
static bool areApart(ArrayRef<linalg::CopyOp> copies) {
  SmallVector<memref::SubViewOp> parts;
  for (linalg::CopyOp copy : copies) {
    auto part = copy.getOutputs()[0].getDefiningOp<memref::SubViewOp>();
    if (!part || !isa<BlockArgument>(part.getSource()) ||
        !isInput(copy.getInputs()[0]))
      return false;
    for (memref::SubViewOp other : parts) {
      FailureOr<bool> meet =
          other.getSource() == part.getSource()
              ? ValueBoundsConstraintSet::areOverlappingSlices(
                    part.getContext(), HyperrectangularSlice(other),
                    HyperrectangularSlice(part))
              : FailureOr<bool>(false);
      if (failed(meet) || *meet)
        return false;
    }
    parts.push_back(part);
  }
  return true;
}

/// The outermost axis that has several rows.
static unsigned rowAxis(MemRefType type) {
  for (unsigned axis = 0; axis < unsigned(type.getRank()); ++axis)
    if (type.getDimSize(axis) != 1)
      return axis;
  return 0;
}

static int64_t chooseGroups(ArrayRef<linalg::CopyOp> copies) {
  double bytes = 0;
  for (linalg::CopyOp copy : copies) {
    auto type = cast<MemRefType>(copy.getInputs()[0].getType());
    if (!type.hasStaticShape())
      return kUnknownGroups;
    bytes += double(type.getNumElements()) *
             double(type.getElementTypeBitWidth()) / 8;
  }
  return int64_t(bytes / kGroupBytes);
}

/// Part `number` of `groups` of a copy.
static void copyPart(OpBuilder &builder, linalg::CopyOp copy, Value number,
                     int64_t groups) {
  Location loc = copy.getLoc();
  auto type = cast<MemRefType>(copy.getInputs()[0].getType());
  unsigned axis = rowAxis(type);
  SmallVector<OpFoldResult> sizes =
      memref::getMixedSizes(builder, loc, copy.getInputs()[0]);
  MLIRContext *context = builder.getContext();
  AffineExpr part = getAffineDimExpr(0, context),
             rows = getAffineSymbolExpr(0, context);
  AffineExpr each = rows.ceilDiv(groups);
  auto first = affine::makeComposedFoldedAffineMin(
      builder, loc, AffineMap::get(1, 1, {part * each, rows}, context),
      {OpFoldResult(number), sizes[axis]});
  auto count = affine::makeComposedFoldedAffineMin(
      builder, loc, AffineMap::get(1, 1, {each, rows - part}, context),
      {first, sizes[axis]});
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      steps(sizes.size(), builder.getIndexAttr(1));
  offsets[axis] = first;
  sizes[axis] = count;
  auto partOf = [&](Value memory) -> Value {
    return memref::SubViewOp::create(builder, loc, memory, offsets, sizes,
                                     steps);
  };
  linalg::CopyOp::create(builder, loc, partOf(copy.getInputs()[0]),
                         partOf(copy.getOutputs()[0]));
}

static void distributeCopies(ArrayRef<linalg::CopyOp> copies) {
  int64_t groups = chooseGroups(copies);
  if (groups < 2 || !areApart(copies))
    return;
  linalg::CopyOp last = copies.back();
  OpBuilder builder(last);
  scf::ForallOp loop =
      makeGroups(builder, last.getLoc(), builder.getIndexAttr(groups), 1);
  for (linalg::CopyOp copy : copies) {
    copyPart(builder, copy, loop.getInductionVar(0), groups);
    copy.erase();
  }
}

static void distribute(func::FuncOp func) {
  SmallVector<Operation *> work;
  SmallVector<linalg::CopyOp> copies;
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (hasOuterEffects(op))
      work.push_back(&op);
    if (auto copy = dyn_cast<linalg::CopyOp>(op))
      copies.push_back(copy);
  }
  if (work.empty())
    return;
  if (auto loop = dyn_cast<scf::ForOp>(work.front());
      loop && work.size() == 1 && loop.getNumResults() == 0 &&
      loop->hasAttr(bp::lower::independentMark))
    distributeLoop(loop);
  else if (copies.size() == work.size())
    distributeCopies(copies);
}

void DistributeLoopsPass::runOnOperation() {
  for (auto func : getOperation().getOps<func::FuncOp>())
    if (func->hasAttr(bp::inputsAttr))
      distribute(func);
}

} // namespace backplane
