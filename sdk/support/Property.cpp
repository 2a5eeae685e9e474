// SPDX-License-Identifier: Apache-2.0
#include "sdk/support/Property.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace backplane {
namespace {

constexpr uint64_t maxProperties = 1024, maxNumbers = 1024;
constexpr uint64_t maxTextBytes = 1u << 16;

std::string listText(const std::vector<int64_t> &numbers) {
  std::string text = "[";
  for (int64_t number : numbers)
    text += (text.size() > 1 ? "," : "") + std::to_string(number);
  return text + "]";
}

std::string numberText(double number) {
  char text[32];
  auto [end, error] = std::to_chars(text, text + sizeof(text), number);
  return std::string(text, end);
}

bool sane(bp_string_t text) {
  return text.size == 0 || (text.data && text.size <= maxTextBytes);
}

Result<Property::Value> copyValue(const bp_property_t &from) {
  using Value = Property::Value;
  switch (from.kind) {
  case BP_PROPERTY_I64:
    return Value(from.i64);
  case BP_PROPERTY_F64:
    if (!std::isfinite(from.f64))
      return invalidArgument("its number is not finite");
    return Value(from.f64);
  case BP_PROPERTY_STRING:
    if (!sane(from.string))
      return invalidArgument("its string is damaged");
    return Value(std::string(view(from.string)));
  case BP_PROPERTY_I64S:
    if (from.count > maxNumbers || (from.count && !from.i64s))
      return invalidArgument("it has a list of " + std::to_string(from.count) +
                             " numbers, at most " + std::to_string(maxNumbers) +
                             " in a valid array");
    return Value(std::vector<int64_t>(from.i64s, from.i64s + from.count));
  default:
    return unimplemented("it has the kind " + std::to_string(from.kind) +
                         ", which this host does not know");
  }
}

Status checkRange(const PropertyKey &entry, int64_t number) {
  if (number >= entry.min && number <= entry.max)
    return {};
  return invalidArgument("it is " + std::to_string(number) +
                         "; it must be from " + std::to_string(entry.min) +
                         " to " + std::to_string(entry.max));
}

Status checkValue(const PropertyKey &entry, const Property &property) {
  if (property.kind() != entry.kind)
    return invalidArgument(
        "it has the kind " + std::string(propertyKindName(property.kind())) +
        ", not " + std::string(propertyKindName(entry.kind)));
  if (const auto *number = std::get_if<int64_t>(&property.value))
    return checkRange(entry, *number);
  const auto &numbers = std::get<std::vector<int64_t>>(property.value);
  if (numbers.empty() || numbers.size() % entry.multiple)
    return invalidArgument("it has " + std::to_string(numbers.size()) +
                           " numbers, not one or more groups of " +
                           std::to_string(entry.multiple));
  for (int64_t number : numbers)
    if (Status s = checkRange(entry, number); !s.ok())
      return s;
  return {};
}

Result<Property> copyProperty(const bp_property_t &from) {
  if (!sane(from.key))
    return invalidArgument("a property has a damaged key");
  Property property{std::string(view(from.key)), {}};
  Result<const PropertyKey *> entry = findPropertyKey(property.key);
  if (!entry)
    return entry.status().within("property '" + property.key.substr(0, 80) +
                                 "'");
  Status status;
  if (Result<Property::Value> value = copyValue(from))
    property.value = std::move(*value);
  else
    status = value.status();
  if (status.ok() && *entry)
    status = checkValue(**entry, property);
  if (!status.ok())
    return status.within("property '" + property.key + "'");
  return property;
}

} // namespace

std::string_view propertyKindName(uint32_t kind) {
  constexpr std::string_view names[] = {"i64", "f64", "string", "i64s"};
  uint32_t index = kind - BP_PROPERTY_I64;
  return index < std::size(names) ? names[index] : "unknown";
}

std::string Property::str() const {
  struct Writer {
    std::string operator()(int64_t number) { return std::to_string(number); }
    std::string operator()(double number) { return numberText(number); }
    std::string operator()(const std::string &text) { return text; }
    std::string operator()(const std::vector<int64_t> &numbers) {
      return listText(numbers);
    }
  };
  return key + "=" + std::visit(Writer{}, value);
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
    return invalidArgument("it has " + std::to_string(count) +
                           " properties, at most " +
                           std::to_string(maxProperties) + " in a valid array");
  std::vector<Property> properties;
  std::set<std::string> keys;
  for (uint64_t i = 0; i < count; ++i) {
    Result<Property> property = copyProperty(items[i]);
    if (!property)
      return property.status();
    if (!keys.insert(property->key).second)
      return invalidArgument("property '" + property->key + "' is there twice");
    properties.push_back(std::move(*property));
  }
  return properties;
}

const Property::Value *findProperty(std::span<const Property> properties,
                                    std::string_view key) {
  auto found = std::ranges::find(properties, key, &Property::key);
  return found == properties.end() ? nullptr : &found->value;
}

std::vector<bp_property_t> cForms(const std::vector<Property> &properties) {
  std::vector<bp_property_t> list;
  for (const Property &property : properties)
    list.push_back(property.c());
  return list;
}

} // namespace backplane
