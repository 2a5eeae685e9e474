// SPDX-License-Identifier: Apache-2.0
#include "sdk/lower/ExpandPads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace {

/// Bounds of the source in the padded tensor, on one axis that has padding.
struct Axis {
  int64_t number;
  Value low, size;
};

SmallVector<Axis> paddedAxes(ImplicitLocOpBuilder &b, tensor::PadOp pad) {
  SmallVector<Axis> axes;
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, b.getLoc(), pad.getSource());
  for (auto [i, ends] : llvm::enumerate(
           llvm::zip(pad.getMixedLowPad(), pad.getMixedHighPad()))) {
    auto [low, high] = ends;
    if (isConstantIntValue(low, 0) && isConstantIntValue(high, 0))
      continue;
    axes.push_back({int64_t(i),
                    getValueOrCreateConstantIndexOp(b, b.getLoc(), low),
                    getValueOrCreateConstantIndexOp(b, b.getLoc(), sizes[i])});
  }
  return axes;
}

/// The element of the source at `position`, which becomes one of the source;
/// `value` where it lies outside.
Value elementOrValue(ImplicitLocOpBuilder &b, tensor::PadOp pad,
                     SmallVector<Value> position, ArrayRef<Axis> axes,
                     Value value) {
  Value inside;
  for (const Axis &axis : axes) {
    Value &at = position[axis.number];
    at = arith::SubIOp::create(b, at, axis.low);
    // Below zero is above every size when read as unsigned.
    Value fits =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, at, axis.size);
    inside = inside ? arith::AndIOp::create(b, inside, fits).getResult() : fits;
  }
  if (!inside)
    return tensor::ExtractOp::create(b, pad.getSource(), position);
  auto choice = scf::IfOp::create(
      b, inside,
      [&](OpBuilder &nested, Location loc) {
        Value element =
            tensor::ExtractOp::create(nested, loc, pad.getSource(), position);
        scf::YieldOp::create(nested, loc, element);
      },
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, value);
      });
  return choice.getResult(0);
}

/// The sizes of the result: what is not static is the sum of its parts.
SmallVector<OpFoldResult> resultSizes(ImplicitLocOpBuilder &b,
                                      tensor::PadOp pad) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, b.getLoc(), pad.getSource());
  RankedTensorType type = pad.getResultType();
  for (auto [i, ends] : llvm::enumerate(
           llvm::zip(pad.getMixedLowPad(), pad.getMixedHighPad()))) {
    auto [low, high] = ends;
    if (!type.isDynamicDim(i)) {
      sizes[i] = b.getIndexAttr(type.getDimSize(i));
      continue;
    }
    Value sum = getValueOrCreateConstantIndexOp(b, b.getLoc(), sizes[i]);
    for (OpFoldResult end : {low, high})
      sum = b.createOrFold<arith::AddIOp>(
          sum, getValueOrCreateConstantIndexOp(b, b.getLoc(), end));
    sizes[i] = getAsOpFoldResult(sum);
  }
  return sizes;
}

void expand(tensor::PadOp pad, Value value) {
  OpBuilder base(pad);
  ImplicitLocOpBuilder b(pad.getLoc(), base);
  SmallVector<Axis> axes = paddedAxes(b, pad);
  RankedTensorType type = pad.getResultType();
  Value output =
      tensor::EmptyOp::create(b, resultSizes(b, pad), type.getElementType());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto padded = linalg::GenericOp::create(
      b, type, ValueRange(), output, b.getMultiDimIdentityMap(type.getRank()),
      loops, [&](OpBuilder &nested, Location loc, ValueRange) {
        ImplicitLocOpBuilder body(loc, nested);
        SmallVector<Value> position;
        for (int64_t dim = 0; dim < type.getRank(); ++dim)
          position.push_back(linalg::IndexOp::create(body, dim));
        Value element = elementOrValue(body, pad, position, axes, value);
        linalg::YieldOp::create(body, element);
      });
  pad.getResult().replaceAllUsesWith(padded.getResult(0));
  pad.erase();
}

} // namespace

void bp::expandDynamicPads(func::FuncOp function) {
  for (auto pad : llvm::make_early_inc_range(function.getOps<tensor::PadOp>()))
    if (Value value = pad.getConstantPaddingValue();
        value && !pad.getResultType().hasStaticShape())
      expand(pad, value);
}
