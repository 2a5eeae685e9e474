// SPDX-License-Identifier: Apache-2.0
//
// Weights of transposed convolutions that are numbers throughout are marked, so
// that their lowering may multiply zeros.
#include "sdk/layout/Layout.h"

#include "sdk/dialect/Convert.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <cstring>
#include <span>

using namespace mlir;
using namespace bp;

namespace {

template <typename Word>
bool hasNoFullExponent(std::span<const uint8_t> bytes, Word exponent) {
  for (size_t i = 0; i + sizeof(Word) <= bytes.size(); i += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + i, sizeof(word));
    if ((word & exponent) == exponent)
      return false;
  }
  return true;
}

/// Whether all elements are finite; false for other dtypes than these.
bool areFinite(Type element, std::span<const uint8_t> bytes) {
  if (element.isF32())
    return hasNoFullExponent<uint32_t>(bytes, 0x7f800000);
  if (element.isF16())
    return hasNoFullExponent<uint16_t>(bytes, 0x7c00);
  if (element.isBF16())
    return hasNoFullExponent<uint16_t>(bytes, 0x7f80);
  return element.isF64() &&
         hasNoFullExponent<uint64_t>(bytes, 0x7ff0000000000000);
}

/// Looks through ops that only arrange elements.
bool isFinite(Value value, const backplane::WeightPool &pool) {
  while (isa_and_nonnull<ReshapeOp, TransposeOp, BroadcastOp, ReverseOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    auto elements = dyn_cast<DenseFPElementsAttr>(constant.getValue());
    return elements &&
           llvm::all_of(elements.getValues<APFloat>(),
                        [](const APFloat &x) { return x.isFinite(); });
  }
  auto weight = value.getDefiningOp<WeightOp>();
  const backplane::Weight *found =
      weight ? pool.find(std::string_view(weight.getId())) : nullptr;
  return found && areFinite(getElementTypeOrSelf(value.getType()), found->data);
}

} // namespace

void bp::markFiniteWeights(func::FuncOp main,
                           const backplane::WeightPool &pool) {
  for (auto op : main.getOps<ConvTransposeOp>())
    if (!op->hasAttr(kernelAttr) && isFinite(op.getW(), pool))
      op.setFiniteWeight(true);
}
