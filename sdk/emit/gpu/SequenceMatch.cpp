// SPDX-License-Identifier: Apache-2.0
//
// The stages of a dispatch, and who can do them.
#include "sdk/emit/gpu/Sequence.h"

#include "sdk/lower/Marks.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace backplane;

bool backplane::writes(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        auto effects = dyn_cast<MemoryEffectOpInterface>(inner);
        bool known =
            effects ? !effects.hasEffect<MemoryEffects::Write>()
                    : inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
        return known ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

namespace {

/// Turns of a loop whose size is not known.
constexpr double kUnknownIterations = 32768;
/// Invocations for a line at first; a long one leaves the others idle.
constexpr int64_t kShareOfLine = 4;

bool isIndependent(scf::ForOp loop) {
  return loop->hasAttr(bp::lower::independentMark);
}

/// Whether members can hand on what a loop carries.
bool canHandOn(scf::ForOp loop) {
  return llvm::all_of(loop.getResultTypes(), [](Type type) {
    return type.isIntOrIndex() || type.isF32() || type.isF64();
  });
}

bool startsAtZero(scf::ForOp loop) {
  return isZeroInteger(loop.getLowerBound()) && isOneInteger(loop.getStep());
}

/// Turns that are known before the code is; a size that is not is long.
double iterationsOf(Operation *op) {
  double iterations = 0;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    auto known = loop.getStaticTripCount();
    for (Operation &inner : *loop.getBody())
      iterations += iterationsOf(&inner);
    return (1 + iterations) *
           (known ? double(known->getZExtValue()) : kUnknownIterations);
  }
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      iterations += iterationsOf(&inner);
  return iterations;
}

double iterationsOf(const GpuStage &stage) {
  double iterations = 1;
  for (Operation *op : stage.ops)
    iterations += iterationsOf(op);
  for (scf::ForOp loop : stage.ordered) {
    auto known = loop.getStaticTripCount();
    iterations *= known ? double(known->getZExtValue()) : kUnknownIterations;
  }
  return iterations;
}

/// The loop that is all there is in the body of another.
scf::ForOp onlyLoop(scf::ForOp loop) {
  auto ops = loop.getBody()->without_terminator();
  return llvm::hasSingleElement(ops) ? dyn_cast<scf::ForOp>(*ops.begin())
                                     : scf::ForOp();
}

/// Whether the ops of a line can be done by members: what they make is known
/// to all, or written by one.
bool canShare(const GpuStage &stage) {
  if (!stage.isLong)
    return true;
  return llvm::all_of(stage.ops, [](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return startsAtZero(loop) && canHandOn(loop);
    return op->getNumResults() == 0 || !writes(op);
  });
}

} // namespace

GpuStage backplane::findNest(Operation *op) {
  GpuStage stage{op, {}, {}, {op}};
  auto isOutside = [&](Value bound) {
    return !op->isAncestor(bound.getParentBlock()->getParentOp());
  };
  for (auto loop = dyn_cast<scf::ForOp>(op);
       loop && loop->getNumResults() == 0 && startsAtZero(loop) &&
       isOutside(loop.getUpperBound());
       loop = onlyLoop(loop)) {
    (isIndependent(loop) ? stage.lines : stage.ordered).push_back(loop);
    stage.ops.clear();
    for (Operation &inner : loop.getBody()->without_terminator())
      stage.ops.push_back(&inner);
  }
  stage.isLong = iterationsOf(stage) >= stage.iterations;
  return stage;
}

static void makeIndependent(scf::ParallelOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  SmallVector<Value> at;
  for (auto [from, to, step] :
       llvm::zip(op.getLowerBound(), op.getUpperBound(), op.getStep())) {
    auto loop = scf::ForOp::create(b, from, to, step);
    loop->setAttr(bp::lower::independentMark, b.getUnitAttr());
    at.push_back(loop.getInductionVar());
    b.setInsertionPoint(loop.getBody()->getTerminator());
  }
  IRRewriter rewriter(b);
  rewriter.eraseOp(op.getBody()->getTerminator());
  rewriter.inlineBlockBefore(op.getBody(), b.getInsertionBlock(),
                             b.getInsertionPoint(), at);
  rewriter.eraseOp(op);
}

void backplane::useIndependentLoops(ModuleOp module) {
  SmallVector<scf::ParallelOp> loops;
  module.walk([&](scf::ParallelOp op) {
    if (op.getInitVals().empty())
      loops.push_back(op);
  });
  for (scf::ParallelOp op : loops)
    makeIndependent(op);
}

/// One invocation may have a part of every stage: each stage has its share of
/// the iterations.
static void shareIterations(MutableArrayRef<GpuStage> stages) {
  for (GpuStage &stage : stages) {
    GpuStage shared = stage;
    shared.iterations /= double(stages.size());
    shared.isLong = iterationsOf(shared) >= shared.iterations;
    if (canShare(shared))
      stage = shared;
  }
}

/// The stages, none when there is an op that is neither one nor free.
static std::optional<SmallVector<GpuStage>> findStages(func::FuncOp func) {
  SmallVector<GpuStage> stages;
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (isa<scf::ForallOp>(op))
      return std::nullopt;
    if (isa<memref::AllocOp, memref::DeallocOp>(op) ||
        (!isa<scf::ForOp>(op) && !writes(&op)))
      continue;
    if (!op.use_empty())
      return std::nullopt;
    stages.push_back(findNest(&op));
    if (!canShare(stages.back()))
      return std::nullopt;
  }
  shareIterations(stages);
  return stages;
}

/// All of a dispatch as one line, whose loops may make values for others.
static std::optional<GpuStage> findLine(func::FuncOp func) {
  GpuStage stage{nullptr, {}, {}, {}};
  auto isInLine = [&](Value value) {
    return llvm::is_contained(stage.ops, value.getDefiningOp());
  };
  auto all =
      llvm::make_pointer_range(func.getBody().front().without_terminator());
  for (Operation *op : llvm::to_vector(all)) {
    if (isa<memref::AllocOp, memref::DeallocOp, scf::ForallOp>(op))
      return std::nullopt;
    bool begins = isa<scf::ForOp>(op) || writes(op);
    if (stage.ops.empty() && !begins)
      continue;
    if (isPure(op) && llvm::none_of(op->getOperands(), isInLine))
      op->moveBefore(stage.ops.front());
    else
      stage.ops.push_back(op);
  }
  if (stage.ops.empty())
    return std::nullopt;
  stage.op = stage.ops.front();
  stage.isLong = iterationsOf(stage) >= stage.iterations;
  if (!stage.isLong || !canShare(stage))
    return std::nullopt;
  return stage;
}

/// Temporaries of a line would be those of all lines.
static bool hasInnerTemporaries(func::FuncOp func) {
  return func
      .walk([&](memref::AllocOp op) {
        return op->getParentOp() == func ? WalkResult::advance()
                                         : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// One stage alone is for as many work-groups as its lines need.
static Dim countItems(const Dispatch &dispatch, const GpuTarget &target,
                      ArrayRef<GpuStage> stages) {
  if (stages.size() > 1)
    return Dim(target.groupSize);
  Dim count(stages.front().isLong ? kShareOfLine : 1);
  for (scf::ForOp loop : stages.front().lines) {
    auto size = indexDim(dispatch, loop.getUpperBound());
    if (!size)
      return Dim(target.groupSize);
    count = count * *size;
  }
  return count;
}

std::optional<GpuSequence> backplane::findSequence(const Dispatch &dispatch,
                                                   const GpuTarget &target) {
  auto stages = findStages(dispatch.func);
  if (!stages)
    if (auto line = findLine(dispatch.func))
      return GpuSequence{target, {*line}, Dim(target.groupSize)};
  if (!stages || hasInnerTemporaries(dispatch.func))
    return std::nullopt;
  bool gains = llvm::any_of(*stages, [](const GpuStage &stage) {
    return stage.isLong || !stage.lines.empty();
  });
  if (!gains)
    return std::nullopt;
  return GpuSequence{target, *stages, countItems(dispatch, target, *stages)};
}

bool backplane::mayHaveLongLines(scf::ForallOp loop) {
  GpuStage stage{loop, {}, {}, {}};
  for (Operation &op : loop.getBody()->without_terminator())
    stage.ops.push_back(&op);
  stage.isLong = iterationsOf(stage) >= stage.iterations;
  bool shares = llvm::any_of(stage.ops, llvm::IsaPred<scf::ForOp>);
  loop.walk([&](memref::AllocOp) { shares = false; });
  return shares && stage.isLong && canShare(stage);
}
