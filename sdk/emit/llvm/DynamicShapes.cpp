// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/llvm/DynamicShapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

static bool splitsDynamically(memref::ExpandShapeOp op) {
  return llvm::any_of(op.getReassociationIndices(), [&](const auto &group) {
    return llvm::count_if(group, [&](int64_t axis) {
             return op.getResultType().isDynamicDim(unsigned(axis));
           }) > 1;
  });
}

/// The strides of contiguous memory of these sizes.
static SmallVector<OpFoldResult> stridesOf(OpBuilder &builder, Location loc,
                                           ArrayRef<OpFoldResult> sizes) {
  SmallVector<OpFoldResult> strides(sizes.size(), builder.getIndexAttr(1));
  for (size_t i = sizes.size(); i-- > 1;) {
    auto a = getConstantIntValue(strides[i]), b = getConstantIntValue(sizes[i]);
    if (a && b) {
      strides[i - 1] = builder.getIndexAttr(*a * *b);
      continue;
    }
    auto value = [&](OpFoldResult size) {
      return getValueOrCreateConstantIndexOp(builder, loc, size);
    };
    strides[i - 1] =
        arith::MulIOp::create(builder, loc, value(strides[i]), value(sizes[i]))
            .getResult();
  }
  return strides;
}

LogicalResult backplane::splitDynamicShapes(ModuleOp module) {
  SmallVector<memref::ExpandShapeOp> found;
  module.walk([&](memref::ExpandShapeOp op) {
    if (splitsDynamically(op))
      found.push_back(op);
  });
  for (memref::ExpandShapeOp op : found) {
    if (!op.getSrcType().getLayout().isIdentity())
      return op.emitOpError("splits an axis of memory with strides into "
                            "several sizes that are not numbers");
    OpBuilder builder(op);
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
    Value view = memref::ReinterpretCastOp::create(
        builder, op.getLoc(), op.getResultType(), op.getSrc(),
        builder.getIndexAttr(0), sizes, stridesOf(builder, op.getLoc(), sizes));
    op.replaceAllUsesWith(view);
    op.erase();
  }
  return success();
}
