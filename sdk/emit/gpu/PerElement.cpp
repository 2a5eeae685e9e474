// SPDX-License-Identifier: Apache-2.0
//
// bp-per-element: a dispatch becomes one parallel loop for each shape among its
// results, whose iterations compute one element of each from the inputs alone.
// Nothing is kept in between. A dispatch with sequential loops is left alone.
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/gpu/Contiguous.h"
#include "sdk/emit/gpu/ElementReader.h"
#include "sdk/emit/gpu/ElementResults.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace backplane {
#define GEN_PASS_DEF_PERELEMENTPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

struct PerElementPass : backplane::impl::PerElementPassBase<PerElementPass> {
  void runOnOperation() override;
};

using Written = bufferization::MaterializeInDestinationOp;

/// So many elements keep a device busy with a quarter of the invocations.
constexpr int64_t kLargeResult = 4096;

} // namespace

static bool isSequential(func::FuncOp func) {
  return !func.getOps<scf::ForOp>().empty() ||
         !func.getOps<scf::ForallOp>().empty();
}

/// The sizes of a buffer as values, one of rank 0 has a single element.
static SmallVector<OpFoldResult> extents(OpBuilder &builder, Value buffer) {
  SmallVector<OpFoldResult> sizes =
      memref::getMixedSizes(builder, buffer.getLoc(), buffer);
  if (sizes.empty())
    sizes.push_back(builder.getIndexAttr(1));
  return sizes;
}

/// Whether two results have the same sizes, by number or by text.
static bool haveSameSizes(const Dispatch &dispatch, Written a, Written b) {
  auto number = [](Written result) {
    return cast<BlockArgument>(result.getDest()).getArgNumber();
  };
  auto x = cast<MemRefType>(a.getDest().getType());
  auto y = cast<MemRefType>(b.getDest().getType());
  if (x.getShape() != y.getShape())
    return false;
  func::FuncOp func = dispatch.func;
  return x.hasStaticShape() || func.getArgAttr(number(a), bp::dimsAttr) ==
                                   func.getArgAttr(number(b), bp::dimsAttr);
}

/// Whether an invocation does well to compute four elements of each.
static bool takeVec4(ArrayRef<Written> results) {
  Written first = results.front();
  auto type = cast<MemRefType>(first.getDest().getType());
  if (type.getRank() == 0 || !isOfVec4(type.getShape().back()))
    return false;
  bool large = !type.hasStaticShape() || type.getNumElements() >= kLargeResult;
  return large && llvm::all_of(results, [](Written result) {
           Type element = getElementTypeOrSelf(result.getSource().getType());
           return element.getIntOrFloatBitWidth() == 32 &&
                  areContiguous(result.getSource()) &&
                  isShort(result.getSource());
         });
}

/// The indices of the elements that an iteration computes, neighbours along
/// the last axis.
static SmallVector<SmallVector<Value>>
elementsAt(OpBuilder &builder, scf::ForallOp loop, int64_t count) {
  Location loc = loop.getLoc();
  SmallVector<SmallVector<Value>> elements{loop.getInductionVars()};
  if (count == 1)
    return elements;
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value &last = elements.front().back();
  last = arith::MulIOp::create(builder, loc, last, index(count));
  for (int64_t i = 1; i < count; ++i) {
    elements.push_back(elements.front());
    elements.back().back() =
        arith::AddIOp::create(builder, loc, elements.front().back(), index(i));
  }
  return elements;
}

/// Reads all elements before it stores one, so that neighbours can be read, and
/// stored, together.
static LogicalResult storeElements(OpBuilder &builder, ElementReader &reader,
                                   ArrayRef<Written> results,
                                   ArrayRef<SmallVector<Value>> points) {
  SmallVector<Value> elements;
  for (Written result : results)
    for (ArrayRef<Value> at : points) {
      auto type = cast<MemRefType>(result.getDest().getType());
      elements.push_back(
          reader.read(result.getSource(), at.take_front(type.getRank())));
      if (!elements.back())
        return failure();
    }
  auto next = elements.begin();
  for (Written result : results)
    for (ArrayRef<Value> at : points) {
      auto type = cast<MemRefType>(result.getDest().getType());
      memref::StoreOp::create(builder, result.getLoc(), *next++,
                              result.getDest(), at.take_front(type.getRank()));
    }
  return success();
}

LogicalResult computeResults(OpBuilder &builder, ArrayRef<Written> results) {
  Written first = results.front();
  Location loc = first.getLoc();
  SmallVector<OpFoldResult> sizes = extents(builder, first.getDest());
  int64_t count = takeVec4(results) ? kVec4 : 1;
  if (count > 1)
    sizes.back() =
        builder.getIndexAttr(*getConstantIntValue(sizes.back()) / count);
  auto loop = scf::ForallOp::create(builder, loc, sizes, ValueRange(), {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getTerminator());
  ElementReader reader(builder);
  auto points = elementsAt(builder, loop, count);
  return storeElements(builder, reader, results, points);
}

/// Ops that report bad data do so for all their elements, whichever of them
/// the results need.
static LogicalResult reportAll(OpBuilder &builder, linalg::GenericOp op) {
  ElementReader outside(builder);
  SmallVector<OpFoldResult> sizes = getAsOpFoldResult(outside.loopSizes(op));
  if (sizes.empty())
    sizes.push_back(builder.getIndexAttr(1));
  auto loop =
      scf::ForallOp::create(builder, op.getLoc(), sizes, ValueRange(), {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getTerminator());
  ElementReader reader(builder);
  SmallVector<Value> at = loop.getInductionVars();
  at.resize(op.getNumLoops());
  SmallVector<Value> outputs;
  for (Value init : op.getDpsInits()) {
    Type type = getElementTypeOrSelf(init.getType());
    outputs.push_back(arith::ConstantOp::create(
        builder, op.getLoc(), cast<TypedAttr>(builder.getZeroAttr(type))));
  }
  return LogicalResult(reader.runBody(op, at, outputs));
}

/// Removes what was computed on tensors: ops that report are not dead by
/// themselves.
static void eraseTensors(func::FuncOp func) {
  SmallVector<Operation *> ops;
  for (Operation &op : func.getBody().front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isa<Written>(op) || (isa<linalg::LinalgOp>(op) && op->use_empty()) ||
        isOpTriviallyDead(op))
      op->erase();
}

static LogicalResult compute(const Dispatch &dispatch) {
  func::FuncOp func = dispatch.func;
  if (failed(generaliseOps(func)))
    return failure();
  SmallVector<SmallVector<Written>> groups;
  for (auto result : func.getOps<Written>()) {
    auto same = llvm::find_if(groups, [&](ArrayRef<Written> group) {
      return haveSameSizes(dispatch, group.front(), result);
    });
    if (same == groups.end())
      groups.push_back({result});
    else
      same->push_back(result);
  }
  OpBuilder builder(func.getBody().front().getTerminator());
  for (auto op : llvm::to_vector(func.getOps<linalg::GenericOp>()))
    if (!isMemoryEffectFree(op) &&
        !llvm::all_of(op->getUsers(), llvm::IsaPred<Written>) &&
        failed(reportAll(builder, op)))
      return failure();
  for (ArrayRef<Written> group : groups)
    if (failed(computeResults(builder, group)))
      return failure();
  eraseTensors(func);
  return success();
}

void PerElementPass::runOnOperation() {
  auto dispatches = findDispatches(getOperation());
  if (failed(dispatches))
    return signalPassFailure();
  SmallVector<func::FuncOp> computed;
  for (const Dispatch &dispatch : *dispatches) {
    if (isSequential(dispatch.func))
      continue;
    if (failed(compute(dispatch)))
      return signalPassFailure();
    computed.push_back(dispatch.func);
  }
  OpPassManager clean("builtin.module");
  addCleanup(clean);
  if (failed(runPipeline(clean, getOperation())))
    return signalPassFailure();
  for (func::FuncOp func : computed)
    eraseTensors(func);
}

} // namespace backplane
