// SPDX-License-Identifier: Apache-2.0
#include "sdk/dialect/Convert.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using backplane::AttributeKind;
using backplane::DType;

Type bp::toType(MLIRContext *context, DType dtype) {
  switch (dtype) {
  case DType::Invalid:
    return {};
  case DType::F64:
    return Float64Type::get(context);
  case DType::F32:
    return Float32Type::get(context);
  case DType::F16:
    return Float16Type::get(context);
  case DType::BF16:
    return BFloat16Type::get(context);
  case DType::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case DType::F8E5M2:
    return Float8E5M2Type::get(context);
  case DType::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case DType::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case DType::F8E8M0FNU:
    return Float8E8M0FNUType::get(context);
  case DType::F4E2M1FN:
    return Float4E2M1FNType::get(context);
  case DType::Bool:
    return IntegerType::get(context, 1);
  default:
    break;
  }
  auto signedness = backplane::isUnsignedInteger(dtype) ? IntegerType::Unsigned
                                                        : IntegerType::Signless;
  return IntegerType::get(context, backplane::bitWidth(dtype), signedness);
}

static std::optional<DType> integerDType(IntegerType type) {
  if (type.isSigned())
    return std::nullopt;
  bool isUnsigned = type.isUnsigned();
  switch (type.getWidth()) {
  case 1:
    return isUnsigned ? std::nullopt : std::optional(DType::Bool);
  case 4:
    return isUnsigned ? DType::U4 : DType::I4;
  case 8:
    return isUnsigned ? DType::U8 : DType::I8;
  case 16:
    return isUnsigned ? DType::U16 : DType::I16;
  case 32:
    return isUnsigned ? DType::U32 : DType::I32;
  case 64:
    return isUnsigned ? DType::U64 : DType::I64;
  }
  return std::nullopt;
}

std::optional<DType> bp::toDType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integerDType(integer);
  return TypeSwitch<Type, std::optional<DType>>(type)
      .Case<Float64Type>([](auto) { return DType::F64; })
      .Case<Float32Type>([](auto) { return DType::F32; })
      .Case<Float16Type>([](auto) { return DType::F16; })
      .Case<BFloat16Type>([](auto) { return DType::BF16; })
      .Case<Float8E4M3FNType>([](auto) { return DType::F8E4M3FN; })
      .Case<Float8E5M2Type>([](auto) { return DType::F8E5M2; })
      .Case<Float8E4M3FNUZType>([](auto) { return DType::F8E4M3FNUZ; })
      .Case<Float8E5M2FNUZType>([](auto) { return DType::F8E5M2FNUZ; })
      .Case<Float8E8M0FNUType>([](auto) { return DType::F8E8M0FNU; })
      .Case<Float4E2M1FNType>([](auto) { return DType::F4E2M1FN; })
      .Default([](Type) { return std::nullopt; });
}

RankedTensorType bp::toType(MLIRContext *context,
                            const backplane::TensorType &type) {
  SmallVector<int64_t> shape;
  for (const backplane::Dim &dim : type.dims)
    shape.push_back(dim.constant().value_or(ShapedType::kDynamic));
  Attribute encoding;
  if (ShapedType::isDynamicShape(shape))
    encoding = DimsAttr::get(context, type.dims);
  return RankedTensorType::get(shape, toType(context, type.dtype), encoding);
}

backplane::Result<backplane::TensorType> bp::toTensorType(Type type) {
  auto tensor = dyn_cast_if_present<RankedTensorType>(type);
  if (!tensor)
    return backplane::invalidArgument("expected a ranked tensor");
  std::optional<DType> dtype = toDType(tensor.getElementType());
  if (!dtype)
    return backplane::invalidArgument("the graph has no such element type; "
                                      "see BP_DTYPE_ of abi.h");
  auto encoding = dyn_cast_or_null<DimsAttr>(tensor.getEncoding());
  if (!encoding && !tensor.hasStaticShape())
    return backplane::invalidArgument(
        "a dynamic tensor needs #bp.dims to name its sizes");
  return backplane::TensorType{*dtype, dimsOf(type)};
}

backplane::Dims bp::dimsOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (auto encoding = dyn_cast_or_null<DimsAttr>(tensor.getEncoding()))
    return encoding.getDims();
  return backplane::Dims(tensor.getShape().begin(), tensor.getShape().end());
}

std::optional<SmallVector<size_t>>
bp::joinedAxes(const backplane::Dims &split, const backplane::Dims &whole) {
  SmallVector<size_t> joined;
  size_t at = 0;
  for (const backplane::Dim &dim : whole) {
    bool isOne = at < split.size() && split[at] == dim;
    bool areTwo = at + 1 < split.size() && split[at] * split[at + 1] == dim;
    if (!isOne && !areTwo)
      return std::nullopt;
    joined.push_back(isOne ? 1 : 2);
    at += joined.back();
  }
  return at == split.size() ? std::optional(joined) : std::nullopt;
}

static void writeElement(backplane::Bytes &bytes, size_t index,
                         const APInt &bits, unsigned width) {
  uint64_t value = bits.getZExtValue();
  if (width < 8) {
    bytes[index / 2] |= uint8_t((value & 15) << (index % 2 * 4));
    return;
  }
  for (unsigned i = 0; i < width / 8; ++i)
    bytes[index * (width / 8) + i] = uint8_t(value >> (8 * i));
}

static uint64_t readElement(const backplane::Bytes &bytes, size_t index,
                            unsigned width) {
  if (width < 8)
    return (bytes[index / 2] >> (index % 2 * 4)) & 15;
  uint64_t value = 0;
  for (unsigned i = 0; i < width / 8; ++i)
    value |= uint64_t(bytes[index * (width / 8) + i]) << (8 * i);
  return value;
}

backplane::Bytes bp::toBytes(DenseElementsAttr elements) {
  unsigned width = backplane::bitWidth(*toDType(elements.getElementType()));
  size_t count = elements.isSplat() ? 1 : elements.getNumElements();
  backplane::Bytes bytes((count * width + 7) / 8);
  if (isa<FloatType>(elements.getElementType())) {
    auto values = elements.getValues<APFloat>();
    for (size_t i = 0; i < count; ++i)
      writeElement(bytes, i, values[i].bitcastToAPInt(), width);
    return bytes;
  }
  auto values = elements.getValues<APInt>();
  for (size_t i = 0; i < count; ++i)
    writeElement(bytes, i, values[i], width);
  return bytes;
}

/// The type of the attribute that holds `bytes`.
static RankedTensorType elementsType(MLIRContext *context,
                                     const backplane::TensorType &type) {
  Type element = bp::toType(context, type.dtype);
  if (!type.isStatic())
    return RankedTensorType::get({}, element);
  return bp::toType(context, type);
}

DenseElementsAttr bp::toElements(MLIRContext *context,
                                 const backplane::TensorType &type,
                                 const backplane::Bytes &bytes) {
  RankedTensorType result = elementsType(context, type);
  unsigned width = backplane::bitWidth(type.dtype);
  size_t count = size_t(result.getNumElements());
  if ((count * width + 7) / 8 != bytes.size())
    count = 1;
  if (count == 1 && result.getNumElements() == 0)
    result = RankedTensorType::get({}, result.getElementType());
  if (auto floats = dyn_cast<FloatType>(result.getElementType())) {
    SmallVector<APFloat> values;
    for (size_t i = 0; i < count; ++i)
      values.emplace_back(floats.getFloatSemantics(),
                          APInt(width, readElement(bytes, i, width)));
    return DenseElementsAttr::get(result, values);
  }
  unsigned bits = result.getElementType().getIntOrFloatBitWidth();
  SmallVector<APInt> values;
  for (size_t i = 0; i < count; ++i)
    values.emplace_back(bits, readElement(bytes, i, width), false, true);
  return DenseElementsAttr::get(result, values);
}

/// The graph's form of one attribute, or none when it has another kind.
static std::optional<backplane::Attribute> toAttribute(AttributeKind kind,
                                                       Attribute attribute) {
  switch (kind) {
  case AttributeKind::I64:
    if (auto integer = dyn_cast<IntegerAttr>(attribute))
      return integer.getValue().getSExtValue();
    break;
  case AttributeKind::Bool:
    if (auto flag = dyn_cast<BoolAttr>(attribute))
      return int64_t(flag.getValue());
    break;
  case AttributeKind::DType:
    if (auto type = dyn_cast<TypeAttr>(attribute))
      if (auto dtype = bp::toDType(type.getValue()))
        return int64_t(*dtype);
    break;
  case AttributeKind::F64:
    if (auto number = dyn_cast<FloatAttr>(attribute))
      return number.getValueAsDouble();
    break;
  case AttributeKind::String:
    if (auto text = dyn_cast<StringAttr>(attribute))
      return text.getValue().str();
    break;
  case AttributeKind::I64s:
    if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute))
      return std::vector<int64_t>(list.asArrayRef());
    break;
  case AttributeKind::Dims:
    if (auto dims = dyn_cast<bp::DimsAttr>(attribute))
      return dims.getDims();
    break;
  case AttributeKind::Bytes:
    if (auto elements = dyn_cast<DenseElementsAttr>(attribute))
      if (bp::toDType(elements.getElementType()))
        return bp::toBytes(elements);
    break;
  }
  return std::nullopt;
}

backplane::Result<backplane::Attributes>
bp::toAttributes(const backplane::OpSpec &spec, DictionaryAttr dictionary) {
  backplane::Attributes attributes;
  for (const backplane::AttributeSpec &attribute : spec.attributes) {
    Attribute given = dictionary.get(StringRef(attribute.name));
    if (!given)
      continue;
    auto value = toAttribute(attribute.kind, given);
    if (!value)
      return backplane::invalidArgument(
          "attribute " + std::string(attribute.name) + " is not of its kind");
    attributes.emplace(attribute.name, std::move(*value));
  }
  if (auto status = completeAttributes(spec, attributes); !status.ok())
    return status;
  return attributes;
}

Value bp::fill(OpBuilder &builder, Location loc, RankedTensorType type,
               Attribute number) {
  bool held = type.hasStaticShape() && type.getNumElements() > 0;
  auto holder = RankedTensorType::get(
      held ? type.getShape() : ArrayRef<int64_t>(), type.getElementType());
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(holder, number),
                            TypeAttr::get(type.getElementType()),
                            DimsAttr::get(type.getContext(), dimsOf(type)));
}

/// The type that a `bytes` attribute fills: what dtype and dims say.
static backplane::TensorType bytesType(const backplane::Attributes &all) {
  backplane::TensorType type;
  type.dtype = DType(std::get<int64_t>(all.find("dtype")->second));
  type.dims = std::get<backplane::Dims>(all.find("dims")->second);
  return type;
}

static Attribute fromAttribute(Builder &builder, AttributeKind kind,
                               const backplane::Attribute &value,
                               const backplane::Attributes &all) {
  switch (kind) {
  case AttributeKind::I64:
    return builder.getI64IntegerAttr(std::get<int64_t>(value));
  case AttributeKind::Bool:
    return builder.getBoolAttr(std::get<int64_t>(value) != 0);
  case AttributeKind::DType:
    return TypeAttr::get(
        bp::toType(builder.getContext(), DType(std::get<int64_t>(value))));
  case AttributeKind::F64:
    return builder.getF64FloatAttr(std::get<double>(value));
  case AttributeKind::String:
    return builder.getStringAttr(std::get<std::string>(value));
  case AttributeKind::I64s:
    return builder.getDenseI64ArrayAttr(std::get<std::vector<int64_t>>(value));
  case AttributeKind::Dims:
    return bp::DimsAttr::get(builder.getContext(),
                             std::get<backplane::Dims>(value));
  case AttributeKind::Bytes:
    return bp::toElements(builder.getContext(), bytesType(all),
                          std::get<backplane::Bytes>(value));
  }
  return {};
}

SmallVector<NamedAttribute>
bp::fromAttributes(MLIRContext *context, const backplane::OpSpec &spec,
                   const backplane::Attributes &attributes) {
  Builder builder(context);
  SmallVector<NamedAttribute> result;
  for (const backplane::AttributeSpec &attribute : spec.attributes)
    if (auto found = attributes.find(attribute.name); found != attributes.end())
      result.push_back(builder.getNamedAttr(
          StringRef(attribute.name),
          fromAttribute(builder, attribute.kind, found->second, attributes)));
  return result;
}

std::string bp::locationText(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().str();
  std::string text;
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string next = locationText(part); !next.empty())
        text += (text.empty() ? "" : " + ") + next;
  return text;
}
