// SPDX-License-Identifier: Apache-2.0
//
// bp-to-cpu-entry: a bufferised dispatch becomes a function with the signature
// of bp_cpu_entry_t. The one parallel loop around its work becomes the grid,
// allocations become ranges of the worker's workspace. How to call it is left
// on the module as `bp.entry`.
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"

#include "backplane/kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Pass/Pass.h"
#include "sdk/lower/DimToIndex.h"

namespace backplane {
#define GEN_PASS_DEF_TOCPUENTRYPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

struct ToCpuEntryPass : backplane::impl::ToCpuEntryPassBase<ToCpuEntryPass> {
  void runOnOperation() override;
};

/// Rewrites one function.
struct EntryBuilder {
  Dispatch dispatch;
  IRRewriter rewriter;
  Location loc;
  Value call;     // !llvm.ptr to bp_cpu_call_t
  Value group[3]; // work-group ids as index
  Dim grid[3] = {Dim(1), Dim(1), Dim(1)};
  Dim workspace = Dim(0);
  SmallVector<Value> symbols;

  explicit EntryBuilder(const Dispatch &dispatch)
      : dispatch(dispatch), rewriter(func::FuncOp(dispatch.func).getContext()),
        loc(func::FuncOp(dispatch.func).getLoc()) {}

  LogicalResult run();
  scf::ForallOp findGroups();
  std::optional<SmallVector<Dim>> groupCounts(scf::ForallOp forall);
  void addEntryArguments();
  void distribute(scf::ForallOp forall, ArrayRef<Dim> counts);
  SmallVector<Value> groupIds(ArrayRef<Value> counts);
  LogicalResult planAllocations();
  LogicalResult bindArguments();
  FailureOr<Value> bindMemref(unsigned number, Value base);
  Value field(int64_t byteOffset);
  Value bytesAt(Value pointer);
  Value indexConstant(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  DictionaryAttr describe();
};

} // namespace

/// The parallel loop whose iterations are the work-groups: the only op of the
/// function with effects, but for memory of which each group has its own.
scf::ForallOp EntryBuilder::findGroups() {
  scf::ForallOp found;
  for (Operation &op : dispatch.func.getBody().front().without_terminator()) {
    auto forall = dyn_cast<scf::ForallOp>(op);
    if (forall && !found)
      found = forall;
    else if (hasOuterEffects(op))
      return nullptr;
  }
  return found;
}

std::optional<SmallVector<Dim>>
EntryBuilder::groupCounts(scf::ForallOp forall) {
  SmallVector<Dim> counts;
  for (auto [low, high, step] :
       llvm::zip(forall.getMixedLowerBound(), forall.getMixedUpperBound(),
                 forall.getMixedStep())) {
    auto a = indexDim(dispatch, low), b = indexDim(dispatch, high),
         c = indexDim(dispatch, step);
    if (!a || !b || !c)
      return std::nullopt;
    counts.push_back(ceilDiv(*b - *a, *c));
  }
  return counts;
}

void EntryBuilder::addEntryArguments() {
  Block &body = dispatch.func.getBody().front();
  auto pointer = LLVM::LLVMPointerType::get(rewriter.getContext());
  call = body.addArgument(pointer, loc);
  rewriter.setInsertionPointToStart(&body);
  for (Value &id : group) {
    Value word = body.addArgument(rewriter.getI32Type(), loc);
    id = arith::IndexCastUIOp::create(rewriter, loc, rewriter.getIndexType(),
                                      word);
  }
}

/// Work-group ids of each loop: x runs over the last loop, y over the one
/// before, z over the product of the rest.
SmallVector<Value> EntryBuilder::groupIds(ArrayRef<Value> counts) {
  SmallVector<Value> ids(counts.size());
  Value rest = group[2];
  for (size_t i = 0; i < counts.size(); ++i) {
    size_t loop = counts.size() - 1 - i;
    if (i < 2) {
      ids[loop] = group[i];
    } else if (loop == 0) {
      ids[loop] = rest;
    } else {
      ids[loop] = arith::RemUIOp::create(rewriter, loc, rest, counts[loop]);
      rest = arith::DivUIOp::create(rewriter, loc, rest, counts[loop]);
    }
  }
  return ids;
}

void EntryBuilder::distribute(scf::ForallOp forall, ArrayRef<Dim> counts) {
  for (size_t i = 0; i < counts.size(); ++i) {
    Dim &axis = grid[std::min<size_t>(i, 2)];
    axis = axis * counts[counts.size() - 1 - i];
  }
  rewriter.setInsertionPoint(forall);
  auto lows = getValueOrCreateConstantIndexOp(rewriter, loc,
                                              forall.getMixedLowerBound());
  auto highs = getValueOrCreateConstantIndexOp(rewriter, loc,
                                               forall.getMixedUpperBound());
  auto steps =
      getValueOrCreateConstantIndexOp(rewriter, loc, forall.getMixedStep());
  SmallVector<Value> countValues;
  for (auto [low, high, step] : llvm::zip(lows, highs, steps)) {
    Value span = arith::SubIOp::create(rewriter, loc, high, low);
    Value less = arith::SubIOp::create(rewriter, loc, step, indexConstant(1));
    Value sum = arith::AddIOp::create(rewriter, loc, span, less);
    countValues.push_back(arith::DivUIOp::create(rewriter, loc, sum, step));
  }
  SmallVector<Value> ivs = groupIds(countValues);
  for (auto [iv, low, step] : llvm::zip(ivs, lows, steps)) {
    iv = arith::MulIOp::create(rewriter, loc, iv, step);
    iv = arith::AddIOp::create(rewriter, loc, iv, low);
  }
  rewriter.eraseOp(forall.getBody()->getTerminator());
  rewriter.inlineBlockBefore(forall.getBody(), forall, ivs);
  rewriter.eraseOp(forall);
}

/// The pointer field of the call record at `byteOffset`.
Value EntryBuilder::field(int64_t byteOffset) {
  auto pointer = LLVM::LLVMPointerType::get(rewriter.getContext());
  Value address = LLVM::GEPOp::create(
      rewriter, loc, pointer, rewriter.getI8Type(), call,
      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(byteOffset))});
  return LLVM::LoadOp::create(rewriter, loc, pointer, address, 8);
}

/// A pointer as memref<?xi8> of unlimited size.
Value EntryBuilder::bytesAt(Value pointer) {
  Type i64 = rewriter.getI64Type();
  auto array = LLVM::LLVMArrayType::get(i64, 1);
  auto type = LLVM::LLVMStructType::getLiteral(
      rewriter.getContext(),
      {pointer.getType(), pointer.getType(), i64, array, array});
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(rewriter, loc, i64,
                                    rewriter.getI64IntegerAttr(value));
  };
  Value result = LLVM::PoisonOp::create(rewriter, loc, type);
  auto insert = [&](Value value, ArrayRef<int64_t> position) {
    result =
        LLVM::InsertValueOp::create(rewriter, loc, result, value, position);
  };
  insert(pointer, {0});
  insert(pointer, {1});
  insert(constant(0), {2});
  insert(constant(INT64_MAX), {3, 0});
  insert(constant(1), {4, 0});
  auto bytes = MemRefType::get({ShapedType::kDynamic}, rewriter.getI8Type());
  return UnrealizedConversionCastOp::create(rewriter, loc, bytes, result)
      .getResult(0);
}

FailureOr<Value> EntryBuilder::bindMemref(unsigned number, Value base) {
  auto type = cast<MemRefType>(dispatch.func.getArgument(number).getType());
  bp::DimToIndex text;
  for (auto [name, value] : llvm::zip(dispatch.symbols, symbols))
    text.bind(name, value);
  SmallVector<Value> sizes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (!type.isDynamicDim(axis))
      continue;
    FailureOr<Dim> dim = argumentDim(dispatch, number, axis);
    if (failed(dim))
      return failure();
    auto value = text.materialize(rewriter, loc, dim->str());
    if (failed(value))
      return failure();
    sizes.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, *value));
  }
  return memref::ViewOp::create(rewriter, loc, type, base, indexConstant(0),
                                sizes)
      .getResult();
}

LogicalResult EntryBuilder::bindArguments() {
  Block &body = dispatch.func.getBody().front();
  rewriter.setInsertionPointToStart(&body);
  auto pointer = LLVM::LLVMPointerType::get(rewriter.getContext());
  Value constants = field(offsetof(bp_cpu_call_t, constants));
  for (auto [i, name] : llvm::enumerate(dispatch.symbols)) {
    Value address = LLVM::GEPOp::create(
        rewriter, loc, pointer, rewriter.getI32Type(), constants,
        ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(i))});
    Value word =
        LLVM::LoadOp::create(rewriter, loc, rewriter.getI32Type(), address);
    symbols.push_back(arith::IndexCastUIOp::create(
        rewriter, loc, rewriter.getIndexType(), word));
  }
  Value bindings = field(offsetof(bp_cpu_call_t, bindings));
  for (unsigned i = 0; i < dispatch.bindings(); ++i) {
    Value address =
        LLVM::GEPOp::create(rewriter, loc, pointer, pointer, bindings,
                            ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(i))});
    Value base = LLVM::LoadOp::create(rewriter, loc, pointer, address);
    FailureOr<Value> view = bindMemref(i, bytesAt(base));
    if (failed(view))
      return failure();
    body.getArgument(i).replaceAllUsesWith(*view);
  }
  unsigned next = dispatch.bindings();
  for (Value symbol : symbols)
    body.getArgument(next++).replaceAllUsesWith(symbol);
  if (dispatch.hasError) {
    Value error = bytesAt(field(offsetof(bp_cpu_call_t, error)));
    Value view = memref::ViewOp::create(
        rewriter, loc, cast<MemRefType>(body.getArgument(next).getType()),
        error, indexConstant(0), ValueRange());
    body.getArgument(next++).replaceAllUsesWith(view);
  }
  body.eraseArguments(0, next);
  return success();
}

/// Gives each allocation its own range of the workspace.
LogicalResult EntryBuilder::planAllocations() {
  SmallVector<memref::AllocOp> allocations;
  dispatch.func.walk([&](memref::AllocOp op) { allocations.push_back(op); });
  dispatch.func.walk([&](memref::DeallocOp op) { op.erase(); });
  if (allocations.empty())
    return success();
  rewriter.setInsertionPointToStart(&dispatch.func.getBody().front());
  Value base = bytesAt(field(offsetof(bp_cpu_call_t, workspace)));
  bp::DimToIndex text;
  for (auto [i, name] : llvm::enumerate(dispatch.symbols))
    text.bind(name, dispatch.func.getArgument(dispatch.bindings() + i));
  for (memref::AllocOp op : allocations) {
    FailureOr<Dim> bytes = allocationBytes(dispatch, op);
    if (failed(bytes))
      return failure();
    rewriter.setInsertionPointAfter(base.getDefiningOp());
    auto offset = text.materialize(rewriter, loc, workspace.str());
    if (failed(offset))
      return failure();
    Value start = getValueOrCreateConstantIndexOp(rewriter, loc, *offset);
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<memref::ViewOp>(op, op.getType(), base, start,
                                                op.getDynamicSizes());
    workspace = workspace + *bytes;
  }
  return success();
}

DictionaryAttr EntryBuilder::describe() {
  SmallVector<Attribute> axes, access;
  for (const Dim &axis : grid)
    axes.push_back(rewriter.getStringAttr(axis.str()));
  for (unsigned i = 0; i < dispatch.bindings(); ++i)
    access.push_back(rewriter.getI64IntegerAttr(
        dispatch.isOutput(i) ? BP_ACCESS_WRITE : BP_ACCESS_READ));
  return rewriter.getDictionaryAttr(
      {rewriter.getNamedAttr("name", dispatch.func.getSymNameAttr()),
       rewriter.getNamedAttr("grid", rewriter.getArrayAttr(axes)),
       rewriter.getNamedAttr("workspace",
                             rewriter.getStringAttr(workspace.str())),
       rewriter.getNamedAttr("access", rewriter.getArrayAttr(access)),
       rewriter.getNamedAttr(
           "constants", rewriter.getI64IntegerAttr(dispatch.symbols.size()))});
}

LogicalResult EntryBuilder::run() {
  func::FuncOp func = dispatch.func;
  scf::ForallOp groups = findGroups();
  std::optional<SmallVector<Dim>> counts;
  if (groups)
    counts = groupCounts(groups);
  addEntryArguments();
  if (counts)
    distribute(groups, *counts);
  WalkResult sequential = func.walk([&](scf::ForallOp op) {
    rewriter.setInsertionPoint(op);
    return failed(scf::forallToForLoop(rewriter, op)) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
  });
  if (sequential.wasInterrupted() || failed(planAllocations()) ||
      failed(bindArguments()))
    return failure();
  func->getParentOfType<ModuleOp>()->setAttr(bp::entryAttr, describe());
  for (StringRef name :
       {bp::inputsAttr, bp::outputsAttr, bp::symbolsAttr, bp::errorAttr})
    func->removeAttr(name);
  func.removeArgAttrsAttr();
  func.setType(
      rewriter.getFunctionType(func.getBody().front().getArgumentTypes(), {}));
  return success();
}

void ToCpuEntryPass::runOnOperation() {
  auto dispatches = findDispatches(getOperation());
  if (failed(dispatches))
    return signalPassFailure();
  if (dispatches->size() != 1) {
    getOperation().emitError("expected one dispatch, found ")
        << dispatches->size();
    return signalPassFailure();
  }
  if (failed(EntryBuilder(dispatches->front()).run()))
    signalPassFailure();
}

} // namespace backplane
