// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/spirv/Matrices.h"

#include "mlir/Conversion/GPUToSPIRV/GPUToSPIRV.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace backplane;

bool backplane::usesMatrices(Operation *code) {
  return code
      ->walk([](gpu::SubgroupMmaComputeOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

namespace {

/// Buffers here are arrays, which MLIR's own patterns do not expect.
Value addressOf(ConversionPatternRewriter &rewriter, Location loc, Value memory,
                ValueRange indices) {
  return spirv::AccessChainOp::create(rewriter, loc, memory, indices);
}

Value strideOf(ConversionPatternRewriter &rewriter, Location loc,
               const llvm::APInt &distance) {
  return spirv::ConstantOp::create(
      rewriter, loc, rewriter.getI32Type(),
      rewriter.getI32IntegerAttr(int32_t(distance.getSExtValue())));
}

spirv::CooperativeMatrixLayoutKHR layoutOf(bool transposed) {
  return transposed ? spirv::CooperativeMatrixLayoutKHR::ColumnMajor
                    : spirv::CooperativeMatrixLayoutKHR::RowMajor;
}

struct ConvertLoad : OpConversionPattern<gpu::SubgroupMmaLoadMatrixOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(gpu::SubgroupMmaLoadMatrixOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = getTypeConverter()->convertType(op.getType());
    if (!type)
      return failure();
    rewriter.replaceOpWithNewOp<spirv::KHRCooperativeMatrixLoadOp>(
        op, type,
        addressOf(rewriter, loc, adaptor.getSrcMemref(), adaptor.getIndices()),
        layoutOf(op.getTranspose().value_or(false)),
        strideOf(rewriter, loc, op.getLeadDimension()),
        spirv::MemoryAccessAttr(), IntegerAttr());
    return success();
  }
};

struct ConvertStore : OpConversionPattern<gpu::SubgroupMmaStoreMatrixOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(gpu::SubgroupMmaStoreMatrixOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    rewriter.replaceOpWithNewOp<spirv::KHRCooperativeMatrixStoreOp>(
        op,
        addressOf(rewriter, loc, adaptor.getDstMemref(), adaptor.getIndices()),
        adaptor.getSrc(), layoutOf(op.getTranspose().value_or(false)),
        strideOf(rewriter, loc, op.getLeadDimension()),
        spirv::MemoryAccessAttr(), IntegerAttr());
    return success();
  }
};

/// Marks an access to memory of the work-group.
template <typename Op>
void markAccess(Operation *op, Value (*pointerOf)(Op), StringRef name) {
  auto access = dyn_cast<Op>(op);
  if (!access)
    return;
  auto pointer = cast<spirv::PointerType>(pointerOf(access).getType());
  if (pointer.getStorageClass() == spirv::StorageClass::Workgroup)
    op->setAttr(name,
                spirv::MemoryAccessAttr::get(
                    op->getContext(), spirv::MemoryAccess::NonPrivatePointer));
}

} // namespace

void backplane::addMatrixTypes(SPIRVTypeConverter &types) {
  populateMMAToSPIRVCoopMatrixTypeConversion(types);
}

void backplane::addMatrixPatterns(const SPIRVTypeConverter &types,
                                  RewritePatternSet &patterns) {
  populateGpuWMMAToSPIRVCoopMatrixKHRConversionPatterns(types, patterns);
  patterns.add<ConvertLoad, ConvertStore>(types, patterns.getContext(),
                                          /*benefit=*/10);
}

void backplane::shareGroupMemory(spirv::FuncOp entry) {
  entry.walk([](Operation *op) {
    auto pointerOf = [](auto access) -> Value { return access.getPtr(); };
    auto matrixAt = [](auto access) -> Value { return access.getPointer(); };
    markAccess<spirv::LoadOp>(op, pointerOf, "memory_access");
    markAccess<spirv::StoreOp>(op, pointerOf, "memory_access");
    markAccess<spirv::KHRCooperativeMatrixLoadOp>(op, matrixAt,
                                                  "memory_operand");
    markAccess<spirv::KHRCooperativeMatrixStoreOp>(op, matrixAt,
                                                   "memory_operand");
    if (auto barrier = dyn_cast<spirv::ControlBarrierOp>(op))
      barrier.setMemorySemantics(barrier.getMemorySemantics() |
                                 spirv::MemorySemantics::MakeAvailable |
                                 spirv::MemorySemantics::MakeVisible);
  });
}
