// SPDX-License-Identifier: Apache-2.0
//
// Ops that make tensors: constants, shapes, ranges, masks.
#include "OnnxHandlers.h"
#include "OnnxIndex.h"
#include "ShapeInput.h"
#include "sdk/graph/Rounding.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace backplane::frontend {

// ---- Constant, ConstantOfShape ----

namespace {

HostTensor hostNumbers(DType type, const std::vector<double> &floats,
                       const std::vector<int64_t> &integers,
                       std::vector<int64_t> dims) {
  auto bytes = std::make_shared<Bytes>();
  auto append = [&](const Bytes &element) {
    bytes->insert(bytes->end(), element.begin(), element.end());
  };
  for (double value : floats)
    append(encodeFloat(type, value));
  for (int64_t value : integers)
    append(encodeInteger(type, value));
  return HostTensor{type, std::move(dims), {*bytes, bytes}};
}

std::optional<HostTensor> readAttribute(Node &node, std::string_view name) {
  const onnx::TensorProto *proto = node.tensorAttribute(name);
  if (!proto)
    return std::nullopt;
  Importer &importer = node.importer();
  Result<HostTensor> host = readTensor(
      *proto, std::nullopt, importer.file().folder, importer.fileOwner());
  if (host.ok())
    return *host;
  node.fail(host.status().within("attribute '" + std::string(name) + "'"));
  return std::nullopt;
}

} // namespace

void onnxConstant(Node &node) {
  int count = 0;
  for (std::string_view name :
       {"value", "value_float", "value_floats", "value_int", "value_ints"})
    count += node.hasAttribute(name);
  if (count != 1)
    return node.reject("it needs one value, found " + std::to_string(count));
  if (auto host = readAttribute(node, "value"))
    return node.out(0, *host);
  std::vector<double> floats = node.f64s("value_floats");
  std::vector<int64_t> integers = node.i64s("value_ints");
  std::vector<int64_t> dims{
      static_cast<int64_t>(std::max(floats.size(), integers.size()))};
  if (node.hasAttribute("value_float") || node.hasAttribute("value_int"))
    dims.clear();
  if (node.hasAttribute("value_float"))
    floats.push_back(node.f64("value_float", 0));
  if (node.hasAttribute("value_int"))
    integers.push_back(node.i64("value_int", 0));
  bool isFloats =
      node.hasAttribute("value_float") || node.hasAttribute("value_floats");
  if (node.ok())
    node.out(0, hostNumbers(isFloats ? DType::F32 : DType::I64, floats,
                            integers, dims));
}

void onnxConstantOfShape(Node &node) {
  Dims dims = requireSizes(node, 0, "shape");
  HostTensor element = hostNumbers(DType::F32, {0}, {}, {1});
  if (auto host = readAttribute(node, "value"))
    element = *host;
  if (element.count() != 1)
    node.reject("attribute 'value' needs one element");
  if (!node.ok())
    return;
  auto fixed = staticDims(dims);
  auto known = knownContents(element);
  size_t count = fixed ? static_cast<size_t>(*elementCount(*fixed)) : SIZE_MAX;
  if (known && count <= kMaxKnown) {
    std::vector<size_t> positions(count, 0);
    return node.out(0, *pick(*known, *fixed, positions));
  }
  std::span<const uint8_t> bytes = element.data.bytes;
  node.out(0, node.op("constant", {},
                      {{"value", Bytes(bytes.begin(), bytes.end())},
                       {"dtype", static_cast<int64_t>(element.dtype)},
                       {"dims", dims}}));
}

// ---- Shape, Size ----

void onnxShape(Node &node) {
  const Dims &dims = node.inputType(0).dims;
  int64_t rank = static_cast<int64_t>(dims.size());
  auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? std::max(at, -rank) + rank : at, 0,
                               rank);
  };
  int64_t start = clamped(node.i64("start", 0));
  int64_t end = std::max(start, clamped(node.i64("end", rank)));
  if (node.ok())
    node.out(0, knownDims(std::span(dims).subspan(start, end - start)));
}

void onnxSize(Node &node) {
  Dim count = product(node.inputType(0).dims);
  if (node.ok())
    node.out(0, knownScalar(DType::I64, KnownElement::size(count)));
}

// ---- Range ----

namespace {

/// start + i * delta for so many i, of scalars.
ValueId counted(Node &node, ValueId start, ValueId delta, const Dim &count) {
  if (!node.ok())
    return kNone;
  Dims dims{count};
  DType type = node.type(start).dtype;
  ValueId steps = node.op(
      "iota", {}, {{"dtype", static_cast<int64_t>(type)}, {"dims", dims}});
  ValueId scaled = node.op("mul", {steps, node.broadcast(delta, dims)});
  return node.op("add", {scaled, node.broadcast(start, dims)});
}

/// The three inputs as scalars.
std::array<ValueId, 3> rangeInputs(Node &node) {
  std::array<ValueId, 3> values{};
  for (size_t i = 0; i < 3; ++i) {
    values[i] = node.value(i);
    if (node.ok())
      values[i] = node.reshape(values[i], {});
  }
  return values;
}

/// Floats that data decide, and with them the count.
void rangeOfData(Node &node) {
  auto [start, limit, delta] = rangeInputs(node);
  ValueId steps = node.op(
      "ceil", {node.op("div", {node.op("sub", {limit, start}), delta})});
  ValueId count = node.cast(steps, DType::I64);
  ValueId least = node.op("max", {count, node.fillInteger(DType::I64, 0, {})});
  Dim size = readSize(node, least, "count", std::nullopt, 0);
  node.out(0, counted(node, start, delta, size));
}

/// start, limit and delta as floats.
void rangeOfFloats(Node &node, DType type) {
  double numbers[3];
  for (size_t i = 0; i < 3; ++i) {
    std::optional<double> number = node.constantNumber(i);
    if (!number)
      return rangeOfData(node);
    if (!std::isfinite(*number))
      return node.refuse("a range of floats needs finite bounds");
    numbers[i] = *number;
  }
  auto [start, limit, delta] = numbers;
  if (delta == 0)
    return node.reject("delta is 0");
  double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (count > static_cast<double>(kMaxElements))
    return node.reject("the range has more than 2^46 elements");
  Dims dims{Dim(static_cast<int64_t>(count))};
  ValueId steps = node.op(
      "iota", {}, {{"dtype", static_cast<int64_t>(type)}, {"dims", dims}});
  ValueId scaled = node.op("mul", {steps, node.fillLike(steps, delta)});
  node.out(0, node.op("add", {scaled, node.fillLike(steps, start)}));
}

/// How many steps there are from one scalar to another.
ValueId stepsOf(Node &node, ValueId start, ValueId limit, ValueId delta) {
  ValueId way = node.op("sub", {limit, start});
  // Rounds away from zero, where the way has the sign of delta.
  ValueId sign =
      node.op("select", {node.compare("gt", delta, node.fillLike(delta, 0)),
                         node.fillLike(delta, 1), node.fillLike(delta, -1)});
  ValueId rounded = node.op("add", {way, node.op("sub", {delta, sign})});
  return node.op("max",
                 {node.op("div", {rounded, delta}), node.fillLike(delta, 0)});
}

/// Integers of which data decide one. The way up from a known number of 0 or
/// more is bounded by the limit.
void rangeOfData(Node &node, const std::array<DataElement, 3> &inputs) {
  ValueId scalars[3];
  for (size_t i = 0; i < 3; ++i)
    scalars[i] = scalarOf(node, inputs[i]);
  std::optional<int64_t> step;
  if (inputs[2].known)
    step = inputs[2].known->value.constant();
  if (step == 0)
    return node.reject("delta is 0");
  std::optional<Dim> most;
  if (step.value_or(0) > 0 && inputs[0].known && inputs[0].known->nonNegative)
    if (auto limit = greatestOf(node, scalars[1]))
      most = ceilDiv(max(*limit - inputs[0].known->value, Dim(0)), Dim(*step));
  ValueId steps = stepsOf(node, scalars[0], scalars[1], scalars[2]);
  Dim count = readSize(node, steps, "count", most, 0);
  node.out(0, node.cast(counted(node, scalars[0], scalars[2], count),
                        node.inputType(0).dtype));
}

/// Steps from a number up to another, whose difference may have more than 64
/// bits.
int64_t constantCount(int64_t start, int64_t limit, int64_t delta) {
  __int128 distance = __int128(limit) - start, step = delta;
  if ((distance > 0) != (step > 0))
    return 0;
  __int128 count = (distance + step + (step > 0 ? -1 : 1)) / step;
  return static_cast<int64_t>(std::min<__int128>(count, INT64_MAX));
}

/// The same where sizes are symbols.
Dim rangeCount(const KnownElement &start, const KnownElement &limit,
               int64_t delta) {
  if (start.value.constant() && limit.value.constant())
    return Dim(
        constantCount(*start.value.constant(), *limit.value.constant(), delta));
  Dim distance =
      delta > 0 ? limit.value - start.value : start.value - limit.value;
  // For instance -INT64_MIN has no 64-bit value; the division then fails.
  Dim count = ceilDiv(distance, Dim(delta > 0 ? delta : -(delta + 1)) +
                                    Dim(delta > 0 ? 0 : 1));
  bool fromZero = delta > 0 && start.value == Dim(0) && limit.nonNegative;
  return fromZero ? count : max(count, Dim(0));
}

std::optional<Known> constantRange(DType type, int64_t start, int64_t delta,
                                   size_t count) {
  Known result{type, {static_cast<int64_t>(count)}, {}};
  for (size_t i = 0; i < count; ++i) {
    int64_t value = 0;
    if (__builtin_mul_overflow(static_cast<int64_t>(i), delta, &value) ||
        __builtin_add_overflow(value, start, &value))
      return std::nullopt;
    result.elements.push_back(KnownElement::number(value));
  }
  return result;
}

} // namespace

void onnxRange(Node &node) {
  DType type = node.inputType(0).dtype;
  if (node.i64("stash_type", 1) != 1)
    node.refuse("stash_type is not supported");
  for (size_t i = 0; i < 3; ++i)
    if (node.inputType(i).dtype != type)
      node.reject("start, limit and delta need one dtype");
  if (type == DType::F32 || type == DType::F64)
    return rangeOfFloats(node, type);
  if (isNarrowFloat(type)) {
    node.roundOnce();
    return rangeOfData(node);
  }
  std::array<DataElement, 3> inputs{elementOf(node, 0, "start"),
                                    elementOf(node, 1, "limit"),
                                    elementOf(node, 2, "delta")};
  if (!node.ok())
    return;
  bool known = inputs[0].known && inputs[1].known && inputs[2].known;
  if (!known || !inputs[2].known->value.constant())
    return rangeOfData(node, inputs);
  std::optional<int64_t> step = inputs[2].known->value.constant();
  if (*step == 0)
    return node.reject("delta is 0");
  const KnownElement &first = *inputs[0].known;
  Dim count = rangeCount(first, *inputs[1].known, *step);
  std::optional<int64_t> fixed = count.constant();
  if (fixed && static_cast<size_t>(*fixed) <= kMaxKnown &&
      first.value.constant())
    if (auto all = constantRange(type, *first.value.constant(), *step,
                                 static_cast<size_t>(*fixed)))
      return node.out(0, *all);
  Dims dims{count};
  checkCount(node, dims);
  ValueId steps = node.op(
      "iota", {}, {{"dtype", static_cast<int64_t>(type)}, {"dims", dims}});
  if (*step != 1)
    steps = node.op("mul", {steps, node.fillInteger(type, *step, dims)});
  if (first.value != Dim(0))
    steps = node.op("add", {steps, node.fillDim(type, first.value, dims)});
  node.out(0, steps);
}

// ---- OneHot, Trilu ----

namespace {

/// One of the two elements of OneHot's values, repeated.
ValueId oneOf(Node &node, ValueId values, int64_t which, const Dims &dims) {
  ValueId element = node.slice(values, {Dim(which)}, {Dim(1)});
  return node.broadcast(node.reshape(element, {}), dims);
}

/// Which may be a float that stands for an integer.
DataElement depthOf(Node &node) {
  if (!isFloat(node.inputType(1).dtype))
    return elementOf(node, 1, "depth");
  if (auto number = node.constantNumber(1))
    return {KnownElement::number(static_cast<int64_t>(*number)), kNone};
  ValueId depth = node.value(1);
  return {std::nullopt,
          node.cast(node.ok() ? node.reshape(depth, {}) : kNone, DType::I64)};
}

} // namespace

void onnxOneHot(Node &node) {
  ValueId indices = node.value(0), values = node.value(2);
  DataElement depth = depthOf(node);
  Dims dims = node.type(indices).dims;
  size_t axis = node.axis(node.i64("axis", -1), dims.size() + 1);
  if (!node.ok())
    return;
  Dim size = requireSize(node, depth, "depth", 0, std::nullopt, axis);
  ValueId index = node.cast(indices, DType::I64);
  Dims own = dims;
  index = wrapped(node, index, size);
  own.insert(own.begin() + axis, Dim(1));
  dims.insert(dims.begin() + axis, size);
  checkCount(node, dims);
  ValueId counter = node.counter(dims, axis);
  ValueId hot = node.compare("eq", counter,
                             node.broadcast(node.reshape(index, own), dims));
  ValueId off = oneOf(node, values, 0, dims), on = oneOf(node, values, 1, dims);
  node.out(0, node.op("select", {hot, on, off}));
}

void onnxTrilu(Node &node) {
  bool upper = node.flag("upper", true);
  ValueId x = node.value(0);
  Dims dims = node.type(x).dims;
  node.requireRank(x, 2);
  std::vector<int64_t> offset{0};
  if (node.has(1))
    offset = node.requireIntegers(1, "k");
  if (node.ok() && offset.size() != 1)
    node.reject("k must be a scalar");
  if (!node.ok())
    return;
  Dims matrix(dims.end() - 2, dims.end());
  ValueId rows =
      node.op("add", {node.counter(matrix, 0),
                      node.fillInteger(DType::I64, offset[0], matrix)});
  ValueId kept =
      node.compare(upper ? "ge" : "le", node.counter(matrix, 1), rows);
  node.out(0, node.op("select",
                      {node.broadcast(kept, dims), x, node.fillLike(x, 0)}));
}

} // namespace backplane::frontend
