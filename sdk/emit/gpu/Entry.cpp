// SPDX-License-Identifier: Apache-2.0
//
// bp-to-gpu-entry: a bufferised dispatch becomes the code of one invocation.
// Parallel loops that do not depend on each other are spread over the
// invocations of all work-groups; what has an order is for work-groups that go
// from stage to stage (Sequence.h), or for one invocation. Buffers become
// linear. How to call it is left on the module as `bp.entry`.
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/gpu/Indices.h"
#include "sdk/emit/gpu/IterationCount.h"
#include "sdk/emit/gpu/Launch.h"
#include "sdk/emit/gpu/LinearBuffers.h"
#include "sdk/emit/gpu/Sequence.h"

#include "backplane/kernel.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "sdk/lower/Marks.h"

namespace backplane {
#define GEN_PASS_DEF_TOGPUENTRYPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

struct ToGpuEntryPass : backplane::impl::ToGpuEntryPassBase<ToGpuEntryPass> {
  void runOnOperation() override;
};

/// Rewrites one function.
struct GpuEntryBuilder {
  Dispatch dispatch;
  GpuTarget target;
  IRRewriter rewriter;
  Location loc;
  Dim items = Dim(0); ///< invocations that have something to do
  bool parallel = false;
  bool together = false; ///< work-groups go from stage to stage
  LinearBuffers buffers; ///< made last

  GpuEntryBuilder(const Dispatch &dispatch, const GpuTarget &target)
      : dispatch(dispatch), target(target),
        rewriter(func::FuncOp(dispatch.func).getContext()),
        loc(func::FuncOp(dispatch.func).getLoc()) {}

  func::FuncOp func() { return dispatch.func; }
  Block &body() { return func().getBody().front(); }
  LogicalResult run();
  bool countItems();
  Value group();
  Value groups();
  Value invocation(Value group);
  void spread(scf::ForallOp loop, Value id);
  void spreadAll();
  scf::ForallOp shareLongLines(scf::ForallOp loop, Value group);
  LogicalResult makeSequential();
  void shareSequence();
  void finish();
  DictionaryAttr describe();
};

} // namespace

/// Whether an iteration is the work of a work-group.
static bool isForGroups(scf::ForallOp loop) {
  std::optional<ArrayAttr> mapping = loop.getMapping();
  return mapping &&
         llvm::all_of(*mapping, llvm::IsaPred<gpu::GPUBlockMappingAttr>) &&
         !mapping->empty();
}

/// The number of iterations of all top parallel loops together, when nothing
/// else is done and none reads what another writes.
bool GpuEntryBuilder::countItems() {
  for (Operation &op : body().without_terminator()) {
    auto loop = dyn_cast<scf::ForallOp>(op);
    if (!loop) {
      if (!isMemoryEffectFree(&op))
        return false;
      continue;
    }
    if (!loop.isNormalized())
      return false;
    Dim count(isForGroups(loop) ? target.groupSize : 1);
    for (OpFoldResult size : loop.getMixedUpperBound()) {
      auto dim = indexDim(dispatch, size);
      if (!dim)
        return false;
      count = count * *dim;
    }
    items = max(items, count);
  }
  // Loops of one function write to different results.
  WalkResult reads = func().walk([&](memref::LoadOp load) {
    auto buffer = dyn_cast<BlockArgument>(load.getMemRef());
    bool result = buffer && buffer.getOwner() == &body() &&
                  dispatch.isOutput(buffer.getArgNumber());
    return result ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !reads.wasInterrupted();
}

/// The number of this work-group among all.
Value GpuEntryBuilder::group() {
  rewriter.setInsertionPointToStart(&body());
  auto id = [&](gpu::Dimension axis) -> Value {
    return gpu::BlockIdOp::create(rewriter, loc, axis);
  };
  Value group = id(gpu::Dimension::x);
  Value line = gpu::GridDimOp::create(rewriter, loc, gpu::Dimension::x);
  line = arith::MulIOp::create(rewriter, loc, id(gpu::Dimension::y), line);
  return arith::AddIOp::create(rewriter, loc, group, line);
}

/// The number of all work-groups.
Value GpuEntryBuilder::groups() {
  Value x = gpu::GridDimOp::create(rewriter, loc, gpu::Dimension::x);
  Value y = gpu::GridDimOp::create(rewriter, loc, gpu::Dimension::y);
  return arith::MulIOp::create(rewriter, loc, x, y);
}

/// The number of this invocation among all.
Value GpuEntryBuilder::invocation(Value group) {
  Value size = arith::ConstantIndexOp::create(rewriter, loc, target.groupSize);
  Value first = arith::MulIOp::create(rewriter, loc, group, size);
  Value own = gpu::ThreadIdOp::create(rewriter, loc, gpu::Dimension::x);
  return arith::AddIOp::create(rewriter, loc, first, own);
}

/// One iteration for the invocation of its number.
void GpuEntryBuilder::spread(scf::ForallOp loop, Value id) {
  rewriter.setInsertionPoint(loop);
  SmallVector<OpFoldResult> sizes = loop.getMixedUpperBound();
  Value count = arith::ConstantIndexOp::create(rewriter, loc, 1);
  for (OpFoldResult size : sizes)
    count = rewriter.createOrFold<arith::MulIOp>(
        loc, count, getValueOrCreateConstantIndexOp(rewriter, loc, size));
  // Unsigned: the last work-groups reach beyond every signed size.
  Value inside = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult,
                                       id, count);
  auto branch = scf::IfOp::create(rewriter, loc, inside);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> at{id};
  if (sizes.size() > 1) {
    auto split = affine::AffineDelinearizeIndexOp::create(
        rewriter, loc, id, sizes, /*hasOuterBound=*/true);
    at.assign(split.getResults().begin(), split.getResults().end());
  }
  rewriter.eraseOp(loop.getBody()->getTerminator());
  rewriter.inlineBlockBefore(loop.getBody(),
                             branch.thenBlock()->getTerminator(), at);
  rewriter.eraseOp(loop);
}

/// Elements that may take an invocation too long are for several, if so; the
/// loop that comes back is for those that do not.
scf::ForallOp GpuEntryBuilder::shareLongLines(scf::ForallOp loop, Value group) {
  if (isForGroups(loop) || !mayHaveLongLines(loop))
    return loop;
  Dim count(1);
  for (OpFoldResult size : loop.getMixedUpperBound())
    count = count * *indexDim(dispatch, size);
  items = max(items, min(count, Dim(kFewLines)) * Dim(maxMembers(target)));
  rewriter.setInsertionPoint(loop);
  auto copy = cast<scf::ForallOp>(rewriter.clone(*loop));
  SmallVector<Operation *> loops;
  if (failed(scf::forallToForLoop(rewriter, loop, &loops)))
    return copy;
  for (Operation *each : loops)
    each->setAttr(bp::lower::independentMark, rewriter.getUnitAttr());
  rewriter.setInsertionPoint(copy);
  Block *otherwise = emitLongLines(loops.front(), target, group, groups());
  copy->moveBefore(otherwise->getTerminator());
  return copy;
}

void GpuEntryBuilder::spreadAll() {
  Value ofGroup = group(), own = invocation(ofGroup);
  for (auto loop : llvm::make_early_inc_range(func().getOps<scf::ForallOp>())) {
    scf::ForallOp shorter = shareLongLines(loop, ofGroup);
    spread(shorter, isForGroups(shorter) ? ofGroup : own);
  }
}

LogicalResult GpuEntryBuilder::makeSequential() {
  items = Dim(1);
  WalkResult result = func().walk([&](scf::ForallOp op) {
    rewriter.setInsertionPoint(op);
    SmallVector<Operation *> loops;
    if (failed(scf::forallToForLoop(rewriter, op, &loops)))
      return WalkResult::interrupt();
    for (Operation *loop : loops)
      loop->setAttr(bp::lower::independentMark, rewriter.getUnitAttr());
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void GpuEntryBuilder::shareSequence() {
  auto sequence = findSequence(dispatch, target);
  if (!sequence)
    return;
  together = true;
  items = sequence->items;
  Value own = group();
  emitSequence(*sequence, own, groups());
}

DictionaryAttr GpuEntryBuilder::describe() {
  int64_t size = parallel || together ? target.groupSize : 1;
  Dim groups = ceilDiv(items, Dim(size));
  Dim grid[3] = {min(groups, Dim(target.gridWidth)),
                 ceilDiv(groups, Dim(target.gridWidth)), Dim(1)};
  SmallVector<Attribute> axes, access;
  for (const Dim &axis : grid)
    axes.push_back(rewriter.getStringAttr(axis.str()));
  for (unsigned i = 0; i < dispatch.bindings(); ++i)
    access.push_back(rewriter.getI64IntegerAttr(
        dispatch.isOutput(i) ? BP_ACCESS_WRITE : BP_ACCESS_READ));
  auto named = [&](StringRef name, Attribute value) {
    return rewriter.getNamedAttr(name, value);
  };
  // Buffers by which invocations of a work-group hand on results.
  auto coherent = rewriter.getBoolAttr(together);
  SmallVector<NamedAttribute> all = {
      named("coherent", coherent),
      named("name", func().getSymNameAttr()),
      named("grid", rewriter.getArrayAttr(axes)),
      named("workspace", rewriter.getStringAttr(buffers.workspace.str())),
      named("workgroup", rewriter.getI64ArrayAttr({size, 1, 1})),
      named("access", rewriter.getArrayAttr(access)),
      named("constants",
            rewriter.getI64IntegerAttr(int64_t(dispatch.symbols.size())))};
  if (int64_t shared = dynamicBytes(func()))
    all.push_back(named("shared", rewriter.getI64IntegerAttr(shared)));
  return rewriter.getDictionaryAttr(all);
}

void GpuEntryBuilder::finish() {
  func()->getParentOfType<ModuleOp>()->setAttr(bp::entryAttr, describe());
  if (dispatch.hasError) {
    unsigned number = dispatch.bindings() + dispatch.symbols.size();
    body().getArgument(number).setType(
        MemRefType::get({ShapedType::kDynamic}, rewriter.getI32Type()));
    buffers.bindings[number] = dispatch.bindings();
  }
  for (StringRef name : {bp::inputsAttr, bp::outputsAttr, bp::symbolsAttr,
                         bp::errorAttr, bp::groupThreadsAttr})
    func()->removeAttr(name);
  func().removeArgAttrsAttr();
  func().setType(rewriter.getFunctionType(body().getArgumentTypes(), {}));
  for (auto [argument, binding] : buffers.bindings)
    func().setArgAttr(argument, bp::bindingAttr,
                      rewriter.getI64IntegerAttr(binding));
}

/// Moves what a bound is made of in front of the branches and loops around it,
/// as far as it is known there.
static void hoistBound(Value bound) {
  Operation *op = bound.getDefiningOp();
  if (!op || !isPure(op))
    return;
  for (Value operand : op->getOperands())
    hoistBound(operand);
  while (isa<scf::IfOp, scf::ForOp, scf::ForallOp>(op->getParentOp()) &&
         llvm::none_of(op->getOperands(), [&](Value operand) {
           return op->getParentOp()->isAncestor(
               operand.getParentBlock()->getParentOp());
         }))
    op->moveBefore(op->getParentOp());
}

static void hoistBounds(Operation *root) {
  root->walk([](scf::ForOp loop) {
    hoistBound(loop.getLowerBound());
    hoistBound(loop.getUpperBound());
  });
}

LogicalResult GpuEntryBuilder::run() {
  hoistBounds(func());
  parallel = countItems();
  if (parallel) {
    spreadAll();
  } else if (failed(makeSequential())) {
    return failure();
  } else {
    shareSequence();
  }
  auto made = makeLinear(rewriter, dispatch, target,
                         parallel   ? BufferUsers::Parallel
                         : together ? BufferUsers::Sequence
                                    : BufferUsers::One);
  if (failed(made))
    return failure();
  buffers = std::move(*made);
  finish();
  return success();
}

/// Several iterations of innermost loops at once: a GPU pays for each
/// iteration, and some software devices end a shader after 65535 of them.
static void unrollLoops(ModuleOp module) {
  SmallVector<std::pair<scf::ForOp, uint64_t>> loops;
  module.walk([&](scf::ForOp loop) {
    if (uint64_t factor = iterationsAtOnce(loop); factor > 1)
      loops.push_back({loop, factor});
  });
  for (auto [loop, factor] : loops)
    (void)loopUnrollByFactor(loop, factor);
  hoistBounds(module);
}

/// A temporary that is copied to a destination which nothing else uses is that
/// destination.
static void useDestinations(ModuleOp module) {
  SmallVector<linalg::CopyOp> copies;
  module.walk([&](linalg::CopyOp op) { copies.push_back(op); });
  for (linalg::CopyOp op : copies) {
    auto from = op.getInputs()[0].getDefiningOp<memref::AllocOp>();
    auto to = dyn_cast<BlockArgument>(op.getOutputs()[0]);
    bool alone = to && llvm::all_of(to.getUsers(), [&](Operation *user) {
                   return user == op || isa<memref::DimOp>(user);
                 });
    if (!from || !alone || from.getType() != to.getType() ||
        op->getBlock() != to.getOwner())
      continue;
    op.erase();
    from.replaceAllUsesWith(Value(to));
    from.erase();
  }
}

void ToGpuEntryPass::runOnOperation() {
  ModuleOp module = getOperation();
  useDestinations(module);
  OpPassManager loops("builtin.module");
  loops.addPass(createConvertLinalgToParallelLoopsPass());
  loops.addPass(memref::createFoldMemRefAliasOpsPass());
  loops.addPass(createCanonicalizerPass());
  loops.addPass(createCSEPass());
  if (failed(runPipeline(loops, module)))
    return signalPassFailure();
  useIndependentLoops(module);
  auto dispatches = findDispatches(module);
  if (failed(dispatches))
    return signalPassFailure();
  if (dispatches->size() != 1) {
    module.emitError("expected one dispatch, found ") << dispatches->size();
    return signalPassFailure();
  }
  FailureOr<GpuTarget> target = readGpuTarget(module);
  if (failed(target))
    return signalPassFailure();
  target->groupSize = threadsOf(dispatches->front().func, *target);
  if (failed(GpuEntryBuilder(dispatches->front(), *target).run()))
    return signalPassFailure();
  // Equal sizes are one value before indices are expanded.
  OpPassManager merge("builtin.module"), clean("builtin.module");
  merge.addPass(createCSEPass());
  if (failed(runPipeline(merge, module)))
    return signalPassFailure();
  expandIndices(module);
  clean.addPass(createLowerAffinePass());
  clean.addPass(createCanonicalizerPass());
  clean.addPass(createLoopInvariantCodeMotionPass());
  clean.addPass(createCSEPass());
  if (failed(runPipeline(clean, module)))
    return signalPassFailure();
  unrollLoops(module);
}

} // namespace backplane
