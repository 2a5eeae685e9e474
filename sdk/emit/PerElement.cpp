// SPDX-License-Identifier: Apache-2.0
//
// bp-per-element: a dispatch becomes one parallel loop for each shape among its
// results, whose iterations compute one element of each from the inputs alone.
// Nothing is kept in between. A dispatch with sequential loops is left alone.
#include "sdk/emit/Dispatch.h"
#include "sdk/emit/ElementReader.h"
#include "sdk/emit/ElementResults.h"
#include "sdk/emit/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace backplane {
namespace {

struct PerElementPass : PassWrapper<PerElementPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PerElementPass)
  StringRef getArgument() const override { return "bp-per-element"; }
  StringRef getDescription() const override {
    return "a dispatch to parallel loops that compute an element each";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect,
                    memref::MemRefDialect, scf::SCFDialect,
                    tensor::TensorDialect>();
  }
  void runOnOperation() override;
};

using Written = bufferization::MaterializeInDestinationOp;

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
  return x.hasStaticShape() || func.getArgAttr(number(a), "bp.dims") ==
                                   func.getArgAttr(number(b), "bp.dims");
}

LogicalResult computeResults(OpBuilder &builder, ArrayRef<Written> results) {
  Written first = results.front();
  Location loc = first.getLoc();
  auto loop = scf::ForallOp::create(
      builder, loc, extents(builder, first.getDest()), ValueRange(), {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getTerminator());
  ElementReader reader(builder);
  for (Written result : results) {
    auto type = cast<MemRefType>(result.getDest().getType());
    SmallVector<Value> at = loop.getInductionVars();
    at.resize(type.getRank());
    Value element = reader.read(result.getSource(), at);
    if (!element)
      return failure();
    memref::StoreOp::create(builder, loc, element, result.getDest(), at);
  }
  return success();
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

std::unique_ptr<Pass> createPerElementPass() {
  return std::make_unique<PerElementPass>();
}

} // namespace backplane
