// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/VnniPlan.h"

#include "sdk/emit/cpu/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace backplane {

/// Whether both operands are bytes of a memref that the machine multiplies.
static bool areBytes(const Contraction &c, const NarrowProducts &products) {
  using Widening = ContractionOperand::Widening;
  if (!products.has("dot") || c.lhs.widening == Widening::None ||
      c.rhs.widening == Widening::None || !isa<BlockArgument>(c.left) ||
      !isa<BlockArgument>(c.right) || !c.accumulator.isInteger(32))
    return false;
  return c.lhs.widening == c.rhs.widening || products.has("usdot");
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

VnniPlan planVnni(const Contraction &c, const NarrowProducts &products,
                  int64_t m) {
  MLIRContext *context = c.accumulator.getContext();
  auto blockOf = [&](StringRef matrices) -> int64_t {
    return products.has(matrices) && m != 1 ? 2 : 1;
  };
  if (areBytes(c, products))
    return {IntegerType::get(context, 8), 4, blockOf("mmla"),
            products.intrinsics};
  bool single = products.has("bfmlal");
  if (areBrainFloats(c) && (single || blockOf("bfmmla") == 2))
    return {BFloat16Type::get(context), 2, blockOf("bfmmla"),
            products.intrinsics};
  return {};
}

} // namespace backplane
