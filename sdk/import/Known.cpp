// SPDX-License-Identifier: Apache-2.0
#include "Known.h"

#include <algorithm>

namespace backplane::frontend {

TensorType Known::type() const {
  return TensorType{dtype, Dims(dims.begin(), dims.end())};
}

std::optional<std::vector<int64_t>> Known::constants() const {
  std::vector<int64_t> values;
  for (const KnownElement &element : elements) {
    std::optional<int64_t> value = element.value.constant();
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

bool canBeKnown(DType type) {
  return type == DType::I64 || type == DType::I32 || type == DType::Bool;
}

Known knownDims(std::span<const Dim> dims) {
  Known known{DType::I64, {static_cast<int64_t>(dims.size())}, {}};
  for (const Dim &dim : dims)
    known.elements.push_back(KnownElement::size(dim));
  return known;
}

Known knownScalar(DType type, KnownElement element) {
  return Known{type, {}, {std::move(element)}};
}

std::optional<Known> knownContents(const HostTensor &tensor) {
  if (!canBeKnown(tensor.dtype) || tensor.count() > kMaxKnown)
    return std::nullopt;
  Known known{tensor.dtype, tensor.dims, {}};
  for (size_t i = 0, count = tensor.count(); i < count; ++i)
    known.elements.push_back(
        KnownElement::number(integerAt(tensor, i).value_or(0)));
  return known;
}

void Odometer::step() {
  for (size_t axis = dims_.size(); axis-- > 0;) {
    if (++index_[axis] < dims_[axis])
      return;
    index_[axis] = 0;
  }
}

size_t positionOf(std::span<const int64_t> dims,
                  std::span<const int64_t> index) {
  size_t position = 0;
  size_t missing = index.size() - dims.size();
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    int64_t at = dims[axis] == 1 ? 0 : index[missing + axis];
    position =
        position * static_cast<size_t>(dims[axis]) + static_cast<size_t>(at);
  }
  return position;
}

std::optional<Known> pick(const Known &from, std::vector<int64_t> dims,
                          std::span<const size_t> positions) {
  Known result{from.dtype, std::move(dims), {}};
  for (size_t position : positions) {
    if (position >= from.elements.size())
      return std::nullopt;
    result.elements.push_back(from.elements[position]);
  }
  return result;
}

std::optional<std::vector<int64_t>> broadcastDims(std::span<const int64_t> a,
                                                  std::span<const int64_t> b) {
  std::vector<int64_t> dims(std::max(a.size(), b.size()), 1);
  for (std::span<const int64_t> operand : {a, b})
    for (size_t i = 0; i < operand.size(); ++i) {
      int64_t &dim = dims[dims.size() - operand.size() + i];
      if (dim != 1 && operand[i] != 1 && dim != operand[i])
        return std::nullopt;
      dim = dim == 1 ? operand[i] : dim;
    }
  return dims;
}

namespace {

using Element = std::optional<KnownElement>;

/// A plain number, if it is one that the dtype can hold.
Element checked(KnownElement element, DType type) {
  if (!element.value.valid())
    return std::nullopt;
  std::optional<int64_t> value = element.value.constant();
  if (!value) {
    element.nonNegative |= element.value.nonNegative();
    return element;
  }
  if (type == DType::I32 && (*value < INT32_MIN || *value > INT32_MAX))
    return std::nullopt;
  return KnownElement::number(*value);
}

/// a / b rounded towards zero, b a positive number.
Element divide(const KnownElement &a, const KnownElement &b) {
  std::optional<int64_t> divisor = b.value.constant();
  if (!divisor || *divisor < 1)
    return std::nullopt;
  return a.nonNegative ? KnownElement{floorDiv(a.value, b.value), true}
                       : KnownElement{truncDiv(a.value, b.value), false};
}

Element arithmetic(std::string_view op, const KnownElement &a,
                   const KnownElement &b) {
  bool both = a.nonNegative && b.nonNegative;
  if (op == "add")
    return KnownElement{a.value + b.value, both};
  if (op == "sub")
    return KnownElement{a.value - b.value, false};
  if (op == "mul")
    return KnownElement{a.value * b.value, both};
  if (op == "min")
    return KnownElement{min(a.value, b.value), both};
  if (op == "max")
    return KnownElement{max(a.value, b.value), a.nonNegative || b.nonNegative};
  if (op == "div")
    return divide(a, b);
  bool positive = b.value.constant().value_or(0) > 0;
  if (op == "mod" && positive)
    return KnownElement{mod(a.value, b.value), true};
  if (op == "rem" && positive && a.nonNegative)
    return KnownElement{mod(a.value, b.value), true};
  return std::nullopt;
}

/// The sign of a - b, where it is the same for all symbols.
std::optional<int> order(const KnownElement &a, const KnownElement &b) {
  if (!a.value.valid() || !b.value.valid())
    return std::nullopt;
  std::optional<int64_t> x = a.value.constant(), y = b.value.constant();
  if (x && y)
    return *x < *y ? -1 : *x > *y;
  if (std::optional<int64_t> difference = (a.value - b.value).constant())
    return *difference < 0 ? -1 : *difference > 0;
  if (a.nonNegative && y && *y < 0)
    return 1;
  if (b.nonNegative && x && *x < 0)
    return -1;
  return std::nullopt;
}

/// A bool that only the call knows.
Element truth(const Dim &value) {
  return value.valid() ? Element(KnownElement{value, true}) : std::nullopt;
}

Dim opposite(const Dim &flag) { return Dim(1) - flag; }

Element relation(std::string_view op, const KnownElement &a,
                 const KnownElement &b) {
  if (!a.value.valid() || !b.value.valid())
    return std::nullopt;
  if (std::optional<int> sign = order(a, b)) {
    bool holds = (op == "eq" && *sign == 0) || (op == "ne" && *sign != 0) ||
                 (op == "lt" && *sign < 0) || (op == "le" && *sign <= 0) ||
                 (op == "gt" && *sign > 0) || (op == "ge" && *sign >= 0);
    return KnownElement::number(holds);
  }
  if (op == "eq" || op == "ne") {
    Dim same = equal(a.value, b.value);
    return truth(op == "eq" ? same : opposite(same));
  }
  if (op == "lt" || op == "gt")
    return truth(op == "lt" ? less(a.value, b.value) : less(b.value, a.value));
  return truth(
      opposite(op == "ge" ? less(a.value, b.value) : less(b.value, a.value)));
}

/// Of integers bit by bit, which only numbers have.
Element logic(std::string_view op, DType type, const KnownElement &a,
              const KnownElement &b) {
  std::optional<int64_t> x = a.value.constant(), y = b.value.constant();
  if (x && y)
    return KnownElement::number(op == "and"  ? *x & *y
                                : op == "or" ? *x | *y
                                             : *x ^ *y);
  if (type != DType::Bool)
    return std::nullopt;
  if (op == "and")
    return truth(min(a.value, b.value));
  return truth(op == "or" ? max(a.value, b.value)
                          : opposite(equal(a.value, b.value)));
}

bool isRelation(std::string_view op) {
  for (std::string_view known : {"eq", "ne", "lt", "le", "gt", "ge"})
    if (op == known)
      return true;
  return false;
}

Element combine(std::string_view op, DType type, const KnownElement &a,
                const KnownElement &b) {
  if (isRelation(op))
    return relation(op, a, b);
  if (op == "and" || op == "or" || op == "xor")
    return logic(op, type, a, b);
  if (type == DType::Bool)
    return std::nullopt;
  Element result = arithmetic(op, a, b);
  return result ? checked(*result, type) : std::nullopt;
}

size_t countOf(std::span<const int64_t> dims) {
  // Saturates: only "above kMaxKnown" matters.
  size_t total = 1;
  for (int64_t dim : dims)
    total = std::min<size_t>(total * std::min<size_t>(dim, kMaxKnown + 1),
                             kMaxKnown + 1);
  return total;
}

} // namespace

std::optional<Known> knownBinary(std::string_view op, const Known &a,
                                 const Known &b) {
  auto dims = broadcastDims(a.dims, b.dims);
  if (!dims || a.dtype != b.dtype || countOf(*dims) > kMaxKnown)
    return std::nullopt;
  Known result{isRelation(op) ? DType::Bool : a.dtype, *dims, {}};
  Odometer at(*dims);
  for (size_t i = 0, count = countOf(*dims); i < count; ++i, at.step()) {
    Element element =
        combine(op, a.dtype, a.elements[positionOf(a.dims, at.index())],
                b.elements[positionOf(b.dims, at.index())]);
    if (!element)
      return std::nullopt;
    result.elements.push_back(*element);
  }
  return result;
}

namespace {

Element choose(const KnownElement &flag, const KnownElement &a,
               const KnownElement &b) {
  if (std::optional<int64_t> value = flag.value.constant())
    return *value ? a : b;
  Dim chosen = select(flag.value, a.value, b.value);
  if (!chosen.valid())
    return std::nullopt;
  return KnownElement{chosen, a.nonNegative && b.nonNegative};
}

} // namespace

std::optional<Known> knownSelect(const Known &condition, const Known &a,
                                 const Known &b) {
  auto dims = broadcastDims(a.dims, b.dims);
  if (dims)
    dims = broadcastDims(*dims, condition.dims);
  if (!dims || a.dtype != b.dtype || condition.dtype != DType::Bool ||
      countOf(*dims) > kMaxKnown)
    return std::nullopt;
  Known result{a.dtype, *dims, {}};
  Odometer at(*dims);
  for (size_t i = 0, count = countOf(*dims); i < count; ++i, at.step()) {
    auto element = [&](const Known &from) {
      return from.elements[positionOf(from.dims, at.index())];
    };
    Element chosen = choose(element(condition), element(a), element(b));
    if (!chosen)
      return std::nullopt;
    result.elements.push_back(*chosen);
  }
  return result;
}

std::optional<Known> knownUnary(std::string_view op, const Known &x) {
  Known result{x.dtype, x.dims, {}};
  for (const KnownElement &element : x.elements) {
    Element made;
    if (op == "not" && x.dtype == DType::Bool)
      made = truth(opposite(element.value));
    else if (op == "neg" && x.dtype != DType::Bool)
      made = checked({Dim(0) - element.value, false}, x.dtype);
    else if (op == "abs" && x.dtype != DType::Bool)
      made = element.nonNegative
                 ? Element(element)
                 : checked({max(element.value, Dim(0) - element.value), true},
                           x.dtype);
    if (!made)
      return std::nullopt;
    result.elements.push_back(*made);
  }
  return result;
}

std::optional<Known> knownCast(const Known &x, DType type) {
  if (!canBeKnown(type))
    return std::nullopt;
  Known result{type, x.dims, {}};
  for (const KnownElement &element : x.elements) {
    Element made = type == DType::Bool
                       ? relation("ne", element, KnownElement::number(0))
                       : checked(element, type);
    if (!made)
      return std::nullopt;
    result.elements.push_back(*made);
  }
  return result;
}

} // namespace backplane::frontend
