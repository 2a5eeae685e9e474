// SPDX-License-Identifier: Apache-2.0
//
// Ops that make tensors: constants, shapes, ranges, masks.
#include "OnnxHandlers.h"
#include "OnnxIndex.h"
#include "ShapeInput.h"

#include <algorithm>
#include <cmath>
#include <cstring>

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

/// start, limit and delta as floats that are known at import.
void rangeOfFloats(Node &node, DType type) {
  double numbers[3];
  for (size_t i = 0; i < 3; ++i) {
    std::optional<double> number = node.constantNumber(i);
    if (!number || !std::isfinite(*number))
      return node.refuse("a range of floats needs constant, finite bounds");
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
  const Known *start = node.requireKnown(0, "start");
  const Known *limit = node.requireKnown(1, "limit");
  const Known *delta = node.requireKnown(2, "delta");
  if (!node.ok())
    return;
  for (const Known *each : {start, limit, delta})
    if (each->elements.size() != 1)
      return node.reject("start, limit and delta must be scalars");
  std::optional<int64_t> step = delta->elements[0].value.constant();
  if (!step || *step == 0)
    return node.refuse("delta must be a constant, not 0");
  const KnownElement &first = start->elements[0];
  Dim count = rangeCount(first, limit->elements[0], *step);
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

} // namespace

void onnxOneHot(Node &node) {
  ValueId indices = node.value(0), values = node.value(2);
  const Known *depth = node.requireKnown(1, "depth");
  if (node.ok() && depth->elements.size() != 1)
    node.reject("depth must be a scalar");
  if (node.ok() && isFloat(node.type(indices).dtype))
    node.refuse("indices of " + node.type(indices).str() +
                " are not supported");
  Dims dims = node.type(indices).dims;
  size_t axis = node.axis(node.i64("axis", -1), dims.size() + 1);
  if (!node.ok())
    return;
  Dim size = requireSize(node, depth->elements[0], "depth");
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
