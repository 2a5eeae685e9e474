// SPDX-License-Identifier: Apache-2.0
#include "sdk/dialect/Convert.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bp;

#include "sdk/dialect/BpDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "sdk/dialect/BpAttributes.cpp.inc"

void BpDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "sdk/dialect/BpAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "sdk/dialect/BpOps.cpp.inc"
      >();
}

Operation *BpDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                          Type type, Location location) {
  auto elements = dyn_cast<DenseElementsAttr>(value);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!elements || !tensor)
    return nullptr;
  auto dims = DimsAttr::get(builder.getContext(), dimsOf(tensor));
  return ConstantOp::create(builder, location, type, elements,
                            TypeAttr::get(tensor.getElementType()), dims);
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

DimsAttr DimsAttr::get(MLIRContext *context,
                       const std::vector<backplane::Dim> &dims) {
  SmallVector<StringAttr> texts;
  for (const backplane::Dim &dim : dims)
    texts.push_back(StringAttr::get(context, dim.str()));
  return get(context, texts);
}

std::vector<backplane::Dim> DimsAttr::getDims() const {
  std::vector<backplane::Dim> dims;
  for (StringAttr text : getTexts())
    dims.push_back(*backplane::Dim::parse(text.getValue()));
  return dims;
}

LogicalResult DimsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> texts) {
  for (StringAttr text : texts) {
    auto dim = backplane::Dim::parse(text.getValue());
    if (!dim)
      return emitError() << dim.message();
    if (dim->str() != text.getValue())
      return emitError() << "dim \"" << text.getValue()
                         << "\" is not canonical, write \"" << dim->str()
                         << "\"";
  }
  return success();
}

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> texts;
  auto parseText = [&]() -> ParseResult {
    std::string text;
    auto location = parser.getCurrentLocation();
    if (parser.parseString(&text))
      return failure();
    auto dim = backplane::Dim::parse(text);
    if (!dim)
      return parser.emitError(location, dim.message());
    texts.push_back(StringAttr::get(parser.getContext(), dim->str()));
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseText) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), texts);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getTexts(), printer);
  printer << "]>";
}

LogicalResult
DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getTexts().size())
    return emitError() << "#bp.dims has " << getTexts().size()
                       << " entries for rank " << shape.size();
  for (auto [size, text] : llvm::zip(shape, getTexts())) {
    auto dim = backplane::Dim::parse(text.getValue());
    if (!dim)
      return emitError() << dim.message();
    if (dim->constant().value_or(ShapedType::kDynamic) != size)
      return emitError() << "#bp.dims says " << text
                         << " where the shape says otherwise";
  }
  return success();
}

LogicalResult bp::inferTableTypes(MLIRContext *context,
                                  std::optional<Location> location,
                                  StringRef name, TypeRange operands,
                                  DictionaryAttr attributes,
                                  SmallVectorImpl<Type> &types) {
  const backplane::OpSpec *spec = backplane::findOp(name);
  if (!spec)
    return emitOptionalError(location, "the op table has no ", name);
  std::vector<backplane::TensorType> converted;
  for (Type operand : operands) {
    auto type = toTensorType(operand);
    if (!type)
      return emitOptionalError(location, type.message());
    converted.push_back(std::move(*type));
  }
  auto table = toAttributes(*spec, attributes);
  if (!table)
    return emitOptionalError(location, table.message());
  auto inferred = inferTypes(*spec, converted, *table);
  if (!inferred)
    return emitOptionalError(location, inferred.message());
  for (const backplane::TensorType &type : *inferred)
    types.push_back(toType(context, type));
  return success();
}
