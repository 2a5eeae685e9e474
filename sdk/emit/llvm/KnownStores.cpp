// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/llvm/KnownStores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <bit>

using namespace mlir;

namespace backplane {

/// Bits of a vector whose masked stores are slow, and of its elements at least.
static constexpr int64_t kVectorBits = 256, kElementBits = 32;

/// How many lanes are stored, where that is known and all lie in front.
static std::optional<int64_t> knownLanes(vector::MaskedStoreOp store) {
  VectorType type = store.getVectorType();
  auto mask = store.getMask().getDefiningOp<vector::ConstantMaskOp>();
  if (!mask || type.getRank() != 1 || type.isScalable() ||
      !type.getElementType().isIntOrFloat())
    return std::nullopt;
  int64_t bits = type.getElementTypeBitWidth();
  int64_t lanes = mask.getMaskDimSizes()[0];
  // Of a vector that is truncated, LLVM 22 stores one lane under a mask as wide
  // as it was before, on processors with AVX-512: over its neighbours.
  bool slow = bits >= kElementBits && bits * type.getDimSize(0) == kVectorBits;
  return slow || lanes == 1 ? std::optional(lanes) : std::nullopt;
}

static void storePart(OpBuilder &builder, vector::MaskedStoreOp store,
                      int64_t first, int64_t lanes) {
  Location loc = store.getLoc();
  Value part = vector::ExtractStridedSliceOp::create(
      builder, loc, store.getValueToStore(), ArrayRef<int64_t>{first},
      ArrayRef<int64_t>{lanes}, ArrayRef<int64_t>{1});
  SmallVector<Value> at(store.getIndices());
  Value offset = arith::ConstantIndexOp::create(builder, loc, first);
  at.back() = builder.createOrFold<arith::AddIOp>(loc, at.back(), offset);
  vector::StoreOp::create(builder, loc, part, store.getBase(), at);
}

void storeKnownLanes(ModuleOp module) {
  module.walk([](vector::MaskedStoreOp store) {
    std::optional<int64_t> lanes = knownLanes(store);
    if (!lanes)
      return;
    OpBuilder builder(store);
    for (int64_t first = 0; first < *lanes;) {
      auto part = int64_t(std::bit_floor(uint64_t(*lanes - first)));
      storePart(builder, store, first, part);
      first += part;
    }
    store.erase();
  });
}

} // namespace backplane
