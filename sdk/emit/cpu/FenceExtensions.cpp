// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/FenceExtensions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace backplane {

static bool isNarrowed(Operation *user) {
  return isa<arith::CmpFOp, arith::NegFOp, math::AbsFOp>(user);
}

void fenceExtensions(ModuleOp module) {
  module.walk([](arith::ExtFOp op) {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getRank() != 1 || !type.getElementType().isF32() ||
        llvm::none_of(op->getUsers(), isNarrowed))
      return;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto fence = LLVM::CallIntrinsicOp::create(
        builder, op.getLoc(), op.getType(),
        builder.getStringAttr("llvm.arithmetic.fence"),
        ValueRange(op.getResult()));
    op.getResult().replaceAllUsesExcept(fence.getResult(0), fence);
  });
}

} // namespace backplane
