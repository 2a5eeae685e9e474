// SPDX-License-Identifier: Apache-2.0
#include "sdk/lower/Lowering.h"

#include "sdk/dialect/Convert.h"

#include "backplane/kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace bp;
using namespace bp::lower;

/// Whether floats of this type are only stored.
static bool isStored(FloatType type) {
  return isa<Float8E4M3FNType, Float8E5M2Type, Float8E4M3FNUZType,
             Float8E5M2FNUZType, Float8E8M0FNUType, Float4E2M1FNType>(type);
}

Element lower::elementOf(Type bpType) {
  Type type = getElementTypeOrSelf(bpType);
  if (type.isF16() || type.isBF16())
    return {type, Float32Type::get(type.getContext())};
  if (type.isF32() || type.isF64())
    return {type, type};
  if (auto format = dyn_cast<FloatType>(type); format && isStored(format)) {
    MLIRContext *context = type.getContext();
    unsigned bits = format.getWidth();
    return {IntegerType::get(context, 8),
            Float32Type::get(context),
            false,
            false,
            type,
            bits < 8 ? bits : 0};
  }
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return {};
  if (integer.getWidth() == 4) {
    auto byte = IntegerType::get(type.getContext(), 8);
    return {byte, byte, integer.isUnsigned(), false, {}, 4};
  }
  if (integer.getWidth() < 8 && integer.getWidth() != 1)
    return {};
  if (integer.getWidth() == 1)
    return {IntegerType::get(type.getContext(), 8), integer, true, true};
  auto signless = IntegerType::get(type.getContext(), integer.getWidth());
  return {signless, signless, integer.isUnsigned()};
}

void Lowering::setTensor(Value bpValue, Value tensor, Value wide) {
  unsigned rank = cast<RankedTensorType>(bpValue.getType()).getRank();
  set(bpValue, {tensor, builder.getMultiDimIdentityMap(rank), wide});
}

void Lowering::setComputed(Value bpValue, Value computed) {
  Element element = elementOf(bpValue.getType());
  Value narrow = rounded(computed, element, sizes(bpValue.getType()));
  setTensor(bpValue, narrow, narrow == computed ? Value() : computed);
}

View Lowering::permutedView(Value bpValue) {
  View current = view(bpValue);
  if (current.map && current.map.isPermutation())
    return current;
  set(bpValue, plainView(bpValue));
  return view(bpValue);
}

View Lowering::plainView(Value bpValue) {
  View current = view(bpValue);
  if (current.isIdentity())
    return current;
  Type type = bpValue.getType();
  unsigned rank = cast<RankedTensorType>(type).getRank();
  View plain{tensor(bpValue), builder.getMultiDimIdentityMap(rank)};
  if (current.wide)
    plain.wide =
        materialize(current.unrounded(), type, elementOf(type).compute);
  return plain;
}

Value Lowering::tensor(Value bpValue) {
  View current = view(bpValue);
  if (current.isIdentity())
    return current.base;
  Type type = bpValue.getType();
  return materialize(current, type, elementOf(type).storage);
}

/// Groups of `rank` dims that put each dim of `kept` last in its group, so that
/// the others can have size 1.
static SmallVector<ReassociationIndices> groupsKeeping(ArrayRef<int64_t> kept,
                                                       int64_t rank) {
  SmallVector<ReassociationIndices> groups(kept.size());
  size_t group = 0;
  for (int64_t dim = 0; dim < rank; ++dim) {
    while (group + 1 < kept.size() && dim > kept[group])
      ++group;
    if (!kept.empty())
      groups[group].push_back(dim);
  }
  return groups;
}

/// Whether the value only adds dims of size 1 to its base; gives the others.
static bool addsUnitDims(AffineMap map, ArrayRef<int64_t> shape,
                         SmallVector<int64_t> &kept) {
  for (AffineExpr expr : map.getResults()) {
    int64_t dim = cast<AffineDimExpr>(expr).getPosition();
    if (!kept.empty() && dim <= kept.back())
      return false;
    kept.push_back(dim);
  }
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size != 1 && !llvm::is_contained(kept, int64_t(dim)))
      return false;
  return true;
}

Value Lowering::materialize(View view, Type bpType, Type element) {
  auto type = cast<RankedTensorType>(bpType);
  if (view.isScalar()) {
    Value output = emptyLike(bpType, element);
    return linalg::FillOp::create(builder, view.base, output).getResult(0);
  }
  SmallVector<int64_t> kept;
  if (addsUnitDims(view.map, type.getShape(), kept))
    return expand(view.base, sizes(bpType),
                  groupsKeeping(kept, type.getRank()));
  Value output = emptyLike(bpType, element);
  return parallel(view, output, [](ImplicitLocOpBuilder &, ValueRange args) {
    return SmallVector<Value>{args[0]};
  });
}

RankedTensorType Lowering::storageType(Type bpType) const {
  auto type = cast<RankedTensorType>(bpType);
  return RankedTensorType::get(type.getShape(), elementOf(bpType).storage);
}

Sizes Lowering::sizes(DimsAttr dims) {
  Sizes result;
  for (StringAttr text : dims.getTexts()) {
    auto size = symbols.materialize(builder, builder.getLoc(), text.getValue());
    broken |= failed(size);
    result.push_back(succeeded(size) ? *size : builder.getIndexAttr(0));
  }
  return result;
}

Sizes Lowering::sizes(Type bpType) {
  auto type = cast<RankedTensorType>(bpType);
  if (auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding()))
    return sizes(dims);
  return getAsIndexOpFoldResult(builder.getContext(), type.getShape());
}

Value Lowering::sizeAsIndex(OpFoldResult size) {
  return getValueOrCreateConstantIndexOp(builder, builder.getLoc(), size);
}

Value Lowering::empty(const Sizes &sizes, Type element) {
  return tensor::EmptyOp::create(builder, sizes, element);
}

Value Lowering::emptyLike(Type bpType, Type element) {
  return empty(sizes(bpType), element);
}

Value Lowering::filled(Value tensor, TypedAttr value) {
  Value scalar = arith::ConstantOp::create(builder, value);
  return linalg::FillOp::create(builder, scalar, tensor).getResult(0);
}

linalg::GenericOp Lowering::generic(ValueRange inputs, ValueRange outputs,
                                    ArrayRef<AffineMap> maps,
                                    ArrayRef<utils::IteratorType> iterators,
                                    BodyBuilder body) {
  return linalg::GenericOp::create(
      builder, outputs.getTypes(), inputs, outputs, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        ImplicitLocOpBuilder inner(loc, nested);
        linalg::YieldOp::create(inner, body(inner, args));
      });
}

Value Lowering::parallel(ArrayRef<View> inputs, Value output,
                         BodyBuilder body) {
  unsigned rank = cast<RankedTensorType>(output.getType()).getRank();
  SmallVector<Value> operands;
  Maps maps;
  for (const View &input : inputs) {
    if (input.isScalar())
      continue;
    operands.push_back(input.base);
    maps.push_back(input.map);
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  Iterators iterators(rank, utils::IteratorType::parallel);
  auto withScalars = [&](ImplicitLocOpBuilder &inner, ValueRange args) {
    SmallVector<Value> all;
    size_t next = 0;
    for (const View &input : inputs)
      all.push_back(input.isScalar() ? input.base : args[next++]);
    return body(inner, all);
  };
  return generic(operands, output, maps, iterators, withScalars).getResult(0);
}

Value Lowering::rounded(Value tensor, const Element &element,
                        const Sizes &sizes) {
  if (!element.converts())
    return tensor;
  View input{tensor, builder.getMultiDimIdentityMap(sizes.size())};
  return parallel(input, empty(sizes, element.storage),
                  [&](ImplicitLocOpBuilder &body, ValueRange args) {
                    return SmallVector<Value>{store(body, args[0], element)};
                  });
}

Value Lowering::collapse(Value tensor, ArrayRef<ReassociationIndices> groups) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (int64_t(groups.size()) == type.getRank())
    return tensor;
  return tensor::CollapseShapeOp::create(builder, tensor, groups);
}

/// What the tensor must be before dims are split: static where all parts are.
static RankedTensorType typeBeforeSplit(RankedTensorType type,
                                        RankedTensorType split,
                                        ArrayRef<ReassociationIndices> groups) {
  SmallVector<int64_t> shape;
  for (const ReassociationIndices &group : groups) {
    int64_t size = 1;
    for (int64_t dim : group)
      size = split.isDynamicDim(dim) || ShapedType::isDynamic(size)
                 ? ShapedType::kDynamic
                 : size * split.getDimSize(dim);
    shape.push_back(size);
  }
  return RankedTensorType::get(shape, type.getElementType());
}

Value Lowering::expand(Value tensor, const Sizes &sizes,
                       ArrayRef<ReassociationIndices> groups) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (int64_t(sizes.size()) == type.getRank())
    return tensor;
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults(sizes, dynamic, shape);
  auto split = RankedTensorType::get(shape, type.getElementType());
  RankedTensorType before = typeBeforeSplit(type, split, groups);
  if (before != type)
    tensor = tensor::CastOp::create(builder, before, tensor);
  return tensor::ExpandShapeOp::create(builder, split, tensor, groups, sizes);
}

Value Lowering::padded(Value tensor, ArrayRef<int64_t> low,
                       ArrayRef<int64_t> high, TypedAttr value) {
  auto isZero = [](int64_t size) { return size == 0; };
  if (llvm::all_of(low, isZero) && llvm::all_of(high, isZero))
    return tensor;
  auto type = cast<RankedTensorType>(tensor.getType());
  Sizes lows = getAsIndexOpFoldResult(builder.getContext(), low);
  Sizes highs = getAsIndexOpFoldResult(builder.getContext(), high);
  RankedTensorType result = tensor::PadOp::inferResultType(type, low, high);
  Value scalar = arith::ConstantOp::create(builder, value);
  return tensor::PadOp::create(builder, result, tensor, lows, highs, scalar);
}

void Lowering::report(ImplicitLocOpBuilder &body, Value bad, uint32_t code) {
  Value word = errorWord;
  scf::IfOp::create(body, bad, [&](OpBuilder &nested, Location loc) {
    ImplicitLocOpBuilder inner(loc, nested);
    Value first = arith::ConstantIndexOp::create(inner, 0);
    Value old = memref::LoadOp::create(inner, word, first);
    Value zero = arith::ConstantIntOp::create(inner, 0, 32);
    Value unset =
        arith::CmpIOp::create(inner, arith::CmpIPredicate::eq, old, zero);
    scf::IfOp::create(inner, unset, [&](OpBuilder &deepest, Location at) {
      ImplicitLocOpBuilder then(at, deepest);
      Value error = arith::ConstantIntOp::create(
          then, int64_t(BP_KERNEL_ERROR(code, 0)), 32);
      memref::StoreOp::create(then, error, word, first);
      scf::YieldOp::create(then);
    });
    scf::YieldOp::create(inner);
  });
}
