// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/VnniPlan.h"

#include "sdk/emit/cpu/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace backplane {

/// Whether both operands are bytes of a memref, added up in i32.
static bool areBytes(const Contraction &c) {
  using Widening = ContractionOperand::Widening;
  return c.lhs.widening != Widening::None && c.rhs.widening != Widening::None &&
         isa<BlockArgument>(c.left) && isa<BlockArgument>(c.right) &&
         c.accumulator.isInteger(32);
}

/// Whether an instruction multiplies bytes of these signs.
static bool multipliesBytes(const Contraction &c,
                            const NarrowProducts &products) {
  bool sameSign = c.lhs.widening == c.rhs.widening;
  return sameSign ? products.has("dot")
                  : products.has("usdot") || products.has("dpbusd");
}

/// Whether both operands are bf16 of a memref, added up in f32.
static bool areBrainFloats(const Contraction &c) {
  auto widened = [](Value operand) {
    auto op = operand.getDefiningOp<arith::ExtFOp>();
    return op && isa<BlockArgument>(op.getIn()) &&
           op.getIn().getType().isBF16();
  };
  return c.accumulator.isF32() && widened(c.left) && widened(c.right);
}

bool multipliesPairs(const VnniPlan &vnni) {
  return vnni.narrow && vnni.narrow.isInteger(16);
}

/// Whether bytes are multiplied in tile registers: A lies in no blocks, more
/// rows than the few for which packing B takes longest, and half of the depth
/// of a register or more.
static bool takesTiles(const Contraction &c, const NarrowProducts &products,
                       int64_t m, int64_t k) {
  constexpr int64_t fewRows = 4;
  return products.has("tdpb") && areBytes(c) && !c.blockOfA &&
         (m < 0 || m > fewRows) && (k < 0 || 2 * k >= kTileDepth);
}

VnniPlan planVnni(const Contraction &c, const NarrowProducts &products,
                  int64_t m, int64_t k) {
  MLIRContext *context = c.accumulator.getContext();
  auto blockOf = [&](StringRef matrices) -> int64_t {
    return products.has(matrices) && m != 1 ? 2 : 1;
  };
  if (takesTiles(c, products, m, k)) {
    VnniPlan plan = {IntegerType::get(context, 8), 4};
    plan.tiles = true;
    return plan;
  }
  if (areBytes(c) && multipliesBytes(c, products))
    return {IntegerType::get(context, 8), 4, blockOf("mmla"),
            products.intrinsics, products.has("dpbusd")};
  if (areBytes(c) && (products.has("dpwssd") || products.has("pmadd")))
    return {IntegerType::get(context, 16), 2, 1, products.intrinsics,
            products.has("dpwssd")};
  bool single = products.has("bfmlal");
  if (areBrainFloats(c) && (single || blockOf("bfmmla") == 2))
    return {BFloat16Type::get(context), 2, blockOf("bfmmla"),
            products.intrinsics};
  return {};
}

} // namespace backplane
