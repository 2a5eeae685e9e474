// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/ElementReader.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace backplane;

LogicalResult backplane::generaliseOps(func::FuncOp func) {
  IRRewriter rewriter(func.getContext());
  for (auto op : llvm::make_early_inc_range(func.getOps<linalg::LinalgOp>())) {
    if (isa<linalg::GenericOp>(op.getOperation()))
      continue;
    rewriter.setInsertionPoint(op);
    if (failed(linalg::generalizeNamedOp(rewriter, op)))
      return op->emitOpError("has no loops");
  }
  return success();
}

Value ElementReader::index(Builder &b, OpFoldResult value) {
  return getValueOrCreateConstantIndexOp(b, b.getLoc(), value);
}

Value ElementReader::size(Location loc, Value tensor, int64_t axis) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(tensor);
  return builder.createOrFold<tensor::DimOp>(loc, tensor, axis);
}

SmallVector<OpFoldResult> backplane::sizesOf(ImplicitLocOpBuilder &b,
                                             Value tensor) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(tensor);
  return tensor::getMixedSizes(b, b.getLoc(), tensor);
}

/// Equal for equal constants.
static void *keyOf(Value index) {
  Attribute constant;
  return matchPattern(index, m_Constant(&constant))
             ? const_cast<void *>(constant.getAsOpaquePointer())
             : index.getAsOpaquePointer();
}

Value ElementReader::read(Value tensor, ValueRange at) {
  auto result = dyn_cast<OpResult>(tensor);
  if (!result) {
    emitError(tensor.getLoc(), "a tensor that loops carry has no elements by "
                               "themselves");
    return {};
  }
  std::vector<void *> key{tensor.getAsOpaquePointer()};
  if (auto found = known.find(key); found != known.end())
    return found->second;
  for (Value i : at)
    key.push_back(keyOf(i));
  if (auto found = known.find(key); found != known.end())
    return found->second;
  Value element = compute(result, at);
  if (element)
    known[key] = element;
  return element;
}

static Value zeroOf(ImplicitLocOpBuilder &b, Value tensor) {
  Type type = getElementTypeOrSelf(tensor.getType());
  return arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
}

/// An element of a constant: itself when all are equal.
static Value ofConstant(ImplicitLocOpBuilder &b, arith::ConstantOp op,
                        ValueRange at) {
  auto elements = cast<DenseElementsAttr>(op.getValue());
  if (elements.isSplat())
    return arith::ConstantOp::create(
        b, cast<TypedAttr>(elements.getSplatValue<Attribute>()));
  return tensor::ExtractOp::create(b, op.getResult(), at);
}

Value ElementReader::compute(OpResult result, ValueRange at) {
  Operation *op = result.getOwner();
  Builder b(op->getLoc(), builder);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<bufferization::ToTensorOp>([&](auto source) -> Value {
        // What a destination holds at entry is undefined.
        if (source.getWritable())
          return zeroOf(b, result);
        return memref::LoadOp::create(b, source.getBuffer(), at);
      })
      .Case<linalg::GenericOp>([&](auto) { return ofGeneric(result, at); })
      .Case<tensor::EmptyOp>([&](auto) { return zeroOf(b, result); })
      .Case<tensor::CastOp>(
          [&](auto cast) { return read(cast.getSource(), at); })
      .Case<tensor::ExtractSliceOp>([&](auto x) { return ofSlice(x, at); })
      .Case<tensor::InsertSliceOp>([&](auto x) { return ofInsertSlice(x, at); })
      .Case<tensor::InsertOp>([&](auto x) { return ofInsert(x, at); })
      .Case<tensor::ExpandShapeOp>([&](auto x) { return ofExpand(x, at); })
      .Case<tensor::CollapseShapeOp>([&](auto x) { return ofCollapse(x, at); })
      .Case<tensor::PadOp>([&](auto x) { return ofPad(x, at); })
      .Case<tensor::FromElementsOp>([&](auto x) -> Value {
        if (x.getElements().size() == 1)
          return x.getElements().front();
        return tensor::ExtractOp::create(b, x.getResult(), at);
      })
      .Case<arith::ConstantOp>([&](auto x) { return ofConstant(b, x, at); })
      .Default([&](Operation *other) -> Value {
        other->emitOpError("has no elements by themselves");
        return {};
      });
}

/// The element of `tensor` when the condition holds, else another value.
Value ElementReader::choose(Builder &b, Value condition, Value tensor,
                            ValueRange at, function_ref<Value()> otherwise) {
  Type type = getElementTypeOrSelf(tensor.getType());
  auto branch = scf::IfOp::create(b, type, condition, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  bool failed = false;
  auto fill = [&](Block *block, function_ref<Value()> make) {
    Scope scope(*this);
    builder.setInsertionPointToEnd(block);
    Value value = make();
    if (value)
      scf::YieldOp::create(builder, b.getLoc(), value);
    failed |= !value;
  };
  fill(branch.thenBlock(), [&] { return read(tensor, at); });
  fill(branch.elseBlock(), otherwise);
  return failed ? Value() : branch.getResult(0);
}

/// Indices into a box, of which those with a set bit are dropped.
static SmallVector<Value> withoutDropped(ValueRange at,
                                         const llvm::SmallBitVector &dropped) {
  SmallVector<Value> kept;
  for (auto [i, value] : llvm::enumerate(at))
    if (!dropped.test(i))
      kept.push_back(value);
  return kept;
}

Value ElementReader::ofSlice(tensor::ExtractSliceOp op, ValueRange at) {
  Builder b(op.getLoc(), builder);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Values position;
  size_t next = 0;
  for (auto [axis, offset, stride] :
       llvm::enumerate(op.getMixedOffsets(), op.getMixedStrides())) {
    Value start = index(b, offset);
    if (!dropped.test(axis)) {
      Value step = b.createOrFold<arith::MulIOp>(at[next++], index(b, stride));
      start = b.createOrFold<arith::AddIOp>(start, step);
    }
    position.push_back(start);
  }
  return read(op.getSource(), position);
}

/// Whether an index along one axis lies in a box, null when it surely does; and
/// where in the box.
static std::pair<Value, Value> inBox(ImplicitLocOpBuilder &b, Value at,
                                     Value offset, Value size, Value stride) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value from = b.createOrFold<arith::SubIOp>(at, offset);
  // A negative difference is above every size when read as unsigned.
  if (matchPattern(stride, m_One()))
    return {arith::CmpIOp::create(b, arith::CmpIPredicate::ult, from, size),
            from};
  Value inside = arith::DivSIOp::create(b, from, stride);
  Value rest = arith::RemSIOp::create(b, from, stride);
  Value hit = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, zero);
  // The quotient of one that is smaller than the stride is not negative.
  Value below =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, inside, size);
  Value above = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, from, zero);
  Value both = arith::AndIOp::create(b, below, above);
  return {arith::AndIOp::create(b, both, hit), inside};
}

Value ElementReader::ofInsertSlice(tensor::InsertSliceOp op, ValueRange at) {
  Builder b(op.getLoc(), builder);
  Value condition = arith::ConstantIntOp::create(b, 1, 1);
  Values inside;
  auto shape = op.getDestType().getShape();
  for (auto [axis, offset, size, stride] : llvm::enumerate(
           op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides())) {
    if (getConstantIntValue(offset) == 0 && getConstantIntValue(stride) == 1 &&
        !ShapedType::isDynamic(shape[axis]) &&
        getConstantIntValue(size) == shape[axis]) {
      inside.push_back(at[axis]);
      continue;
    }
    auto [hit, position] =
        inBox(b, at[axis], index(b, offset), index(b, size), index(b, stride));
    condition = b.createOrFold<arith::AndIOp>(condition, hit);
    inside.push_back(position);
  }
  return choose(b, condition, op.getSource(),
                withoutDropped(inside, op.getDroppedDims()),
                [&] { return read(op.getDest(), at); });
}

Value ElementReader::ofInsert(tensor::InsertOp op, ValueRange at) {
  Builder b(op.getLoc(), builder);
  Value same = arith::ConstantIntOp::create(b, 1, 1);
  for (auto [want, have] : llvm::zip(op.getIndices(), at)) {
    Value equal =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, want, have);
    same = b.createOrFold<arith::AndIOp>(same, equal);
  }
  Value old = read(op.getDest(), at);
  return old ? arith::SelectOp::create(b, same, op.getScalar(), old) : old;
}

/// The axis of a group that has more than one place, if the others have one.
static std::optional<int64_t> onlyLongAxis(ArrayRef<int64_t> group,
                                           ArrayRef<int64_t> shape) {
  auto isLong = [&](int64_t axis) { return shape[axis] != 1; };
  return llvm::count_if(group, isLong) == 1
             ? std::optional(*llvm::find_if(group, isLong))
             : std::nullopt;
}

Value ElementReader::ofExpand(tensor::ExpandShapeOp op, ValueRange at) {
  Builder b(op.getLoc(), builder);
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  Values position;
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    if (auto axis = onlyLongAxis(group, shape)) {
      position.push_back(at[*axis]);
      continue;
    }
    Values inner;
    SmallVector<OpFoldResult> sizes;
    for (int64_t axis : group) {
      inner.push_back(at[axis]);
      sizes.push_back(op.getMixedOutputShape()[axis]);
    }
    position.push_back(inner.size() == 1
                           ? inner.front()
                           : b.createOrFold<affine::AffineLinearizeIndexOp>(
                                 inner, sizes, /*disjoint=*/true));
  }
  return read(op.getSrc(), position);
}

Value ElementReader::ofCollapse(tensor::CollapseShapeOp op, ValueRange at) {
  Builder b(op.getLoc(), builder);
  Values position(op.getSrcType().getRank());
  for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
    auto only = onlyLongAxis(group, op.getSrcType().getShape());
    if (group.size() == 1 || only) {
      position[only.value_or(group.front())] = at[i];
      continue;
    }
    Values sizes;
    for (int64_t axis : group)
      sizes.push_back(size(op.getLoc(), op.getSrc(), axis));
    auto split = affine::AffineDelinearizeIndexOp::create(
        b, at[i], getAsOpFoldResult(sizes), /*hasOuterBound=*/true);
    for (auto [axis, value] : llvm::zip(group, split.getResults()))
      position[axis] = value;
  }
  for (auto [axis, value] : llvm::enumerate(position))
    if (!value) // an axis with one place
      position[axis] = index(b, b.getIndexAttr(0));
  return read(op.getSrc(), position);
}

Value ElementReader::ofPad(tensor::PadOp op, ValueRange at) {
  Builder b(op.getLoc(), builder);
  Value value = op.getConstantPaddingValue();
  if (!value) {
    op.emitOpError("is padded with values that depend on the index");
    return {};
  }
  Value condition = arith::ConstantIntOp::create(b, 1, 1);
  Values inside;
  for (auto [axis, low, high] :
       llvm::enumerate(op.getMixedLowPad(), op.getMixedHighPad())) {
    if (isZeroInteger(low) && isZeroInteger(high)) {
      inside.push_back(at[axis]);
      continue;
    }
    Value one = index(b, b.getIndexAttr(1));
    auto [hit, position] =
        inBox(b, at[axis], index(b, low),
              size(op.getLoc(), op.getSource(), int64_t(axis)), one);
    condition = b.createOrFold<arith::AndIOp>(condition, hit);
    inside.push_back(position);
  }
  return choose(b, condition, op.getSource(), inside, [&] { return value; });
}
