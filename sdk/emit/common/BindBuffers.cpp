// SPDX-License-Identifier: Apache-2.0
//
// bp-bind-buffers: the tensor arguments of a dispatch become dense memrefs, and
// each result is stated to be the contents of its destination. Nothing is
// copied: bufferization finds the results in place.
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/MergeOutputs.h"
#include "sdk/emit/common/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/Pass.h"

namespace backplane {
#define GEN_PASS_DEF_BINDBUFFERSPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

struct BindBuffersPass : backplane::impl::BindBuffersPassBase<BindBuffersPass> {
  void runOnOperation() override;
};

} // namespace

static void bindArgument(const Dispatch &dispatch, unsigned number,
                         OpBuilder &builder) {
  BlockArgument argument =
      func::FuncOp(dispatch.func).getBody().front().getArgument(number);
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (!type)
    return;
  argument.setType(MemRefType::get(type.getShape(), type.getElementType()));
  auto tensor = bufferization::ToTensorOp::create(
      builder, argument.getLoc(), type, argument, /*restrict=*/true,
      /*writable=*/dispatch.isOutput(number));
  argument.replaceAllUsesExcept(tensor.getResult(), tensor);
}

static LogicalResult bindFunction(const Dispatch &dispatch) {
  func::FuncOp func = dispatch.func;
  Block &body = func.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (unsigned i = 0; i < dispatch.bindings(); ++i)
    bindArgument(dispatch, i, builder);
  auto ret = cast<func::ReturnOp>(body.getTerminator());
  if (ret.getNumOperands() != dispatch.outputs)
    return func.emitOpError("returns ")
           << ret.getNumOperands() << " values for " << dispatch.outputs
           << " destinations";
  builder.setInsertionPoint(ret);
  for (auto [i, value] : llvm::enumerate(ret.getOperands()))
    bufferization::MaterializeInDestinationOp::create(
        builder, ret.getLoc(), Type(), value,
        body.getArgument(dispatch.inputs + i), /*restrict=*/true,
        /*writable=*/true);
  func::ReturnOp::create(builder, ret.getLoc());
  ret.erase();
  func.setType(builder.getFunctionType(body.getArgumentTypes(), {}));
  if (ArrayAttr attrs = func.getAllResultAttrs())
    func.removeResAttrsAttr();
  mergeElementwiseOutputs(func);
  return success();
}

void BindBuffersPass::runOnOperation() {
  auto dispatches = findDispatches(getOperation());
  if (failed(dispatches))
    return signalPassFailure();
  for (const Dispatch &dispatch : *dispatches)
    if (failed(bindFunction(dispatch)))
      return signalPassFailure();
}

} // namespace backplane
