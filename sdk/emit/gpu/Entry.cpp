// SPDX-License-Identifier: Apache-2.0
//
// bp-to-gpu-entry: a bufferised dispatch becomes the code of one invocation.
// Parallel loops that do not depend on each other are spread over the
// invocations of all work-groups; what has an order is for work-groups that go
// from stage to stage (GpuSequence.h), or for one invocation. Buffers become
// lines of elements. How to call it is left on the module as `bp.entry`.
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/gpu/Groups.h"
#include "sdk/emit/gpu/IterationCount.h"
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
#include "sdk/lower/DimToIndex.h"
#include "sdk/lower/Marks.h"

#include <map>

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
  Dim workspace = Dim(0);
  bp::DimToIndex text;
  /// The number of the descriptor of each argument that is a buffer.
  std::map<unsigned, unsigned> buffers;

  GpuEntryBuilder(const Dispatch &dispatch, const GpuTarget &target)
      : dispatch(dispatch), target(target),
        rewriter(func::FuncOp(dispatch.func).getContext()),
        loc(func::FuncOp(dispatch.func).getLoc()) {
    for (auto [i, name] : llvm::enumerate(dispatch.symbols))
      text.bind(name, func().getArgument(dispatch.bindings() + i));
  }

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
  LogicalResult planAllocation(memref::AllocOp op);
  LogicalResult flatten(BlockArgument buffer);
  LogicalResult flattenTables();
  LogicalResult flattenUses(Value buffer, Value flat, Value offset,
                            ArrayRef<OpFoldResult> sizes);
  FailureOr<SmallVector<OpFoldResult>> sizesOf(BlockArgument buffer);
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

/// Memory that the invocations of a work-group share.
static bool isShared(memref::AllocOp op) {
  auto space =
      dyn_cast_or_null<gpu::AddressSpaceAttr>(op.getType().getMemorySpace());
  return space && space.getValue() == gpu::AddressSpace::Workgroup;
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

/// Small temporaries are the invocation's own, others a range of the
/// workspace, which is an argument for each.
LogicalResult GpuEntryBuilder::planAllocation(memref::AllocOp op) {
  MemRefType type = op.getType();
  FailureOr<Dim> bytes = allocationBytes(dispatch, op);
  if (failed(bytes))
    return failure();
  rewriter.setInsertionPoint(op);
  auto line = MemRefType::get({ShapedType::kDynamic}, type.getElementType());
  std::optional<int64_t> known = bytes->constant();
  if (!together && known && *known <= target.privateBytes &&
      type.hasStaticShape()) {
    rewriter.setInsertionPointToStart(&body());
    Value own = memref::AllocaOp::create(
        rewriter, loc,
        MemRefType::get({std::max<int64_t>(type.getNumElements(), 1)},
                        type.getElementType()));
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    if (failed(flattenUses(op, own, zero, op.getMixedSizes())))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
  if (parallel)
    return op.emitOpError("is memory of an invocation, and there is no more "
                          "than ")
           << target.privateBytes << " bytes";
  Value range = body().addArgument(line, loc);
  buffers[body().getNumArguments() - 1] = dispatch.bindings() + 1;
  int64_t unit = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  Dim first = floorDiv(workspace, Dim(unit));
  workspace = workspace + *bytes;
  auto offset = text.materialize(rewriter, loc, first.str());
  if (failed(offset))
    return failure();
  Value start = getValueOrCreateConstantIndexOp(rewriter, loc, *offset);
  if (failed(flattenUses(op, range, start, op.getMixedSizes())))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

/// Elements of a buffer by their number in it.
LogicalResult GpuEntryBuilder::flattenUses(Value buffer, Value flat,
                                           Value offset,
                                           ArrayRef<OpFoldResult> sizes) {
  auto place = [&](ValueRange at) {
    Value number = offset;
    if (!at.empty()) {
      Value inner = at.size() == 1
                        ? at.front()
                        : affine::AffineLinearizeIndexOp::create(
                              rewriter, loc, at, sizes, /*disjoint=*/true);
      number = rewriter.createOrFold<arith::AddIOp>(loc, inner, offset);
    }
    return number;
  };
  for (Operation *user : llvm::make_early_inc_range(buffer.getUsers())) {
    rewriter.setInsertionPoint(user);
    if (auto load = dyn_cast<memref::LoadOp>(user)) {
      rewriter.replaceOpWithNewOp<memref::LoadOp>(load, flat,
                                                  place(load.getIndices()));
    } else if (auto store = dyn_cast<memref::StoreOp>(user);
               store && store.getMemRef() == buffer) {
      rewriter.replaceOpWithNewOp<memref::StoreOp>(
          store, store.getValue(), flat, place(store.getIndices()));
    } else if (auto dim = dyn_cast<memref::DimOp>(user);
               dim && dim.getConstantIndex()) {
      rewriter.replaceOp(
          dim, getValueOrCreateConstantIndexOp(rewriter, loc,
                                               sizes[*dim.getConstantIndex()]));
    } else if (isa<memref::DeallocOp>(user)) {
      rewriter.eraseOp(user);
    } else {
      return user->emitOpError("is no access to single elements");
    }
  }
  return success();
}

FailureOr<SmallVector<OpFoldResult>>
GpuEntryBuilder::sizesOf(BlockArgument buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  rewriter.setInsertionPointToStart(&body());
  SmallVector<OpFoldResult> sizes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    FailureOr<Dim> dim = argumentDim(dispatch, buffer.getArgNumber(), axis);
    if (failed(dim))
      return failure();
    auto value = text.materialize(rewriter, loc, dim->str());
    if (failed(value))
      return failure();
    sizes.push_back(*value);
  }
  return sizes;
}

LogicalResult GpuEntryBuilder::flatten(BlockArgument buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  auto line = MemRefType::get({ShapedType::kDynamic}, type.getElementType());
  auto sizes = sizesOf(buffer);
  if (failed(sizes))
    return failure();
  unsigned number = buffer.getArgNumber();
  BlockArgument flat = body().insertArgument(number, line, loc);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  if (failed(flattenUses(body().getArgument(number + 1), flat, zero, *sizes)))
    return failure();
  body().eraseArgument(number + 1);
  return success();
}

/// Tables of constants, too, are lines.
LogicalResult GpuEntryBuilder::flattenTables() {
  for (auto table :
       func()->getParentOfType<ModuleOp>().getOps<memref::GlobalOp>()) {
    auto values =
        dyn_cast_or_null<DenseElementsAttr>(table.getInitialValueAttr());
    if (!values)
      return table.emitOpError("is no table of constants");
    int64_t count = values.getNumElements();
    Type element = values.getElementType();
    auto line = MemRefType::get({count}, element);
    table.setInitialValueAttr(
        values.reshape(RankedTensorType::get({count}, element)));
    table.setType(line);
    SmallVector<memref::GetGlobalOp> uses;
    func().walk([&](memref::GetGlobalOp op) {
      if (op.getName() == table.getSymName())
        uses.push_back(op);
    });
    for (memref::GetGlobalOp op : uses) {
      rewriter.setInsertionPointToStart(&body());
      Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
      Value flat =
          memref::GetGlobalOp::create(rewriter, loc, line, table.getSymName());
      if (failed(flattenUses(op, flat, zero,
                             memref::getMixedSizes(rewriter, loc, op))))
        return failure();
      rewriter.eraseOp(op);
    }
  }
  return success();
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
  return rewriter.getDictionaryAttr(
      {named("coherent", coherent), named("name", func().getSymNameAttr()),
       named("grid", rewriter.getArrayAttr(axes)),
       named("workspace", rewriter.getStringAttr(workspace.str())),
       named("workgroup", rewriter.getI64ArrayAttr({size, 1, 1})),
       named("access", rewriter.getArrayAttr(access)),
       named("constants",
             rewriter.getI64IntegerAttr(int64_t(dispatch.symbols.size())))});
}

void GpuEntryBuilder::finish() {
  func()->getParentOfType<ModuleOp>()->setAttr(bp::entryAttr, describe());
  if (dispatch.hasError) {
    unsigned number = dispatch.bindings() + dispatch.symbols.size();
    body().getArgument(number).setType(
        MemRefType::get({ShapedType::kDynamic}, rewriter.getI32Type()));
    buffers[number] = dispatch.bindings();
  }
  for (StringRef name :
       {bp::inputsAttr, bp::outputsAttr, bp::symbolsAttr, bp::errorAttr})
    func()->removeAttr(name);
  func().removeArgAttrsAttr();
  func().setType(rewriter.getFunctionType(body().getArgumentTypes(), {}));
  for (auto [argument, binding] : buffers)
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
  SmallVector<memref::AllocOp> allocations;
  func().walk([&](memref::AllocOp op) {
    if (!isShared(op))
      allocations.push_back(op);
  });
  for (memref::AllocOp op : allocations)
    if (failed(planAllocation(op)))
      return failure();
  if (failed(flattenTables()))
    return failure();
  for (unsigned i = 0; i < dispatch.bindings(); ++i) {
    if (failed(flatten(body().getArgument(i))))
      return failure();
    buffers[i] = i;
  }
  finish();
  return success();
}

namespace {

/// The last parts of an index, when they are those of one number, in their
/// order. The very last one may be taken times a factor, plus an offset.
struct SplitNumber {
  affine::AffineDelinearizeIndexOp split;
  int64_t factor = 1, offset = 0;

  size_t parts() { return split.getNumResults(); }
};

} // namespace

/// Takes `value + constant`, or `value * constant`, apart.
template <typename Op> static Value withoutConstant(Value value, int64_t &out) {
  auto op = value.getDefiningOp<Op>();
  std::optional<int64_t> known =
      op ? getConstantIntValue(op->getOperand(1)) : std::nullopt;
  if (!known)
    return value;
  out = *known;
  return op->getOperand(0);
}

static std::optional<SplitNumber>
findSplitNumber(affine::AffineLinearizeIndexOp op) {
  auto parts = op.getMultiIndex();
  if (parts.empty())
    return std::nullopt;
  SplitNumber number;
  Value last = withoutConstant<arith::AddIOp>(parts.back(), number.offset);
  last = withoutConstant<arith::MulIOp>(last, number.factor);
  number.split = last.getDefiningOp<affine::AffineDelinearizeIndexOp>();
  if (!number.split || number.parts() > parts.size())
    return std::nullopt;
  auto results = number.split.getResults();
  auto tail = parts.take_back(number.parts());
  if (results.back() != last ||
      !llvm::equal(results.drop_back(), tail.drop_back()))
    return std::nullopt;
  auto sizes = number.split.getPaddedBasis(), others = op.getPaddedBasis();
  auto have = ArrayRef(others).take_back(number.parts());
  // The size of the outermost axis does not matter.
  bool isAll = number.parts() == parts.size();
  for (size_t i = isAll ? 1 : 0; i < sizes.size(); ++i) {
    int64_t factor = i + 1 == sizes.size() ? number.factor : 1;
    auto size = getConstantIntValue(sizes[i]),
         other = getConstantIntValue(have[i]);
    bool same = size && other ? *size * factor == *other
                              : factor == 1 && sizes[i] && sizes[i] == have[i];
    if (!same || (!isAll && !other))
      return std::nullopt;
  }
  return number;
}

/// An index whose last parts are those of one number is made of the number.
static void joinParts(IRRewriter &rewriter, affine::AffineLinearizeIndexOp op) {
  auto found = findSplitNumber(op);
  if (!found)
    return;
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  Value number = rewriter.createOrFold<arith::MulIOp>(
      loc, found->split.getLinearIndex(), index(found->factor));
  number =
      rewriter.createOrFold<arith::AddIOp>(loc, number, index(found->offset));
  if (found->parts() == op.getMultiIndex().size())
    return rewriter.replaceOp(op, number);
  SmallVector<Value> parts(op.getMultiIndex().drop_back(found->parts()));
  SmallVector<OpFoldResult> sizes = op.getPaddedBasis();
  int64_t product = 1;
  for (OpFoldResult size : ArrayRef(sizes).take_back(found->parts()))
    product *= *getConstantIntValue(size);
  sizes.resize(parts.size());
  parts.push_back(number);
  sizes.push_back(rewriter.getIndexAttr(product));
  rewriter.replaceOpWithNewOp<affine::AffineLinearizeIndexOp>(
      op, parts, sizes, /*disjoint=*/true);
}

/// Numbers to indices and back, none of which are negative.
static void expandIndices(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  auto index = [&](Location loc, OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(rewriter, loc, value);
  };
  module.walk(
      [&](affine::AffineLinearizeIndexOp op) { joinParts(rewriter, op); });
  module.walk([&](affine::AffineDelinearizeIndexOp op) {
    rewriter.setInsertionPoint(op);
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> sizes = op.getPaddedBasis();
    SmallVector<Value> parts(sizes.size());
    Value rest = op.getLinearIndex();
    for (size_t i = sizes.size(); i-- > 1;) {
      Value size = index(loc, sizes[i]);
      parts[i] = arith::RemUIOp::create(rewriter, loc, rest, size);
      rest = arith::DivUIOp::create(rewriter, loc, rest, size);
    }
    parts[0] = rest;
    rewriter.replaceOp(op, parts);
  });
  module.walk([&](affine::AffineLinearizeIndexOp op) {
    rewriter.setInsertionPoint(op);
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> sizes = op.getPaddedBasis();
    Value number;
    for (auto [size, at] : llvm::zip(sizes, op.getMultiIndex())) {
      if (number)
        number = arith::MulIOp::create(rewriter, loc, number, index(loc, size));
      number =
          number ? Value(arith::AddIOp::create(rewriter, loc, number, at)) : at;
    }
    rewriter.replaceOp(op, number);
  });
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
  if (failed(target) ||
      failed(GpuEntryBuilder(dispatches->front(), *target).run()))
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
