// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/MultiplyAdd.h"

#include "sdk/dialect/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace backplane {

static bool roundsProducts(OpBuilder &builder) {
  Operation *around = builder.getInsertionBlock()->getParentOp();
  return around->getParentOfType<ModuleOp>()->hasAttr(bp::roundProductsAttr);
}

Value multiplyAdd(OpBuilder &builder, Location loc, Value a, Value b,
                  Value sum) {
  if (!isa<FloatType>(getElementTypeOrSelf(sum.getType()))) {
    Value product = arith::MulIOp::create(builder, loc, a, b);
    return arith::AddIOp::create(builder, loc, product, sum);
  }
  if (!roundsProducts(builder))
    return math::FmaOp::create(builder, loc, a, b, sum);
  Value product = arith::MulFOp::create(builder, loc, a, b);
  return arith::AddFOp::create(builder, loc, product, sum);
}

} // namespace backplane
