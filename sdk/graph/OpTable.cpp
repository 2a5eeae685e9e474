// SPDX-License-Identifier: Apache-2.0
#include "OpTable.h"

#include "ShapeRules.h"

#include <algorithm>
#include <charconv>

namespace backplane {

namespace {

#include "sdk/graph/OpTable.inc"

std::string prefix(const OpSpec &spec) { return std::string(spec.name) + ": "; }

// ---- attributes ----

/// The alternative of Attribute that holds a kind.
size_t alternative(AttributeKind kind) {
  switch (kind) {
  case AttributeKind::I64:
  case AttributeKind::Bool:
  case AttributeKind::DType:
    return 0;
  case AttributeKind::F64:
    return 1;
  case AttributeKind::String:
    return 2;
  case AttributeKind::I64s:
    return 3;
  case AttributeKind::Dims:
    return 4;
  case AttributeKind::Bytes:
    return 5;
  }
  return std::variant_npos;
}

constexpr std::string_view kindNames[] = {"an integer", "a float", "a string",
                                          "integers",   "dims",    "bytes"};

bool isChoice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    size_t end = std::min(choices.find('|'), choices.size());
    if (choices.substr(0, end) == value)
      return true;
    choices.remove_prefix(std::min(end + 1, choices.size()));
  }
  return false;
}

/// What is wrong with a value, or nothing.
std::string complaint(const AttributeSpec &spec, const Attribute &value) {
  size_t wanted = alternative(spec.kind);
  if (value.index() != wanted)
    return "is " + std::string(kindNames[value.index()]) + ", needs " +
           std::string(kindNames[wanted]);
  if (spec.kind == AttributeKind::Bool &&
      (std::get<int64_t>(value) & ~int64_t(1)) != 0)
    return "is " + std::to_string(std::get<int64_t>(value)) + ", needs 0 or 1";
  if (spec.kind == AttributeKind::DType && !dtypeOf(value))
    return "is " + std::to_string(std::get<int64_t>(value)) +
           ", which is no dtype";
  if (!spec.choices.empty() &&
      !isChoice(spec.choices, std::get<std::string>(value)))
    return "is \"" + std::get<std::string>(value) + "\", needs one of " +
           std::string(spec.choices);
  return {};
}

Attribute parseDefault(const AttributeSpec &spec) {
  const char *begin = spec.defaultValue.data();
  const char *end = begin + spec.defaultValue.size();
  if (alternative(spec.kind) == 0) {
    int64_t value = 0;
    std::from_chars(begin, end, value);
    return value;
  }
  if (spec.kind == AttributeKind::F64) {
    double value = 0;
    std::from_chars(begin, end, value);
    return value;
  }
  if (spec.kind == AttributeKind::I64s)
    return std::vector<int64_t>();
  return std::string(spec.defaultValue);
}

const AttributeSpec *findAttribute(const OpSpec &spec, std::string_view name) {
  for (const AttributeSpec &attribute : spec.attributes)
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}

// ---- operands ----

Status checkCount(const OpSpec &spec, size_t count) {
  size_t minimum = static_cast<size_t>(spec.minOperands);
  bool variadic = spec.maxOperands < 0;
  size_t maximum = variadic ? count : static_cast<size_t>(spec.maxOperands);
  if (count >= minimum && count <= maximum)
    return {};
  std::string more = variadic ? " or more" : "";
  if (!variadic && maximum > minimum)
    more = " to " + std::to_string(maximum);
  return invalidArgument(prefix(spec) + "takes " + std::to_string(minimum) +
                         more + " operands, found " + std::to_string(count));
}

std::string_view operandName(const OpSpec &spec, size_t index) {
  return spec.operandNames[std::min(index, spec.operandNames.size() - 1)];
}

std::string_view setName(TypeSet set) {
  constexpr std::string_view names[] = {"any dtype",  "a float",
                                        "an integer", "a float or an integer",
                                        "bool",       "an integer or bool"};
  return names[static_cast<size_t>(set)];
}

Status wrongType(const OpSpec &spec, std::string_view what, DType found) {
  return invalidArgument(prefix(spec) + std::string(what) + " is " +
                         std::string(name(found)) + ", needs " +
                         std::string(setName(spec.types)));
}

/// The shared dtype is in the type set of the op, and is shared.
Status checkDTypes(const OpUse &use) {
  const OpSpec &spec = use.spec;
  if (use.operands.empty()) {
    auto it = use.attributes.find("dtype");
    if (it != use.attributes.end() &&
        !contains(spec.types, *dtypeOf(it->second)))
      return wrongType(spec, "dtype", *dtypeOf(it->second));
    return {};
  }
  const TensorType *first = nullptr;
  for (size_t i = 0; i < use.operands.size(); ++i) {
    std::string_view operand = operandName(spec, i);
    auto own = spec.ownDTypes;
    if (std::find(own.begin(), own.end(), operand) != own.end())
      continue;
    DType type = use.operands[i].dtype;
    if (!contains(spec.types, type))
      return wrongType(spec, "operand " + std::string(operand), type);
    if (first && first->dtype != type)
      return invalidArgument(prefix(spec) + "operands share one dtype, found " +
                             std::string(name(first->dtype)) + " and " +
                             std::string(name(type)));
    first = first ? first : &use.operands[i];
  }
  return {};
}

Status checkResults(const OpSpec &spec, const std::vector<TensorType> &types) {
  for (const TensorType &type : types) {
    if (type.rank() > maxRank)
      return invalidArgument(prefix(spec) + "result has rank " +
                             std::to_string(type.rank()) + ", the limit is " +
                             std::to_string(maxRank));
    for (const Dim &dim : type.dims) {
      if (!dim.valid())
        return invalidArgument(
            prefix(spec) + "a dim of the result is too complex or too large");
      if (dim.constant().value_or(0) < 0)
        return invalidArgument(prefix(spec) +
                               "result has a negative size: " + type.str());
    }
  }
  return {};
}

} // namespace

std::optional<DType> dtypeOf(const Attribute &value) {
  int64_t number = std::get<int64_t>(value);
  if (number <= BP_DTYPE_INVALID || number >= BP_DTYPE_COUNT_)
    return std::nullopt;
  return static_cast<DType>(number);
}

bool contains(TypeSet set, DType type) {
  bool isInt =
      (isSignedInteger(type) || isUnsignedInteger(type)) && bitWidth(type) >= 8;
  bool isReal = isFloat(type) && bitWidth(type) >= 16;
  switch (set) {
  case TypeSet::Any:
    return bitWidth(type) != 0;
  case TypeSet::Float:
    return isReal;
  case TypeSet::Int:
    return isInt;
  case TypeSet::Number:
    return isReal || isInt;
  case TypeSet::Bool:
    return type == DType::Bool;
  case TypeSet::Bits:
    return isInt || type == DType::Bool;
  }
  return false;
}

std::span<const OpSpec> opTable() { return table; }

const OpSpec *findOp(std::string_view name) {
  const OpSpec *end = std::end(table);
  const OpSpec *found = std::lower_bound(
      std::begin(table), end, name,
      [](const OpSpec &op, std::string_view n) { return op.name < n; });
  return found != end && found->name == name ? found : nullptr;
}

uint32_t minVersion(const OpSpec &spec, const Attributes &attributes) {
  uint32_t version = 1;
  for (const AttributeSpec &attribute : spec.attributes) {
    auto found = attributes.find(attribute.name);
    if (found != attributes.end() &&
        (attribute.required || found->second != parseDefault(attribute)))
      version = std::max(version, attribute.since);
  }
  return version;
}

bool isInVersion(std::string_view op, uint32_t version,
                 std::string_view attribute) {
  const OpSpec *spec = findOp(op);
  const AttributeSpec *entry = spec ? findAttribute(*spec, attribute) : nullptr;
  return !entry || entry->since <= version;
}

void completeNewer(const OpSpec &spec, uint32_t version,
                   Attributes &attributes) {
  for (const AttributeSpec &attribute : spec.attributes)
    if (attribute.since > version)
      attributes.try_emplace(std::string(attribute.name),
                             parseDefault(attribute));
}

Status completeAttributes(const OpSpec &spec, Attributes &attributes) {
  for (const AttributeSpec &attribute : spec.attributes)
    if (!attribute.required && !attributes.contains(attribute.name))
      attributes.emplace(attribute.name, parseDefault(attribute));
  return checkAttributes(spec, attributes);
}

Status checkAttributes(const OpSpec &spec, const Attributes &attributes) {
  for (const auto &[name, value] : attributes) {
    const AttributeSpec *attribute = findAttribute(spec, name);
    if (!attribute)
      return invalidArgument(prefix(spec) + "has no attribute " + name);
    if (std::string wrong = complaint(*attribute, value); !wrong.empty())
      return invalidArgument(prefix(spec) + name + " " + wrong);
  }
  for (const AttributeSpec &attribute : spec.attributes)
    if (!attributes.contains(attribute.name))
      return invalidArgument(prefix(spec) + "attribute " +
                             std::string(attribute.name) + " is missing");
  return {};
}

Result<std::vector<TensorType>> inferTypes(const OpSpec &spec,
                                           std::span<const TensorType> operands,
                                           const Attributes &attributes) {
  if (Status status = checkCount(spec, operands.size()); !status.ok())
    return status;
  if (Status status = checkAttributes(spec, attributes); !status.ok())
    return status;
  OpUse use{spec, operands, attributes};
  if (Status status = checkDTypes(use); !status.ok())
    return status;
  Result<std::vector<TensorType>> types = spec.shape(use);
  if (types)
    if (Status status = checkResults(spec, *types); !status.ok())
      return status;
  return types;
}

} // namespace backplane
