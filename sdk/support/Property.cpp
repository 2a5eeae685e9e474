// SPDX-License-Identifier: Apache-2.0
#include "sdk/support/Property.h"

#include "sdk/support/Concat.h"
#include "sdk/support/GivenText.h"

#include <cmath>
#include <cstdio>

namespace backplane {
namespace {

constexpr uint64_t maxProperties = 1024, maxNumbers = 1024;

std::string listText(const std::vector<int64_t> &numbers) {
  std::string text = "[";
  for (int64_t number : numbers)
    text += concat({text.size() > 1 ? "," : "", std::to_string(number)});
  return text + "]";
}

std::string numberText(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", number);
  return text;
}

Status badList(uint64_t count, std::string_view what, uint64_t max) {
  return invalidArgument(
      concat({"it has ", std::to_string(count), what, ", at most ",
              std::to_string(max), " in a valid array"}));
}

Status copyValue(const bp_property_t &from, Property::Value &value) {
  switch (from.kind) {
  case BP_PROPERTY_I64:
    value = from.i64;
    return {};
  case BP_PROPERTY_F64:
    value = from.f64;
    return std::isfinite(from.f64)
               ? Status()
               : invalidArgument("its number is not finite");
  case BP_PROPERTY_STRING:
    if (!isReadable(from.string))
      return invalidArgument("its string is damaged");
    value.emplace<std::string>(view(from.string));
    return {};
  case BP_PROPERTY_I64S:
    if (from.count > maxNumbers || (from.count && !from.i64s))
      return badList(from.count, " numbers", maxNumbers);
    value.emplace<std::vector<int64_t>>(from.i64s, from.i64s + from.count);
    return {};
  default:
    return unimplemented(concat({"it has the kind ", std::to_string(from.kind),
                                 ", which this host does not know"}));
  }
}

Status checkRange(const PropertyKey &entry, int64_t number) {
  if (number >= entry.min && number <= entry.max)
    return {};
  return invalidArgument(
      concat({"it is ", std::to_string(number), "; it must be from ",
              std::to_string(entry.min), " to ", std::to_string(entry.max)}));
}

/// All well-known keys have integers.
Status checkValue(const PropertyKey &entry, const Property &property) {
  if (property.kind() != entry.kind)
    return invalidArgument(
        concat({"it has the kind ", propertyKindName(property.kind()), ", not ",
                propertyKindName(entry.kind)}));
  if (const auto *number = std::get_if<int64_t>(&property.value))
    return checkRange(entry, *number);
  const auto *numbers = std::get_if<std::vector<int64_t>>(&property.value);
  if (!numbers || numbers->empty() || numbers->size() % entry.multiple)
    return invalidArgument(
        concat({"it has ", std::to_string(numbers ? numbers->size() : 0),
                " numbers, not one or more groups of ",
                std::to_string(entry.multiple)}));
  for (int64_t number : *numbers)
    if (Status s = checkRange(entry, number); !s.ok())
      return s;
  return {};
}

/// Copies the value for a key that is there.
Status copyInto(Property &property, const bp_property_t &from) {
  Result<const PropertyKey *> entry = findPropertyKey(property.key);
  if (!entry)
    return entry.status();
  Status status = copyValue(from, property.value);
  return status.ok() && *entry ? checkValue(**entry, property) : status;
}

} // namespace

std::string_view propertyKindName(uint32_t kind) {
  constexpr std::string_view names[] = {"i64", "f64", "string", "i64s"};
  uint32_t index = kind - BP_PROPERTY_I64;
  return index < std::size(names) ? names[index] : "unknown";
}

std::string Property::str() const {
  const bp_property_t plain = c();
  switch (plain.kind) {
  case BP_PROPERTY_I64:
    return concat({key, "=", std::to_string(plain.i64)});
  case BP_PROPERTY_F64:
    return concat({key, "=", numberText(plain.f64)});
  case BP_PROPERTY_STRING:
    return concat({key, "=", view(plain.string)});
  default:
    return concat({key, "=", listText(std::get<3>(value))});
  }
}

bp_property_t Property::c() const {
  bp_property_t c = {toC(key), kind(), 0, 0, 0, {nullptr, 0}, nullptr};
  if (const auto *number = std::get_if<int64_t>(&value))
    c.i64 = *number;
  else if (const auto *real = std::get_if<double>(&value))
    c.f64 = *real;
  else if (const auto *text = std::get_if<std::string>(&value))
    c.string = toC(*text);
  else if (const auto *list = std::get_if<std::vector<int64_t>>(&value)) {
    c.i64s = list->data();
    c.count = uint32_t(list->size());
  }
  return c;
}

Result<std::vector<Property>> copyProperties(const bp_property_t *items,
                                             uint64_t count) {
  if (count > maxProperties || (count && !items))
    return badList(count, " properties", maxProperties);
  std::vector<Property> properties;
  for (uint64_t i = 0; i < count; ++i) {
    if (!isReadable(items[i].key))
      return invalidArgument("a property has a damaged key");
    std::string_view key = view(items[i].key);
    bool twice = findProperty(properties, key) != nullptr;
    Property &property = properties.emplace_back();
    property.key = key;
    Status status = twice ? invalidArgument("it is there twice")
                          : copyInto(property, items[i]);
    if (!status.ok())
      return status.within(concat({"property '", key.substr(0, 80), "'"}));
  }
  return properties;
}

const Property::Value *findProperty(std::span<const Property> properties,
                                    std::string_view key) {
  for (const Property &property : properties)
    if (property.key == key)
      return &property.value;
  return nullptr;
}

std::vector<bp_property_t> cForms(const std::vector<Property> &properties) {
  std::vector<bp_property_t> list;
  list.reserve(properties.size());
  for (const Property &property : properties)
    list.push_back(property.c());
  return list;
}

} // namespace backplane
