// SPDX-License-Identifier: Apache-2.0
//
// A node's calls that append ops: constants, broadcasting and other steps that
// many handlers share.
#include "Broadcast.h"
#include "Node.h"
#include "sdk/graph/Rounding.h"

#include <algorithm>
#include <cmath>

namespace backplane::frontend {

Dim dimOf(const TensorType &type, size_t axis) {
  return axis < type.rank() ? type.dims[axis] : Dim(0);
}

std::optional<std::vector<int64_t>> staticDims(const Dims &dims) {
  std::vector<int64_t> values;
  for (const Dim &dim : dims) {
    if (!dim.constant())
      return std::nullopt;
    values.push_back(*dim.constant());
  }
  return values;
}

const TensorType &Node::type(ValueId value) const {
  static const TensorType none;
  return value < importer_.graph().values.size() ? importer_.graph().type(value)
                                                 : none;
}

ValueId Node::op(std::string_view name, std::vector<ValueId> operands,
                 Attributes attributes) {
  for (ValueId operand : operands)
    if (operand == kNone && ok())
      fail(internalError("a step of the import has no value"));
  if (!ok())
    return kNone;
  auto results = importer_.add(name, std::move(operands), std::move(attributes),
                               location_);
  if (results.ok() && results->size() == 1)
    return results->front();
  fail(results.ok() ? internalError("an op has not one result")
                    : results.status());
  return kNone;
}

ValueId Node::contraction(std::string_view name, std::vector<ValueId> operands,
                          Attributes attributes, bool isRoundedLater) {
  if (isRoundedLater && isNarrowFloat(type(operands[0]).dtype))
    attributes["wide"] = int64_t(1);
  return op(name, std::move(operands), std::move(attributes));
}

ValueId Node::widened(ValueId value, DType operands, ValueId sums) {
  return type(value).dtype == operands ? cast(value, type(sums).dtype) : value;
}

// ---- constants ----

namespace {

Attributes filled(DType type, Bytes element, const Dims &dims) {
  return {{"value", std::move(element)},
          {"dtype", static_cast<int64_t>(type)},
          {"dims", dims}};
}

} // namespace

ValueId Node::fill(DType type, double value, const Dims &dims) {
  if (!ok())
    return kNone;
  return op("constant", {}, filled(type, encodeNumber(type, value), dims));
}

ValueId Node::fillInteger(DType type, int64_t value, const Dims &dims) {
  if (!ok())
    return kNone;
  if (isFloat(type))
    return fill(type, static_cast<double>(value), dims);
  return op("constant", {}, filled(type, encodeInteger(type, value), dims));
}

ValueId Node::fillLike(ValueId like, double value) {
  TensorType wanted = type(like);
  return fill(wanted.dtype, value, wanted.dims);
}

ValueId Node::constant(HostTensor host) {
  if (!ok())
    return kNone;
  NamedValue tensor;
  tensor.name = location_;
  tensor.host = std::move(host);
  Result<ValueId> value = importer_.materialise(tensor);
  if (value.ok())
    return *value;
  fail(value.status());
  return kNone;
}

ValueId Node::counter(const Dims &dims, size_t axis) {
  return op("iota", {},
            {{"dtype", static_cast<int64_t>(DType::I64)},
             {"dims", dims},
             {"axis", static_cast<int64_t>(axis)}});
}

ValueId Node::fillDim(DType dtype, const Dim &value, const Dims &dims) {
  if (std::optional<int64_t> number = value.constant())
    return fillInteger(dtype, *number, dims);
  ValueId data = op("dim", {}, {{"value", Dims{value}}});
  return broadcast(reshape(cast(data, dtype), {}), dims);
}

// ---- small steps ----

ValueId Node::cast(ValueId value, DType dtype) {
  if (type(value).dtype == dtype)
    return value;
  return op("cast", {value}, {{"dtype", static_cast<int64_t>(dtype)}});
}

ValueId Node::compare(std::string_view direction, ValueId a, ValueId b) {
  return op("compare", {a, b}, {{"direction", std::string(direction)}});
}

ValueId Node::reshape(ValueId value, const Dims &dims) {
  if (ok() && type(value).dims == dims)
    return value;
  return op("reshape", {value}, {{"dims", dims}});
}

ValueId Node::transpose(ValueId value, std::vector<int64_t> permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end()))
    return value;
  return op("transpose", {value}, {{"permutation", std::move(permutation)}});
}

ValueId Node::slice(ValueId value, Dims starts, Dims sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  return op("slice", {value},
            {{"starts", std::move(starts)},
             {"sizes", std::move(sizes)},
             {"strides", std::move(strides)}});
}

ValueId Node::part(ValueId value, size_t axis, Dim start, Dim size) {
  if (!ok())
    return kNone;
  Dims sizes = type(value).dims, starts(sizes.size(), Dim(0));
  starts[axis] = std::move(start);
  sizes[axis] = std::move(size);
  return slice(value, std::move(starts), std::move(sizes));
}

ValueId Node::reduce(std::string_view kind, ValueId value,
                     std::vector<int64_t> axes, bool keep) {
  if (axes.empty())
    return value;
  return op("reduce", {value},
            {{"kind", std::string(kind)},
             {"axes", std::move(axes)},
             {"keep", static_cast<int64_t>(keep)}});
}

ValueId Node::mean(ValueId value, std::vector<int64_t> axes, bool keep) {
  TensorType own = type(value);
  Dim count(1);
  for (int64_t each : axes)
    count = count * dimOf(own, static_cast<size_t>(each));
  ValueId sum = reduce("sum", value, std::move(axes), keep);
  ValueId divisor = fillDim(own.dtype, count, Dims(type(sum).dims));
  return op("div", {sum, divisor});
}

// ---- equal dims and broadcasting ----

void Node::require(const Dim &a, const Dim &b, std::string_view what) {
  if (ok())
    fail(importer_.assertEqual(a, b, location_, what));
}

bool Node::requireRank(ValueId input, size_t least) {
  if (ok() && type(input).rank() < least)
    reject("the input " + type(input).str() + " needs rank " +
           std::to_string(least) + " or more");
  return ok();
}

ValueId Node::withDims(ValueId value, const Dims &dims) {
  Dims own = type(value).dims;
  if (ok() && own.size() != dims.size())
    reject("ranks " + std::to_string(own.size()) + " and " +
           std::to_string(dims.size()) + " must be equal");
  for (size_t i = 0; ok() && i < dims.size(); ++i)
    require(own[i], dims[i], "sizes must be equal");
  return reshape(value, dims);
}

/// Makes it a condition that `own` is `size` or 1, where it meets `other`.
void Node::requireFit(const Dim &own, const Dim &other, const Dim &size) {
  if (own == size)
    return;
  auto [fits, zero] = fitsInCall(own, size);
  require(fits, zero,
          own.str() + " and " + other.str() +
              " must be equal to broadcast, or one of them 1");
}

Dim Node::commonDim(const Dim &a, const Dim &b, bool toldInCall) {
  if (a == b || b == Dim(1))
    return a;
  if (a == Dim(1))
    return b;
  for (const auto &[own, size] : {std::pair(a, b), std::pair(b, a)})
    if (importer_.meeting(own, size).value_or(false)) {
      requireFit(own, size, size);
      return size;
    }
  bool numbers = a.constant() && b.constant();
  auto isApart = [&](const Dim &dim) {
    return dim.constant() || importer_.isNamed(dim);
  };
  bool inCall = !numbers && !importer_.isAsserted(a, b) &&
                meetsInCall(a, b, toldInCall || (isApart(a) && isApart(b)));
  if (!inCall)
    require(a, b, "sizes must be equal to broadcast");
  // A plain number says more than a symbol.
  Dim size = inCall ? sizeInCall(a, b) : b.constant() ? b : a;
  importer_.noteMeeting(a, size, inCall);
  importer_.noteMeeting(b, size, inCall);
  if (inCall) {
    requireFit(a, b, size);
    requireFit(b, a, size);
  }
  return size;
}

Dims Node::commonDims(const Dims &a, const Dims &b, bool inCall) {
  Dims dims(std::max(a.size(), b.size()), Dim(1));
  for (const Dims *operand : {&a, &b})
    for (size_t i = 0; i < operand->size(); ++i) {
      Dim &dim = dims[dims.size() - operand->size() + i];
      dim = commonDim(dim, (*operand)[i], inCall);
    }
  return dims;
}

Dims Node::commonDims(std::span<const ValueId> values) {
  Dims dims;
  for (ValueId value : values)
    dims = commonDims(dims, type(value).dims);
  return dims;
}

/// Whether the call tells if an axis is repeated to a size.
bool Node::stretches(const Dim &own, const Dim &size) {
  if (own == size || own == Dim(1))
    return false;
  if (std::optional<bool> known = importer_.meeting(own, size))
    return *known;
  bool inCall = !own.constant() && !importer_.isAsserted(own, size) &&
                meetsInCall(own, size, false);
  if (inCall)
    requireFit(own, size, size);
  return inCall;
}

/// The value with an axis that has the size `size` or 1 repeated to that size:
/// row i is row i or the only one.
ValueId Node::stretch(ValueId value, size_t axis, const Dim &size) {
  Dim own = dimOf(type(value), axis);
  Dims rows{size};
  ValueId row = min(own, Dim(1)) == own
                    ? fillInteger(DType::I64, 0, rows)
                    : op("min", {counter(rows, 0),
                                 fillDim(DType::I64, own - Dim(1), rows)});
  return op("gather", {value, row}, {{"axis", static_cast<int64_t>(axis)}});
}

ValueId Node::broadcast(ValueId value, const Dims &dims) {
  Dims own = type(value).dims;
  if (!ok() || own == dims)
    return value;
  if (own.size() > dims.size()) {
    reject("rank " + std::to_string(own.size()) +
           " does not broadcast to rank " + std::to_string(dims.size()));
    return kNone;
  }
  std::vector<int64_t> axes;
  Dims wanted;
  size_t missing = dims.size() - own.size();
  for (size_t i = 0; i < own.size(); ++i) {
    const Dim &size = dims[missing + i];
    axes.push_back(static_cast<int64_t>(missing + i));
    wanted.push_back(own[i] == Dim(1) ? own[i] : size);
    if (stretches(own[i], size))
      value = stretch(value, i, size);
  }
  ValueId fitted = withDims(value, wanted);
  if (!ok() || wanted == dims)
    return fitted;
  return op("broadcast", {fitted}, {{"dims", dims}, {"axes", axes}});
}

ValueId Node::along(ValueId vector, size_t axis, const Dims &dims) {
  std::vector<int64_t> axes{static_cast<int64_t>(axis)};
  return op("broadcast", {vector}, {{"dims", dims}, {"axes", axes}});
}

std::vector<ValueId> Node::broadcastAll(std::span<const ValueId> values) {
  Dims dims = commonDims(values);
  std::vector<ValueId> results;
  for (ValueId value : values)
    results.push_back(broadcast(value, dims));
  return results;
}

ValueId Node::binary(std::string_view name, ValueId a, ValueId b) {
  return op(name, broadcastAll(std::vector{a, b}));
}

namespace {

double largestOf(DType dtype) {
  switch (dtype) {
  case DType::F8E4M3FN:
    return 448;
  case DType::F8E4M3FNUZ:
    return 240;
  case DType::F4E2M1FN:
    return 6;
  default:
    return 57344;
  }
}

/// What a number is multiplied by so that the nearest power of two, the higher
/// one where 1.5 is between them, is the one that `mode` asks for.
std::optional<double> powerFactor(const std::string &mode) {
  if (mode == "up")
    return std::nextafter(1.5, 1.0);
  if (mode == "down")
    return 0.75;
  return mode == "nearest" ? std::optional(1.0) : std::nullopt;
}

/// To a power of two. Products with a factor have no place in f32, where the
/// least powers are subnormal.
ValueId castToPower(Node &node, ValueId value, bool saturates) {
  constexpr double least = 0x1p-127, most = 0x1p127;
  std::string mode = node.string("round_mode", "up");
  std::optional<double> factor = powerFactor(mode);
  if (node.ok() && !factor)
    node.reject("attribute 'round_mode' is '" + mode +
                "', there are up, down and nearest");
  if (!node.ok())
    return kNone;
  ValueId x = node.cast(value, DType::F64);
  if (saturates)
    x = node.op("clamp", {x}, {{"low", least}, {"high", most}});
  else
    x = node.op("select", {node.compare("lt", x, node.fillLike(x, least)),
                           node.fillLike(x, NAN), x});
  if (*factor != 1)
    x = node.op("mul", {x, node.fillLike(x, *factor)});
  return node.cast(x, DType::F8E8M0FNU);
}

} // namespace

ValueId castToStored(Node &node, ValueId value, DType to) {
  bool saturates = node.flag("saturate", true);
  if (!node.ok())
    return kNone;
  DType from = node.type(value).dtype;
  if (to == DType::F8E8M0FNU)
    return castToPower(node, value, saturates);
  if (!isFloat(from) || isStoredFloat(from))
    value = node.cast(value, DType::F32);
  double most = largestOf(to);
  if (saturates)
    value = node.op("clamp", {value}, {{"low", -most}, {"high", most}});
  return node.cast(value, to);
}

} // namespace backplane::frontend
