// SPDX-License-Identifier: Apache-2.0
//
// Slice, Split and Concat.
#include "OnnxHandlers.h"
#include "ShapeInput.h"

#include <algorithm>

namespace backplane::frontend {

namespace {

/// A box of a tensor: the elements start, start + stride, … of each axis; the
/// reversed axes are then turned around.
struct Box {
  Dims starts, sizes;
  std::vector<int64_t> strides;
  std::vector<int64_t> reversed;
};

Box wholeBox(const Dims &dims) {
  return Box{Dims(dims.size(), Dim(0)),
             dims,
             std::vector<int64_t>(dims.size(), 1),
             {}};
}

/// The box of known integers.
std::optional<Known> knownBox(const Known &known, const Box &box) {
  auto starts = staticDims(box.starts), sizes = staticDims(box.sizes);
  if (!starts || !sizes)
    return std::nullopt;
  size_t count = 1;
  for (int64_t size : *sizes)
    count *= static_cast<size_t>(size);
  std::vector<size_t> positions;
  Odometer at(*sizes);
  std::vector<int64_t> source(sizes->size());
  for (size_t i = 0; i < count; ++i, at.step()) {
    for (size_t axis = 0; axis < source.size(); ++axis) {
      int64_t index = at.index()[axis];
      if (std::find(box.reversed.begin(), box.reversed.end(),
                    static_cast<int64_t>(axis)) != box.reversed.end())
        index = (*sizes)[axis] - 1 - index;
      source[axis] = (*starts)[axis] + index * box.strides[axis];
    }
    positions.push_back(positionOf(known.dims, source));
  }
  return pick(known, *sizes, positions);
}

void outBox(Node &node, size_t output, const Box &box) {
  if (!node.ok())
    return;
  const Dims own = node.inputType(0).dims;
  if (const Known *known = node.known(0))
    if (auto result = knownBox(*known, box))
      return node.out(output, *result);
  bool whole = box.sizes == own && box.reversed.empty() &&
               std::all_of(box.strides.begin(), box.strides.end(),
                           [](int64_t stride) { return stride == 1; });
  if (whole)
    return node.outSame(output, 0);
  ValueId value = node.value(0);
  bool cut = box.sizes != own || box.strides != wholeBox(own).strides;
  if (cut)
    value = node.op("slice", {value},
                    {{"starts", box.starts},
                     {"sizes", box.sizes},
                     {"strides", box.strides}});
  if (!box.reversed.empty())
    value = node.op("reverse", {value}, {{"axes", box.reversed}});
  node.out(output, value);
}

// ---- Slice ----

/// No tensor is that large: a constant bound from here on means "the end".
constexpr int64_t kUnbounded = kMaxElements;
/// A constant from here on is taken as "the end" too, under an assertion: no
/// `min` is left in the dims.
constexpr int64_t kFar = 1000000000;

/// The lower of a bound and a size, neither of them negative.
Dim atMost(const Dim &bound, const Dim &size) {
  return bound == Dim(0) ? bound : min(bound, size);
}

/// A bound of a forward slice, clamped to [0, size].
Dim clampBound(Node &node, const KnownElement &bound, const Dim &size,
               std::string_view what) {
  std::optional<int64_t> value = bound.value.constant();
  if (!value)
    return atMost(requireSize(node, bound, what), size);
  if (*value < -kUnbounded && !size.constant())
    return Dim(0);
  if (*value < 0)
    return max(size + Dim(*value), Dim(0));
  if (*value < kFar || size.constant())
    return atMost(Dim(*value), size);
  if (*value < kUnbounded)
    node.require(min(Dim(*value), size), size,
                 "a bound must not be below the size");
  return size;
}

void sliceForward(Node &node, Box &box, size_t axis, const KnownElement &start,
                  const KnownElement &end, int64_t step) {
  Dim size = box.sizes[axis];
  Dim first = clampBound(node, start, size, "starts");
  Dim last = clampBound(node, end, size, "ends");
  Dim count = ceilDiv(last - first, Dim(step));
  // Where the order of the two is plain, the count cannot be negative.
  if (first != Dim(0) && last != size)
    count = max(count, Dim(0));
  box.starts[axis] = first;
  box.sizes[axis] = count;
  box.strides[axis] = step;
}

void sliceBackward(Node &node, Box &box, size_t axis, const KnownElement &start,
                   const KnownElement &end, int64_t step) {
  std::optional<int64_t> size = box.sizes[axis].constant();
  std::optional<int64_t> first = start.value.constant();
  std::optional<int64_t> last = end.value.constant();
  bool all = first && last && step == -1 &&
             (*first == -1 || *first >= INT32_MAX) && *last <= -INT32_MAX;
  if (!all && (!size || !first || !last))
    return node.refuse("a negative step with symbolic sizes is not supported");
  // Implementations differ in what they take this to mean.
  if (*last >= INT32_MAX)
    return node.refuse("an end behind the axis with a negative step is not "
                       "supported");
  box.reversed.push_back(static_cast<int64_t>(axis));
  if (all)
    return node.require(min(Dim(INT32_MAX), box.sizes[axis]), box.sizes[axis],
                        "a bound must not be below the size");
  int64_t from = *first < 0 ? *first + *size : *first;
  int64_t to = *last < 0 ? *last + *size : *last;
  from = std::clamp<int64_t>(from, *size ? 0 : -1, *size - 1);
  to = std::clamp<int64_t>(to, -1, std::max<int64_t>(*size - 1, -1));
  int64_t stride = -step;
  int64_t count = from > to ? (from - to + stride - 1) / stride : 0;
  box.starts[axis] = Dim(count ? from - (count - 1) * stride : 0);
  box.sizes[axis] = Dim(count);
  box.strides[axis] = stride;
}

struct SliceInputs {
  std::vector<KnownElement> starts, ends;
  std::vector<int64_t> axes, steps;
};

std::vector<KnownElement> boundsOf(Node &node, size_t input,
                                   std::string_view what) {
  const Known *known = node.requireKnown(input, what);
  if (known && known->dims.size() != 1)
    node.reject("its " + std::string(what) + " must have rank 1");
  return known ? known->elements : std::vector<KnownElement>();
}

SliceInputs readSlice(Node &node) {
  SliceInputs inputs;
  if (node.opset() < 10) {
    for (int64_t start : node.i64s("starts"))
      inputs.starts.push_back(KnownElement::number(start));
    for (int64_t end : node.i64s("ends"))
      inputs.ends.push_back(KnownElement::number(end));
    inputs.axes = node.i64s("axes");
    if (node.inputCount() > 1)
      node.reject("starts and ends are attributes before opset 10");
  } else {
    if (!node.has(1) || !node.has(2))
      node.reject("starts or ends are missing");
    inputs.starts = boundsOf(node, 1, "starts");
    inputs.ends = boundsOf(node, 2, "ends");
    if (node.has(3))
      inputs.axes = node.requireIntegers(3, "axes");
    if (node.has(4))
      inputs.steps = node.requireIntegers(4, "steps");
  }
  size_t count = inputs.starts.size();
  if (!node.has(3) && !node.hasAttribute("axes"))
    for (size_t i = 0; i < count; ++i)
      inputs.axes.push_back(static_cast<int64_t>(i));
  if (!node.has(4))
    inputs.steps.assign(count, 1);
  if (inputs.ends.size() != count || inputs.axes.size() != count ||
      inputs.steps.size() != count)
    node.reject("starts, ends, axes and steps need the same length");
  return inputs;
}

} // namespace

void onnxSlice(Node &node) {
  SliceInputs inputs = readSlice(node);
  const Dims dims = node.inputType(0).dims;
  node.axes(inputs.axes, dims.size()); // in range, each once
  Box box = wholeBox(dims);
  for (size_t i = 0; node.ok() && i < inputs.starts.size(); ++i) {
    size_t axis = node.axis(inputs.axes[i], dims.size());
    // Beyond any size, a longer step changes nothing.
    int64_t step =
        std::clamp(inputs.steps[i], -kMaxElements * 2, kMaxElements * 2);
    if (step == 0)
      node.reject("a step is 0");
    else if (step > 0)
      sliceForward(node, box, axis, inputs.starts[i], inputs.ends[i], step);
    else
      sliceBackward(node, box, axis, inputs.starts[i], inputs.ends[i], step);
  }
  std::sort(box.reversed.begin(), box.reversed.end());
  checkCount(node, box.sizes);
  outBox(node, 0, box);
}

// ---- Split ----

namespace {

/// Equal parts; from opset 18 on the last one may be smaller.
Dims equalParts(Node &node, const Dim &size, int64_t count) {
  Dim number(count), part = floorDiv(size, number);
  bool ragged = node.hasAttribute("num_outputs") && size.constant();
  if (!ragged) {
    node.require(part * number, size,
                 "the size of the split axis must be a multiple of " +
                     std::to_string(count));
    return Dims(static_cast<size_t>(count), part);
  }
  part = ceilDiv(size, number);
  Dims parts;
  for (Dim left = size; parts.size() < static_cast<size_t>(count);
       left = left - parts.back())
    parts.push_back(min(part, left));
  return parts;
}

Dims partsOf(Node &node, const Dim &size) {
  int64_t count = static_cast<int64_t>(node.outputCount());
  int64_t declared = node.i64("num_outputs", count);
  if (count == 0 || declared != count)
    node.reject("it has " + std::to_string(count) + " outputs, but " +
                std::to_string(declared) + " are declared");
  bool given = node.opset() < 13 ? node.hasAttribute("split") : node.has(1);
  if (node.opset() < 13 && node.has(1))
    node.reject("split is an attribute before opset 13");
  if (!node.ok())
    return {};
  if (!given)
    return equalParts(node, size, count);
  if (node.hasAttribute("num_outputs"))
    node.reject("it has both split and num_outputs");
  Dims parts;
  if (node.opset() >= 13)
    parts = requireSizes(node, 1, "split");
  else
    for (int64_t part : node.i64s("split"))
      parts.push_back(requireSize(node, KnownElement::number(part), "split"));
  if (node.ok() && parts.size() != node.outputCount())
    node.reject("it splits into " + std::to_string(parts.size()) +
                " parts for " + std::to_string(count) + " outputs");
  Dim sum(0);
  for (const Dim &part : parts)
    sum = sum + part;
  node.require(sum, size, "the parts must add up to the split axis");
  return parts;
}

} // namespace

void onnxSplit(Node &node) {
  const Dims dims = node.inputType(0).dims;
  size_t axis = node.axis(node.i64("axis", 0), dims.size());
  Dims parts = partsOf(node, dimOf(node.inputType(0), axis));
  Dim start(0);
  for (size_t i = 0; node.ok() && i < parts.size(); ++i) {
    Box box = wholeBox(dims);
    box.starts[axis] = start;
    box.sizes[axis] = parts[i];
    start = start + parts[i];
    outBox(node, i, box);
  }
}

// ---- Concat ----

namespace {

std::optional<Known> concatKnown(Node &node, size_t axis) {
  std::vector<const Known *> parts;
  std::vector<int64_t> dims;
  size_t total = 0;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    const Known *part = node.known(i);
    if (!part || (i && part->dtype != parts[0]->dtype))
      return std::nullopt;
    parts.push_back(part);
    total += part->elements.size();
    if (i == 0)
      dims = part->dims;
    else if (part->dims.size() == dims.size())
      dims[axis] += part->dims[axis];
    else
      return std::nullopt;
    for (size_t other = 0; other < dims.size(); ++other)
      if (other != axis && part->dims[other] != dims[other])
        return std::nullopt;
  }
  if (total > kMaxKnown)
    return std::nullopt;
  Known result{parts[0]->dtype, dims, {}};
  Odometer at(dims);
  for (size_t i = 0; i < total; ++i, at.step()) {
    std::vector<int64_t> index = at.index();
    size_t part = 0;
    while (index[axis] >= parts[part]->dims[axis])
      index[axis] -= parts[part++]->dims[axis];
    result.elements.push_back(
        parts[part]->elements[positionOf(parts[part]->dims, index)]);
  }
  return result;
}

} // namespace

void onnxConcat(Node &node) {
  if (!node.hasAttribute("axis"))
    return node.reject("attribute 'axis' is missing");
  const Dims first = node.inputType(0).dims;
  size_t axis = node.axis(node.i64("axis", 0), first.size());
  for (size_t i = 1; node.ok() && i < node.inputCount(); ++i)
    if (node.inputType(i).rank() != first.size())
      node.reject("its operands " + node.inputType(0).str() + " and " +
                  node.inputType(i).str() + " have different ranks");
  if (!node.ok())
    return;
  if (node.inputCount() == 1)
    return node.outSame(0, 0);
  if (auto result = concatKnown(node, axis))
    return node.out(0, *result);
  std::vector<ValueId> operands = node.values();
  for (ValueId &operand : operands) {
    Dims dims = first;
    if (node.ok())
      dims[axis] = node.type(operand).dims[axis];
    operand = node.withDims(operand, dims);
  }
  node.out(0,
           node.op("concat", operands, {{"axis", static_cast<int64_t>(axis)}}));
}

} // namespace backplane::frontend
