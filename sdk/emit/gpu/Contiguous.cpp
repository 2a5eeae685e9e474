// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/Contiguous.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace backplane {

/// Ops for an element, of which each function that is spelled out counts as
/// several.
constexpr size_t kMostOps = 48, kFunctionOps = 16;

bool isOfVec4(int64_t size) {
  return !ShapedType::isDynamic(size) && size % kVec4 == 0;
}

static bool hasRowsOfVec4(Value tensor) {
  auto shape = cast<RankedTensorType>(tensor.getType()).getShape();
  return !shape.empty() && isOfVec4(shape.back());
}

/// A body of plain arithmetic: nothing is read but the arguments.
static bool isPlain(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
           return inner.getNumRegions() == 0 && !isa<tensor::ExtractOp>(inner);
         });
}

static bool ofGeneric(linalg::GenericOp op, OpResult result) {
  AffineMap map =
      op.getMatchingIndexingMap(op.getDpsInitOperand(result.getResultNumber()));
  if (!isPlain(op) || map.getNumResults() == 0)
    return false;
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  return last && llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
           return op.getMatchingBlockArgument(&operand).use_empty() ||
                  areContiguous(op, operand, last.getPosition());
         });
}

static bool ofSlice(tensor::ExtractSliceOp op) {
  size_t last = op.getSourceType().getRank() - 1;
  std::optional<int64_t> offset =
      getConstantIntValue(op.getMixedOffsets()[last]);
  return !op.getDroppedDims().test(last) && offset && isOfVec4(*offset) &&
         isOneInteger(op.getMixedStrides()[last]) &&
         hasRowsOfVec4(op.getSource()) && areContiguous(op.getSource());
}

bool areContiguous(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<bufferization::ToTensorOp>(
          [&](auto) { return hasRowsOfVec4(tensor); })
      .Case<linalg::GenericOp>([&](auto generic) {
        return ofGeneric(generic, cast<OpResult>(tensor));
      })
      .Case<tensor::ExtractSliceOp>([](auto slice) { return ofSlice(slice); })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>([](auto reshape) {
        return hasRowsOfVec4(reshape.getSrc()) &&
               hasRowsOfVec4(reshape.getResult()) &&
               areContiguous(reshape.getSrc());
      })
      .Default([&](Operation *) {
        return isa<tensor::EmptyOp>(op) || matchPattern(tensor, m_Constant());
      });
}

std::optional<unsigned> soleLoop(AffineExpr expr, ArrayRef<int64_t> sizes) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dim.getPosition();
  auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return std::nullopt;
  auto isUnit = [&](AffineExpr part) {
    auto dim = dyn_cast<AffineDimExpr>(part);
    return dim && sizes[dim.getPosition()] == 1;
  };
  if (isUnit(sum.getRHS()))
    return soleLoop(sum.getLHS(), sizes);
  return isUnit(sum.getLHS()) ? soleLoop(sum.getRHS(), sizes) : std::nullopt;
}

/// Whether the last axes of a buffer are these loops, from end to end, and a
/// multiple of `lanes` elements.
static bool areLastAxes(AffineMap map, ArrayRef<int64_t> shape,
                        ArrayRef<unsigned> loops, ArrayRef<int64_t> sizes,
                        int64_t lanes = kVec4) {
  size_t axis = shape.size();
  int64_t count = 1;
  for (unsigned loop : llvm::reverse(loops)) {
    if (sizes[loop] == 1)
      continue;
    while (axis > 0 && shape[axis - 1] == 1)
      --axis;
    if (axis == 0 || shape[axis - 1] != sizes[loop] ||
        soleLoop(map.getResult(unsigned(--axis)), sizes) != loop)
      return false;
    if (ShapedType::isDynamic(sizes[loop]))
      return false;
    count *= sizes[loop];
  }
  return count % lanes == 0;
}

/// Whether the last of these loops that has iterations is that of the last axis
/// of a buffer, and of no other, and both have a multiple of `lanes`.
static bool isLastAxis(AffineMap map, ArrayRef<int64_t> shape,
                       ArrayRef<unsigned> loops, ArrayRef<int64_t> sizes,
                       int64_t lanes) {
  while (loops.size() > 1 && sizes[loops.back()] == 1)
    loops = loops.drop_back();
  auto last = soleLoop(map.getResults().back(), sizes);
  auto isWhole = [&](int64_t size) {
    return !ShapedType::isDynamic(size) && size % lanes == 0;
  };
  return last && *last == loops.back() && isWhole(sizes[*last]) &&
         isWhole(shape.back()) &&
         llvm::none_of(map.getResults().drop_back(), [&](AffineExpr expr) {
           return expr.isFunctionOfDim(*last);
         });
}

bool areLinesOfBuffer(linalg::GenericOp op, OpOperand &operand,
                      ArrayRef<unsigned> loops, int64_t lanes) {
  auto buffer = operand.get().getDefiningOp<bufferization::ToTensorOp>();
  if (!buffer || buffer.getWritable() ||
      !isa<BlockArgument>(buffer.getBuffer()))
    return false;
  auto type = cast<MemRefType>(buffer.getBuffer().getType());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  return type.getLayout().isIdentity() && type.getRank() > 0 &&
         (areLastAxes(map, type.getShape(), loops, sizes, lanes) ||
          isLastAxis(map, type.getShape(), loops, sizes, lanes));
}

bool areContiguous(linalg::GenericOp op, OpOperand &operand,
                   ArrayRef<unsigned> loops) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto depends = [&](AffineExpr expr) {
    return llvm::any_of(
        loops, [&](unsigned loop) { return expr.isFunctionOfDim(loop); });
  };
  if (!type || llvm::none_of(map.getResults(), depends))
    return true;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (operand.get().getDefiningOp<bufferization::ToTensorOp>() &&
      areLastAxes(map, type.getShape(), loops, sizes))
    return true;
  while (loops.size() > 1 && sizes[loops.back()] == 1)
    loops = loops.drop_back();
  auto last = soleLoop(map.getResults().back(), sizes);
  auto rest = map.getResults().drop_back();
  return last && *last == loops.back() && isOfVec4(sizes[*last]) &&
         llvm::none_of(
             rest,
             [&](AffineExpr expr) { return expr.isFunctionOfDim(*last); }) &&
         areContiguous(operand.get());
}

bool isShort(Value tensor, Operation *known) {
  size_t ops = 0;
  llvm::SetVector<Operation *> work;
  auto reach = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && op != known)
      work.insert(op);
  };
  reach(tensor);
  for (size_t i = 0; i < work.size(); ++i) {
    auto generic = dyn_cast<linalg::GenericOp>(work[i]);
    for (Value operand : work[i]->getOperands())
      reach(operand);
    if (generic)
      for (Operation &op : *generic.getBody())
        ops += isa<math::MathDialect>(op.getDialect()) ? kFunctionOps : 1;
  }
  return ops <= kMostOps;
}

} // namespace backplane
