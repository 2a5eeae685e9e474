// SPDX-License-Identifier: Apache-2.0
//
// bp-gpu-reduce: a dispatch with few but long sums, or minima and the like,
// becomes a parallel loop of work-groups, one for each sum: every invocation
// takes a share, and their partial sums meet in memory of the work-group,
// always in the same order. Other dispatches are left alone.
#include "sdk/emit/Dispatch.h"
#include "sdk/emit/GpuGroups.h"
#include "sdk/emit/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace backplane {
namespace {

/// Sums of fewer elements are for one invocation.
constexpr int64_t kLongSum = 512;
/// So few sums leave a device idle, however their elements lie.
constexpr int64_t kFewSums = 64;
/// Partial sums that one invocation adds up.
constexpr int64_t kShares = 16;

struct GpuReducePass : PassWrapper<GpuReducePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GpuReducePass)
  GpuReducePass() = default;
  GpuReducePass(const GpuReducePass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "bp-gpu-reduce"; }
  StringRef getDescription() const override {
    return "long sums and the like to work-groups";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect, gpu::GPUDialect,
                    memref::MemRefDialect, scf::SCFDialect,
                    tensor::TensorDialect>();
  }
  void runOnOperation() override;

  Option<int64_t> mostSums{
      *this, "most-sums",
      llvm::cl::desc("dispatches with more sums are left alone"),
      llvm::cl::init(kFewSums)};
};

struct Reduction {
  GroupSums sums;
  Operation *combiner; ///< of a sum and a term, in the body
  unsigned sumOperand; ///< which of its operands is the sum
  llvm::SmallVector<unsigned> rows, k;
  int64_t count; ///< of elements in a sum
};

struct Emitter {
  ImplicitLocOpBuilder b;
  ElementReader reader;
  Reduction &r;
  GroupLoops loops;
  Value thread, memory;
  SmallVector<Value> at;

  Emitter(OpBuilder &builder, Reduction &r)
      : b(r.sums.op.getLoc(), builder), reader(b), r(r), loops{b, {}} {}

  LogicalResult run();
  void enterGroup();
  Value addShare();
  Value addElement(Value number, Value sum);
  void fillBranch(Block *block, function_ref<Value()> make, bool &failed);
  Value choose(Value condition, function_ref<Value()> yes, Value otherwise);
  Value addRange(Value first, int64_t count);
  Value meet();
  scf::IfOp onlyBelow(int64_t count);
};

} // namespace

/// Whether partial results of an op that start with `init` may be combined.
static bool startsAnywhere(Operation *combiner, Attribute init) {
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxSIOp, arith::MinSIOp,
          arith::MaxUIOp, arith::MinUIOp, arith::AndIOp, arith::OrIOp>(
          combiner))
    return true;
  if (isa<arith::AddFOp, arith::AddIOp, arith::XOrIOp>(combiner))
    return matchPattern(init, m_AnyZeroFloat()) || matchPattern(init, m_Zero());
  return isa<arith::MulFOp, arith::MulIOp>(combiner) &&
         (matchPattern(init, m_OneFloat()) || matchPattern(init, m_One()));
}

static bool findCombiner(Reduction &r) {
  Block &body = *r.sums.op.getBody();
  Value sum = body.getArguments().back();
  r.combiner = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!r.combiner || r.combiner->getBlock() != &body ||
      r.combiner->getNumOperands() != 2 || !sum.hasOneUse() ||
      *sum.user_begin() != r.combiner)
    return false;
  r.sumOperand = sum.use_begin()->getOperandNumber();
  return startsAnywhere(r.combiner, r.sums.init);
}

/// Whether neighbours in a sum are neighbours in memory: of the input with
/// most axes, the last one belongs to the sum alone.
static bool sumsNeighbours(Reduction &r) {
  AffineMap widest;
  for (OpOperand *input : r.sums.op.getDpsInputOperands()) {
    AffineMap map = r.sums.op.getMatchingIndexingMap(input);
    if (!widest || map.getNumResults() > widest.getNumResults())
      widest = map;
  }
  if (!widest || widest.getNumResults() == 0)
    return false;
  AffineExpr last = widest.getResults().back();
  auto has = [&](unsigned loop) { return last.isFunctionOfDim(loop); };
  return llvm::any_of(r.k, has) && llvm::none_of(r.rows, has);
}

static std::optional<Reduction> match(func::FuncOp func, int64_t mostSums) {
  auto sums = findSums(func);
  if (!sums)
    return std::nullopt;
  Reduction r{*sums, nullptr, 0, {}, {}, 0};
  AffineMap result = r.sums.op.getIndexingMapsArray().back();
  for (AffineExpr expr : result.getResults())
    r.rows.push_back(cast<AffineDimExpr>(expr).getPosition());
  for (unsigned loop = 0; loop < r.sums.op.getNumLoops(); ++loop)
    if (!result.isFunctionOfDim(loop))
      r.k.push_back(loop);
  auto sizes = r.sums.op.getStaticLoopRanges();
  r.count = sizeOf(sizes, r.k);
  int64_t rows = sizeOf(sizes, r.rows);
  if (ShapedType::isDynamic(rows) || rows > mostSums)
    return std::nullopt;
  if (ShapedType::isDynamic(r.count) || r.count < kLongSum ||
      !findCombiner(r) || (rows > kFewSums && !sumsNeighbours(r)))
    return std::nullopt;
  return r;
}

/// What follows is for invocations whose number is below `count`.
scf::IfOp Emitter::onlyBelow(int64_t count) {
  Value chosen = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, thread,
                                       loops.index(count));
  auto branch = scf::IfOp::create(b, chosen);
  b.setInsertionPointToStart(branch.thenBlock());
  return branch;
}

void Emitter::enterGroup() {
  loops.sizes = reader.loopSizes(r.sums.op);
  Value row = loops.enter(loops.product(r.rows)).front();
  thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  at.assign(loops.sizes.size(), loops.index(0));
  loops.split(row, r.rows, at);
  memory =
      loops.share(kGroupSize + kGroupSize / kShares, r.sums.init.getType());
}

/// One element more. Null after a diagnostic.
Value Emitter::addElement(Value number, Value sum) {
  ElementReader::Scope scope(reader);
  SmallVector<Value> indices = at;
  loops.split(number, r.k, indices);
  auto values = reader.runBody(r.sums.op, indices, sum);
  return failed(values) ? Value() : values->front();
}

/// The code of one of two branches, which gives a value or null.
void Emitter::fillBranch(Block *block, function_ref<Value()> make,
                         bool &failed) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(block);
  Value value = make();
  failed |= !value;
  if (value)
    scf::YieldOp::create(b, value);
}

Value Emitter::choose(Value condition, function_ref<Value()> yes,
                      Value otherwise) {
  auto branch = scf::IfOp::create(b, otherwise.getType(), condition, true);
  bool failed = false;
  fillBranch(branch.thenBlock(), yes, failed);
  fillBranch(branch.elseBlock(), [&] { return otherwise; }, failed);
  return failed ? Value() : branch.getResult(0);
}

/// What this invocation adds up: every 128th element. All take the
/// same turns; a rest is left for some.
Value Emitter::addShare() {
  Value start = arith::ConstantOp::create(b, r.sums.init);
  int64_t turns = r.count / kGroupSize;
  auto loop = scf::ForOp::create(b, loops.index(0), loops.index(turns),
                                 loops.index(1), start);
  auto number = [&](Value turn) -> Value {
    Value first = arith::MulIOp::create(b, turn, loops.index(kGroupSize));
    return arith::AddIOp::create(b, first, thread);
  };
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value sum = addElement(number(loop.getInductionVar()),
                           loop.getRegionIterArgs().front());
    if (!sum)
      return {};
    scf::YieldOp::create(b, sum);
  }
  Value sum = loop.getResult(0), rest = number(loops.index(turns));
  if (r.count % kGroupSize == 0)
    return sum;
  Value more = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, rest,
                                     loops.index(r.count));
  return choose(more, [&] { return addElement(rest, sum); }, sum);
}

/// The sum of neighbours in the memory of the work-group.
Value Emitter::addRange(Value first, int64_t count) {
  Value start = memref::LoadOp::create(b, memory, first);
  auto loop = scf::ForOp::create(b, loops.index(1), loops.index(count),
                                 loops.index(1), start);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value next = arith::AddIOp::create(b, first, loop.getInductionVar());
  IRMapping map;
  map.map(r.combiner->getOperand(r.sumOperand),
          loop.getRegionIterArgs().front());
  map.map(r.combiner->getOperand(1 - r.sumOperand),
          memref::LoadOp::create(b, memory, next));
  scf::YieldOp::create(b, b.clone(*r.combiner, map)->getResults());
  return loop.getResult(0);
}

/// The whole sum, for the first invocation: what follows is for it alone.
Value Emitter::meet() {
  gpu::BarrierOp::create(b);
  int64_t parts = kGroupSize / kShares;
  scf::IfOp some = onlyBelow(parts);
  Value first = arith::MulIOp::create(b, thread, loops.index(kShares));
  Value part = addRange(first, kShares);
  Value place = arith::AddIOp::create(b, thread, loops.index(kGroupSize));
  memref::StoreOp::create(b, part, memory, place);
  b.setInsertionPointAfter(some);
  gpu::BarrierOp::create(b);
  onlyBelow(1);
  return addRange(loops.index(kGroupSize), parts);
}

LogicalResult Emitter::run() {
  enterGroup();
  Value own = addShare();
  if (!own)
    return failure();
  memref::StoreOp::create(b, own, memory, thread);
  Value sum = meet();
  return storeResults(b, reader, r.sums, at, sum);
}

static LogicalResult reduce(func::FuncOp func, int64_t mostSums) {
  auto reduction = match(func, mostSums);
  if (!reduction)
    return success();
  OpBuilder builder(func.getBody().front().getTerminator());
  if (failed(generaliseOps(func)) || failed(Emitter(builder, *reduction).run()))
    return failure();
  return finishResults(func, reduction->sums);
}

void GpuReducePass::runOnOperation() {
  for (auto func : getOperation().getOps<func::FuncOp>())
    if (func->hasAttr("bp.inputs") && failed(reduce(func, mostSums)))
      return signalPassFailure();
  // The tensor form is dead now.
  OpPassManager clean("builtin.module");
  addCleanup(clean);
  if (failed(runPipeline(clean, getOperation())))
    signalPassFailure();
}

std::unique_ptr<Pass> createGpuReducePass() {
  return std::make_unique<GpuReducePass>();
}

} // namespace backplane
