// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/common/TargetProperties.h"

#include "sdk/dialect/Attributes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace backplane {

static Attribute toAttribute(Builder &builder, const Property::Value &value) {
  if (const auto *number = std::get_if<int64_t>(&value))
    return builder.getI64IntegerAttr(*number);
  if (const auto *real = std::get_if<double>(&value))
    return builder.getF64FloatAttr(*real);
  if (const auto *text = std::get_if<std::string>(&value))
    return builder.getStringAttr(*text);
  return builder.getDenseI64ArrayAttr(std::get<std::vector<int64_t>>(value));
}

void setTargetProperties(ModuleOp module, ArrayRef<Property> properties) {
  if (properties.empty())
    return;
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> stated;
  for (const Property &property : properties)
    stated.push_back(builder.getNamedAttr(
        property.key, toAttribute(builder, property.value)));
  module->setAttr(bp::targetAttr, builder.getDictionaryAttr(stated));
}

TargetProperties::TargetProperties(ModuleOp module)
    : module_(module),
      stated_(module->getAttrOfType<DictionaryAttr>(bp::targetAttr)) {}

template <typename A>
FailureOr<A> TargetProperties::get(StringRef key, StringRef kind) const {
  Attribute value = stated_ ? stated_.get(key) : Attribute();
  if (!value || isa<A>(value))
    return cast_or_null<A>(value);
  ModuleOp module = module_;
  return module.emitError("the target's ")
         << key << " is " << value << ", which is no " << kind;
}

LogicalResult TargetProperties::read(StringRef key, int64_t &out) const {
  FailureOr<IntegerAttr> value = get<IntegerAttr>(key, "i64");
  if (succeeded(value) && *value)
    out = value->getInt();
  return value;
}

LogicalResult TargetProperties::read(StringRef key,
                                     SmallVectorImpl<int64_t> &out) const {
  FailureOr<DenseI64ArrayAttr> value = get<DenseI64ArrayAttr>(key, "i64s");
  if (succeeded(value) && *value)
    out.assign(value->asArrayRef().begin(), value->asArrayRef().end());
  return value;
}

} // namespace backplane
