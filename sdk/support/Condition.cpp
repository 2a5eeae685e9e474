// SPDX-License-Identifier: Apache-2.0
#include "sdk/support/Condition.h"

#include "sdk/support/Concat.h"

#include <algorithm>
#include <charconv>

namespace backplane {
namespace {

constexpr size_t maxFeatureBytes = 256;

/// Longer ones before those that they begin with; in the order of Op.
constexpr std::string_view operators[] = {">=", "<=", "==", "!=", ">", "<"};

Status malformed(std::string_view text, std::string_view why) {
  return invalidArgument(
      concat({"the condition '", text.substr(0, 80), "' ", why}));
}

/// The only text that stands for the number.
bool parseNumber(std::string_view text, int64_t &number) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() &&
         std::to_string(number) == text;
}

bool isFeature(std::string_view text) {
  return !text.empty() && text.size() <= maxFeatureBytes &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') ||
                  std::string_view("_.+=:/-").find(c) != std::string_view::npos;
         });
}

} // namespace

bool isComparison(std::string_view text) {
  return text.find_first_of("<>!") != std::string_view::npos ||
         text.find("==") != std::string_view::npos;
}

Result<Condition> Condition::parse(std::string_view text) {
  size_t at = text.find_first_of("<>!=");
  std::string_view rest =
      at == std::string_view::npos ? std::string_view() : text.substr(at);
  const auto *op = std::ranges::find_if(
      operators, [&](std::string_view name) { return rest.starts_with(name); });
  if (op == std::end(operators))
    return malformed(text, "has none of >= <= == != > <");
  Condition condition{std::string(text.substr(0, at)),
                      Op(op - std::begin(operators)), 0};
  Result<const PropertyKey *> entry = findPropertyKey(condition.key);
  if (!entry)
    return entry.status().within(malformed(text, "has no key").message());
  if (*entry && (*entry)->kind != BP_PROPERTY_I64)
    return malformed(text, "compares a key that is no i64");
  if (!parseNumber(rest.substr(op->size()), condition.number))
    return malformed(text, "does not end in a 64-bit integer");
  return condition;
}

bool Condition::holds(int64_t value) const {
  switch (op) {
  case Op::AtLeast:
    return value >= number;
  case Op::AtMost:
    return value <= number;
  case Op::Equal:
    return value == number;
  case Op::NotEqual:
    return value != number;
  case Op::Above:
    return value > number;
  case Op::Below:
    return value < number;
  }
  return false;
}

std::string Condition::str() const {
  return concat({key, operators[size_t(op)], std::to_string(number)});
}

Status checkRequirement(std::string_view text) {
  if (isComparison(text)) {
    Result<Condition> condition = Condition::parse(text);
    return condition ? Status() : condition.status();
  }
  if (isFeature(text))
    return {};
  return invalidArgument(
      concat({"the feature '", text.substr(0, 80),
              "' is empty, too long, or holds characters other than letters, "
              "digits and _.+=:/-"}));
}

} // namespace backplane
