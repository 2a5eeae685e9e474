// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractOperands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace backplane {

bool FlatOperand::unitStride(unsigned loop) const {
  return strides[loop] && getConstantIntValue(strides[loop]) == 1;
}

int64_t factorOf(AffineExpr expr, unsigned loop) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dim.getPosition() == loop ? 1 : 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 0;
  if (expr.getKind() == AffineExprKind::Add)
    return factorOf(binary.getLHS(), loop) + factorOf(binary.getRHS(), loop);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return constant ? factorOf(binary.getLHS(), loop) * constant.getValue() : 0;
}

Value flatMemref(OpBuilder &builder, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto flat = MemRefType::get({ShapedType::kDynamic}, type.getElementType());
  Value result = memref;
  if (type.getRank() == 0)
    result = memref::ExpandShapeOp::create(
        builder, loc, MemRefType::get({1}, type.getElementType()), memref,
        ArrayRef<ReassociationIndices>());
  if (type.getRank() > 1) {
    ReassociationIndices all;
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      all.push_back(axis);
    result = memref::CollapseShapeOp::create(
        builder, loc, memref, SmallVector<ReassociationIndices>{all});
  }
  return result.getType() == flat
             ? result
             : memref::CastOp::create(builder, loc, flat, result).getResult();
}

static FlatOperand flatten(const VectorBuilder &b, Value memref, AffineMap map,
                           unsigned loops) {
  FlatOperand flat = {flatMemref(b.builder, b.loc, memref), {}};
  flat.strides.assign(loops, Value());
  Value stride = b.index(1);
  for (size_t axis = map.getNumResults(); axis-- > 0;) {
    for (unsigned loop = 0; loop < loops; ++loop) {
      int64_t factor = factorOf(map.getResult(axis), loop);
      if (factor == 0)
        continue;
      Value part = b.mul(stride, factor);
      Value &total = flat.strides[loop];
      total = total ? b.add(total, part) : part;
    }
    Value size = getValueOrCreateConstantIndexOp(
        b.builder, b.loc, memref::getMixedSize(b.builder, b.loc, memref, axis));
    stride = b.mul(stride, size);
  }
  return flat;
}

/// Sizes of the loops, from the axes of the operands.
static SmallVector<Value> loopSizes(OpBuilder &builder, Location loc,
                                    Contraction &c) {
  SmallVector<Value> sizes(c.op.getNumLoops());
  SmallVector<int64_t> known = c.op.getStaticLoopRanges();
  auto read = [&](Value memref, AffineMap map) {
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || sizes[dim.getPosition()])
        continue;
      int64_t size = known[dim.getPosition()];
      OpFoldResult value =
          ShapedType::isDynamic(size)
              ? memref::getMixedSize(builder, loc, memref, axis)
              : OpFoldResult(builder.getIndexAttr(size));
      sizes[dim.getPosition()] =
          getValueOrCreateConstantIndexOp(builder, loc, value);
    }
  };
  read(c.results.front().destination, c.destinationMap);
  read(c.lhs.memref, c.lhs.map);
  if (!c.rhs.padded())
    read(c.rhs.memref, c.rhs.map);
  for (auto [loop, size] : llvm::enumerate(sizes))
    if (!size)
      size = arith::ConstantIndexOp::create(builder, loc,
                                            std::max<int64_t>(known[loop], 1));
  return sizes;
}

static Value mergedSize(const VectorBuilder &b, ArrayRef<Value> sizes,
                        ArrayRef<unsigned> loops) {
  Value size = b.index(1);
  for (unsigned loop : loops)
    size = b.mul(size, sizes[loop]);
  return size;
}

static SmallVector<PaddedAxis> readPadding(const VectorBuilder &b,
                                           const ContractionOperand &rhs,
                                           unsigned loops) {
  SmallVector<PaddedAxis> result;
  for (auto [axis, low] : llvm::enumerate(rhs.padLow)) {
    AffineExpr expr = rhs.map.getResult(axis);
    if (isa<AffineDimExpr>(expr) && !rhs.padded(axis))
      continue;
    PaddedAxis padded;
    for (unsigned loop = 0; loop < loops; ++loop)
      padded.factors.push_back(factorOf(expr, loop));
    padded.low = getValueOrCreateConstantIndexOp(b.builder, b.loc, low);
    padded.size = getValueOrCreateConstantIndexOp(
        b.builder, b.loc,
        memref::getMixedSize(b.builder, b.loc, rhs.memref, axis));
    result.push_back(std::move(padded));
  }
  return result;
}

ContractOperands readOperands(const VectorBuilder &b, Contraction c) {
  unsigned loops = c.op.getNumLoops();
  ContractOperands result;
  result.sizes = loopSizes(b.builder, b.loc, c);
  result.sizeM = mergedSize(b, result.sizes, c.m);
  result.sizeN = mergedSize(b, result.sizes, c.n);
  result.sizeK = mergedSize(b, result.sizes, c.k);
  result.a = flatten(b, c.lhs.memref, c.lhs.map, loops);
  result.b = flatten(b, c.rhs.memref, c.rhs.map, loops);
  for (const ContractionResult &to : c.results)
    result.destinations.push_back(
        flatten(b, to.destination, c.destinationMap, loops));
  for (const ContractionOperand &operand : c.epilogueOperands)
    result.epilogue.push_back(
        operand.memref ? flatten(b, operand.memref, operand.map, loops)
                       : FlatOperand());
  result.padded = readPadding(b, c.rhs, loops);
  return result;
}

} // namespace backplane
