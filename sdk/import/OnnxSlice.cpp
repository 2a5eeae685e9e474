// SPDX-License-Identifier: Apache-2.0
//
// OnnxSlice.cpp: Slice.
#include "Box.h"
#include "OnnxHandlers.h"
#include "ShapeInput.h"

#include <algorithm>

namespace backplane::frontend {

namespace {

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

/// A slice with a negative step of sizes or bounds that the call tells.
void sliceBackwardInCall(Node &node, Box &box, size_t axis,
                         const KnownElement &start, const KnownElement &end,
                         int64_t stride) {
  const Dim size = box.sizes[axis];
  auto within = [&](const KnownElement &bound, int64_t low,
                    std::string_view what) {
    std::optional<int64_t> value = bound.value.constant();
    Dim from = bound.value;
    if (!value)
      from = requireSize(node, bound, what);
    else if (*value < 0)
      from = *value < -kUnbounded ? Dim(low) : max(size + *value, Dim(low));
    return min(from, size - Dim(1));
  };
  Dim first = within(start, 0, "starts"), last = within(end, -1, "ends");
  Dim count = max(ceilDiv(first - last, Dim(stride)), Dim(0));
  Dim back = max(count - Dim(1), Dim(0)) * Dim(stride);
  box.reversed.push_back(static_cast<int64_t>(axis));
  box.starts[axis] = max(first - back, Dim(0));
  box.sizes[axis] = count;
  box.strides[axis] = stride;
}

void sliceBackward(Node &node, Box &box, size_t axis, const KnownElement &start,
                   const KnownElement &end, int64_t step) {
  std::optional<int64_t> size = box.sizes[axis].constant();
  std::optional<int64_t> first = start.value.constant();
  std::optional<int64_t> last = end.value.constant();
  bool all = first && last && step == -1 &&
             (*first == -1 || *first >= INT32_MAX) && *last <= -INT32_MAX;
  // Implementations differ in what they take this to mean.
  if (last && *last >= INT32_MAX)
    return node.refuse("an end behind the axis with a negative step is not "
                       "supported");
  if (!all && (!size || !first || !last))
    return sliceBackwardInCall(node, box, axis, start, end, -step);
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
  std::vector<DataElement> starts, ends;
  std::vector<int64_t> axes, steps;

  bool isData(size_t i) const { return !starts[i].known || !ends[i].known; }
};

SliceInputs readSlice(Node &node) {
  SliceInputs inputs;
  if (node.opset() < 10) {
    for (int64_t start : node.i64s("starts"))
      inputs.starts.push_back({KnownElement::number(start), kNone});
    for (int64_t end : node.i64s("ends"))
      inputs.ends.push_back({KnownElement::number(end), kNone});
    inputs.axes = node.i64s("axes");
    if (node.inputCount() > 1)
      node.reject("starts and ends are attributes before opset 10");
  } else {
    if (!node.has(1) || !node.has(2))
      node.reject("starts or ends are missing");
    inputs.starts = elementsOf(node, 1, "starts");
    inputs.ends = elementsOf(node, 2, "ends");
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

/// Bounds that data decide: where the slice begins, and how much it has.
class DataSlice {
public:
  DataSlice(Node &node, Dim size, int64_t step)
      : node_(node), size_(std::move(size)), step_(step) {}
  /// Of a value along an axis.
  ValueId cut(ValueId value, size_t axis, const DataElement &start,
              const DataElement &end);

private:
  ValueId number(int64_t value) {
    return node_.fillInteger(DType::I64, value, {});
  }
  ValueId clamped(ValueId bound, int64_t low, const Dim &high);
  ValueId countOf(ValueId first, ValueId last);

  Node &node_;
  Dim size_;
  int64_t step_;
};

/// A bound, from the end where it is negative, within limits.
ValueId DataSlice::clamped(ValueId bound, int64_t low, const Dim &high) {
  ValueId wrapped = node_.op(
      "select",
      {node_.compare("lt", bound, number(0)),
       node_.op("add", {bound, node_.fillDim(DType::I64, size_, {})}), bound});
  return node_.op(
      "max", {node_.op("min", {wrapped, node_.fillDim(DType::I64, high, {})}),
              number(low)});
}

ValueId DataSlice::countOf(ValueId first, ValueId last) {
  int64_t stride = step_ < 0 ? -step_ : step_;
  ValueId way = step_ < 0 ? node_.op("sub", {first, last})
                          : node_.op("sub", {last, first});
  ValueId count = node_.op(
      "div", {node_.op("add", {way, number(stride - 1)}), number(stride)});
  return node_.op("max", {count, number(0)});
}

ValueId DataSlice::cut(ValueId value, size_t axis, const DataElement &start,
                       const DataElement &end) {
  Dim last = size_ - Dim(1), stride = step_ < 0 ? -step_ : step_;
  ValueId first = scalarOf(node_, start), to = scalarOf(node_, end);
  if (step_ > 0) {
    first = clamped(first, 0, size_);
    to = clamped(to, 0, size_);
  } else {
    first = clamped(first, 0, last);
    to = clamped(to, -1, last);
  }
  // Of an empty axis there is nothing, whatever the bounds are.
  ValueId count = node_.op(
      "min", {countOf(first, to), node_.fillDim(DType::I64, size_, {})});
  Dim taken = readSize(node_, count, "size_" + std::to_string(axis),
                       ceilDiv(size_, stride));
  if (!node_.ok())
    return kNone;
  if (step_ == 1 && start.known && start.known->value == Dim(0))
    return node_.part(value, axis, Dim(0), taken);
  ValueId steps =
      node_.op("mul", {node_.counter({taken}, 0),
                       node_.fillInteger(DType::I64, step_, {taken})});
  ValueId index = node_.op("add", {steps, node_.broadcast(first, {taken})});
  return node_.op("gather", {value, index}, {{"axis", int64_t(axis)}});
}

/// What is left of a value at the axes whose bounds data decide.
ValueId cutByData(Node &node, ValueId value, const SliceInputs &inputs) {
  for (size_t i = 0; node.ok() && i < inputs.starts.size(); ++i)
    if (inputs.isData(i)) {
      const Dims dims = node.type(value).dims;
      size_t axis = node.axis(inputs.axes[i], dims.size());
      value = DataSlice(node, dims[axis], inputs.steps[i])
                  .cut(value, axis, inputs.starts[i], inputs.ends[i]);
    }
  return value;
}

} // namespace

void onnxSlice(Node &node) {
  SliceInputs inputs = readSlice(node);
  const Dims dims = node.inputType(0).dims;
  node.axes(inputs.axes, dims.size()); // in range, each once
  Box box = wholeBox(dims);
  bool data = false;
  for (size_t i = 0; node.ok() && i < inputs.starts.size(); ++i) {
    size_t axis = node.axis(inputs.axes[i], dims.size());
    // Beyond any size, a longer step changes nothing.
    int64_t &step = inputs.steps[i];
    step = std::clamp(step, -kMaxElements * 2, kMaxElements * 2);
    if (step == 0)
      node.reject("a step is 0");
    else if (inputs.isData(i))
      data = true;
    else if (step > 0)
      sliceForward(node, box, axis, *inputs.starts[i].known,
                   *inputs.ends[i].known, step);
    else
      sliceBackward(node, box, axis, *inputs.starts[i].known,
                    *inputs.ends[i].known, step);
  }
  std::sort(box.reversed.begin(), box.reversed.end());
  checkCount(node, box.sizes);
  if (!data)
    return outBox(node, 0, box);
  if (node.ok())
    node.out(0, cutByData(node, boxOf(node, box), inputs));
}

} // namespace backplane::frontend
