// SPDX-License-Identifier: Apache-2.0
//
// Ops that make or move elements. Broadcast, reshape and transpose, which are
// views, are in Reshape.cpp.
#include "sdk/lower/Lowering.h"

#include "sdk/dialect/Convert.h"

#include "backplane/kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace bp;
using namespace bp::lower;

namespace {

Sizes ones(Lowering &lowering, size_t rank) {
  return Sizes(rank, lowering.builder.getIndexAttr(1));
}

bool isZero(OpFoldResult size) { return getConstantIntValue(size) == 0; }

/// The element of a view at these indices of its value.
Value elementAt(ImplicitLocOpBuilder &body, View source, ValueRange position) {
  if (source.isScalar())
    return source.base;
  SmallVector<Value> at;
  for (AffineExpr expr : source.map.getResults())
    at.push_back(position[cast<AffineDimExpr>(expr).getPosition()]);
  return tensor::ExtractOp::create(body, source.base, at);
}

/// The same, or 0 unless `condition`; then nothing is read.
Value elementIf(ImplicitLocOpBuilder &body, Value condition, View source,
                ValueRange position) {
  auto choice = scf::IfOp::create(
      body, condition,
      [&](OpBuilder &nested, Location loc) {
        ImplicitLocOpBuilder inner(loc, nested);
        Value element = elementAt(inner, source, position);
        scf::YieldOp::create(inner, element);
      },
      [&](OpBuilder &nested, Location loc) {
        Type type = getElementTypeOrSelf(source.base.getType());
        auto zero = cast<TypedAttr>(nested.getZeroAttr(type));
        Value element = arith::ConstantOp::create(nested, loc, zero);
        scf::YieldOp::create(nested, loc, element);
      });
  return choice.getResult(0);
}

/// A small tensor that stands in the code, in storage form.
DenseElementsAttr storedElements(DenseElementsAttr elements,
                                 const Element &element) {
  if (element.packed && element.format)
    return elements.mapValues(element.storage, [](const APFloat &number) {
      return number.bitcastToAPInt().zext(8);
    });
  if (element.packed)
    return elements.mapValues(element.storage, [&](const APInt &number) {
      return element.isUnsigned ? number.zext(8) : number.sext(8);
    });
  if (!element.isBool) {
    if (!element.isUnsigned && !element.format)
      return elements;
    return elements.bitcast(element.storage);
  }
  return elements.mapValues(element.storage, [](const APInt &bit) {
    return APInt(8, bit.getBoolValue());
  });
}

} // namespace

Value lower::insertCopy(Lowering &lowering, View source, Value target,
                        const Sizes &offsets, const Sizes &sizes) {
  if (llvm::any_of(sizes, isZero))
    return target;
  ImplicitLocOpBuilder &builder = lowering.builder;
  Sizes strides = ones(lowering, sizes.size());
  Value box =
      tensor::ExtractSliceOp::create(builder, target, offsets, sizes, strides);
  Value copied = lowering.parallel(source, box,
                                   [](ImplicitLocOpBuilder &, ValueRange args) {
                                     return SmallVector<Value>{args[0]};
                                   });
  return tensor::InsertSliceOp::create(builder, copied, target, offsets, sizes,
                                       strides);
}

Value Lowering::pick(View source, const Sizes &sizes, Value condition,
                     IndexBuilder index) {
  Value output = empty(sizes, getElementTypeOrSelf(source.base.getType()));
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange) {
    SmallVector<Value> at;
    for (size_t dim = 0; dim < sizes.size(); ++dim)
      at.push_back(linalg::IndexOp::create(inner, dim));
    at = index(inner, at);
    Value element = condition ? elementIf(inner, condition, source, at)
                              : elementAt(inner, source, at);
    return SmallVector<Value>{element};
  };
  return parallel({}, output, body);
}

LogicalResult lower::lowerConstant(Lowering &lowering, ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return op.emitOpError("has elements that are not dense");
  Element element = elementOf(op.getResult().getType());
  DenseElementsAttr stored = storedElements(elements, element);
  if (stored.isSplat()) {
    auto value = cast<TypedAttr>(stored.getSplatValue<Attribute>());
    Value scalar = arith::ConstantOp::create(lowering.builder, value);
    lowering.set(op.getResult(), {scalar, AffineMap()});
    return success();
  }
  RankedTensorType type = lowering.storageType(op.getResult().getType());
  if (!type.hasStaticShape() ||
      stored.getNumElements() != type.getNumElements())
    return op.emitOpError("has ")
           << stored.getNumElements() << " elements for " << type;
  Value tensor =
      arith::ConstantOp::create(lowering.builder, stored.reshape(type));
  lowering.setTensor(op.getResult(), tensor);
  return success();
}

LogicalResult lower::lowerIota(Lowering &lowering, IotaOp op) {
  Element to = elementOf(op.getResult().getType());
  Element from{lowering.builder.getI64Type(), lowering.builder.getI64Type()};
  Value output = lowering.emptyLike(op.getResult().getType(), to.storage);
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange) {
    Value index = linalg::IndexOp::create(inner, op.getAxis());
    Value count = arith::IndexCastOp::create(inner, from.compute, index);
    return SmallVector<Value>{
        store(inner, castScalar(inner, count, from, to), to)};
  };
  lowering.setTensor(op.getResult(), lowering.parallel({}, output, body));
  return success();
}

LogicalResult lower::lowerDim(Lowering &lowering, DimOp op) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Type i64 = builder.getI64Type();
  Value tensor = lowering.emptyLike(op.getResult().getType(), i64);
  for (auto [i, size] : llvm::enumerate(lowering.sizes(op.getValue()))) {
    Value value =
        arith::IndexCastOp::create(builder, i64, lowering.sizeAsIndex(size));
    Value at = arith::ConstantIndexOp::create(builder, int64_t(i));
    tensor = tensor::InsertOp::create(builder, value, tensor, at);
  }
  lowering.setTensor(op.getResult(), tensor);
  return success();
}

LogicalResult lower::lowerSlice(Lowering &lowering, SliceOp op) {
  View view = lowering.view(op.getX());
  if (view.isScalar()) {
    lowering.set(op.getResult(), view);
    return success();
  }
  ImplicitLocOpBuilder &builder = lowering.builder;
  Sizes starts = lowering.sizes(op.getStarts());
  Sizes sizes = lowering.sizes(op.getSizes());
  Sizes offsets, extents, strides;
  for (AffineExpr expr : view.map.getResults()) {
    unsigned axis = cast<AffineDimExpr>(expr).getPosition();
    offsets.push_back(isZero(sizes[axis]) ? builder.getIndexAttr(0)
                                          : starts[axis]);
    extents.push_back(sizes[axis]);
    strides.push_back(builder.getIndexAttr(op.getStrides()[axis]));
  }
  for (Value *tensor : {&view.base, &view.wide})
    if (*tensor)
      *tensor = tensor::ExtractSliceOp::create(builder, *tensor, offsets,
                                               extents, strides);
  lowering.set(op.getResult(), view);
  return success();
}

LogicalResult lower::lowerConcat(Lowering &lowering, ConcatOp op) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Type resultType = op.getResult().getType();
  Element element = elementOf(resultType);
  Value target = lowering.emptyLike(resultType, element.storage);
  int64_t rank = cast<RankedTensorType>(resultType).getRank();
  Sizes offsets(rank, builder.getIndexAttr(0));
  size_t axis = size_t(op.getAxis());
  backplane::Dim offset(0);
  for (Value operand : op.getXs()) {
    Sizes sizes = lowering.sizes(operand.getType());
    offsets[axis] = lowering.sizes(DimsAttr::get(op.getContext(), {offset}))[0];
    target =
        insertCopy(lowering, lowering.view(operand), target, offsets, sizes);
    offset = offset + dimsOf(operand.getType())[axis];
  }
  lowering.setTensor(op.getResult(), target);
  return success();
}

LogicalResult lower::lowerReverse(Lowering &lowering, ReverseOp op) {
  View view = lowering.view(op.getX());
  if (view.isScalar() || op.getAxes().empty()) {
    lowering.set(op.getResult(), view);
    return success();
  }
  SmallVector<Value> sizes;
  for (OpFoldResult size : lowering.sizes(op.getX().getType()))
    sizes.push_back(lowering.sizeAsIndex(size));
  auto index = [&](ImplicitLocOpBuilder &body, ValueRange at) {
    SmallVector<Value> from(at);
    Value one = arith::ConstantIndexOp::create(body, 1);
    for (int64_t axis : op.getAxes()) {
      Value last = arith::SubIOp::create(body, sizes[axis], one);
      from[axis] = arith::SubIOp::create(body, last, at[axis]);
    }
    return from;
  };
  Sizes extents = lowering.sizes(op.getResult().getType());
  lowering.setTensor(op.getResult(),
                     lowering.pick(view, extents, Value(), index));
  return success();
}

/// The indices as i64, -1 for each that is out of range, which reports. An op
/// of its own, so that the one that moves the data has no effects.
static Value checkedIndices(Lowering &lowering, GatherOp op, Value size) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Type type = op.getIndices().getType(), i64 = builder.getI64Type();
  Element from = elementOf(type), to{i64, i64};
  Value bound = arith::IndexCastOp::create(builder, i64, size);
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange args) {
    Value index = castScalar(inner, load(inner, args[0], from), from, to);
    // A negative index is above every size when read as unsigned.
    Value bad =
        arith::CmpIOp::create(inner, arith::CmpIPredicate::uge, index, bound);
    lowering.report(inner, bad, BP_KERNEL_ERROR_INDEX);
    Value none = arith::ConstantIntOp::create(inner, -1, 64);
    Value checked = arith::SelectOp::create(inner, bad, none, index);
    return SmallVector<Value>{checked};
  };
  return lowering.parallel(lowering.view(op.getIndices()),
                           lowering.emptyLike(type, i64), body);
}

/// The indices of x for the result's: those of its own axes and, for `axis`,
/// the value picked.
static SmallVector<Value> gatherPosition(ImplicitLocOpBuilder &body,
                                         GatherOp op, Value picked) {
  int64_t rank = cast<RankedTensorType>(op.getX().getType()).getRank();
  int64_t indexRank =
      cast<RankedTensorType>(op.getIndices().getType()).getRank();
  SmallVector<Value> position;
  auto axis = int64_t(op.getAxis());
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (dim == axis) {
      position.push_back(picked);
      continue;
    }
    int64_t loop = dim < axis ? dim : dim - 1 + indexRank;
    position.push_back(linalg::IndexOp::create(body, loop));
  }
  return position;
}

/// The element that a checked index (-1: none) names, 0 for none. An axis that
/// may be empty has no element that could be read instead.
static Value gatherElement(ImplicitLocOpBuilder &body, GatherOp op, View source,
                           Value index, bool mayBeEmpty) {
  Value first = arith::ConstantIntOp::create(body, 0, 64);
  Value valid =
      arith::CmpIOp::create(body, arith::CmpIPredicate::sge, index, first);
  Value safe = arith::MaxSIOp::create(body, index, first);
  Value picked = arith::IndexCastOp::create(body, body.getIndexType(), safe);
  SmallVector<Value> position = gatherPosition(body, op, picked);
  if (mayBeEmpty)
    return elementIf(body, valid, source, position);
  Value element = elementAt(body, source, position);
  auto zero = cast<TypedAttr>(body.getZeroAttr(element.getType()));
  return arith::SelectOp::create(body, valid, element,
                                 arith::ConstantOp::create(body, zero));
}

LogicalResult lower::lowerGather(Lowering &lowering, GatherOp op) {
  Type resultType = op.getResult().getType();
  int64_t rank = cast<RankedTensorType>(resultType).getRank();
  int64_t indexRank =
      cast<RankedTensorType>(op.getIndices().getType()).getRank();
  View source = lowering.view(op.getX());
  OpFoldResult size = lowering.sizes(op.getX().getType())[op.getAxis()];
  bool mayBeEmpty = getConstantIntValue(size).value_or(0) == 0;
  auto map = AffineMap::getMultiDimIdentityMap(rank, op.getContext())
                 .getSliceMap(op.getAxis(), indexRank);
  View indices{checkedIndices(lowering, op, lowering.sizeAsIndex(size)), map};
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange args) {
    return SmallVector<Value>{
        gatherElement(inner, op, source, args[0], mayBeEmpty)};
  };
  Value output = lowering.emptyLike(resultType, elementOf(resultType).storage);
  lowering.setTensor(op.getResult(), lowering.parallel(indices, output, body));
  return success();
}
