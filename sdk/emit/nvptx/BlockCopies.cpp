// SPDX-License-Identifier: Apache-2.0
//
// The instructions are those of "cp.async.bulk.tensor" and "mbarrier" in
// NVIDIA's description of PTX.
#include "sdk/emit/nvptx/BlockCopies.h"
#include "sdk/emit/nvptx/MatrixValues.h"
#include "sdk/emit/nvptx/Patterns.h"
#include "sdk/emit/nvptx/TensorMaps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace backplane {
namespace {

using Builder = ImplicitLocOpBuilder;

struct TensorCopies : BlockCopies {
  void makeBarriers(Builder &b, ValueRange addresses) const override;
  void expect(Builder &b, Value barrier, int64_t bytes) const override;
  void copy(Builder &b, Value to, Value barrier, const TensorInBinding &tensor,
            ValueRange indices) const override;
  void wait(Builder &b, Value barrier, Value phase) const override;
};

} // namespace

/// One arrival ends a phase, once the bytes that it expects are there.
void TensorCopies::makeBarriers(Builder &b, ValueRange addresses) const {
  for (Value address : addresses)
    NVVM::MBarrierInitOp::create(b, pointerTo(b, address, nvptxShared),
                                 word(b, 1), Value());
  NVVM::FenceMbarrierInitOp::create(b);
}

void TensorCopies::expect(Builder &b, Value barrier, int64_t bytes) const {
  NVVM::MBarrierArriveExpectTxOp::create(
      b, TypeRange(), pointerTo(b, barrier, nvptxShared), word(b, bytes),
      NVVM::MemScopeKind::CTA, /*relaxed=*/false, Value());
}

void TensorCopies::copy(Builder &b, Value to, Value barrier,
                        const TensorInBinding &tensor,
                        ValueRange indices) const {
  SmallVector<Value> words;
  for (Value index : indices)
    words.push_back(arith::IndexCastOp::create(b, b.getI32Type(), index));
  // A work-group is a cluster of its own.
  Value place = LLVM::AddrSpaceCastOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), nvptxSharedCluster),
      pointerTo(b, to, nvptxShared));
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, place, tensorMap(b, tensor), words, pointerTo(b, barrier, nvptxShared),
      /*im2colOffsets=*/ValueRange(),
      /*multicastMask=*/Value(), /*l2CacheHint=*/Value(),
      NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
      /*group=*/NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}

/// The instruction waits for a while, and says whether the phase has ended.
void TensorCopies::wait(Builder &b, Value barrier, Value phase) const {
  Value address = arith::IndexCastUIOp::create(b, b.getI64Type(), barrier);
  Value parity = arith::IndexCastUIOp::create(b, b.getI32Type(), phase);
  LLVM::InlineAsmOp::create(
      b, b.getLoc(), TypeRange(), ValueRange{address, parity},
      "{ .reg .pred done; WAIT: "
      "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; "
      "@!done bra WAIT; }",
      "l,r,~{memory}", /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr(), ArrayAttr());
}

const BlockCopies &tensorCopies() {
  static const TensorCopies copies;
  return copies;
}

} // namespace backplane
