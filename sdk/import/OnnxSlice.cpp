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

bool isWhole(const Box &box, const Dims &dims) {
  return box.sizes == dims && box.reversed.empty() &&
         box.strides == wholeBox(dims).strides;
}

/// The box as a value.
ValueId boxOf(Node &node, const Box &box) {
  ValueId value = node.value(0);
  const Dims own = node.inputType(0).dims;
  if (box.sizes != own || box.strides != wholeBox(own).strides)
    value = node.op("slice", {value},
                    {{"starts", box.starts},
                     {"sizes", box.sizes},
                     {"strides", box.strides}});
  return box.reversed.empty()
             ? value
             : node.op("reverse", {value}, {{"axes", box.reversed}});
}

void outBox(Node &node, size_t output, const Box &box) {
  if (!node.ok())
    return;
  if (const Known *known = node.known(0))
    if (auto result = knownBox(*known, box))
      return node.out(output, *result);
  if (isWhole(box, node.inputType(0).dims))
    return node.outSame(output, 0);
  node.out(output, boxOf(node, box));
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

} // namespace

namespace {

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

/// The parts of the input; one that data decide is at most what the others
/// before it leave.
Dims givenParts(Node &node, const Dim &size) {
  std::vector<DataElement> given = elementsOf(node, 1, "split");
  if (node.ok() && node.inputType(1).rank() != 1)
    node.reject("its split has rank 0, but must have rank 1");
  Dims parts;
  Dim left = size;
  for (size_t i = 0; node.ok() && i < given.size(); ++i) {
    parts.push_back(requireSize(node, given[i], "split", i, max(left, Dim(0))));
    left = left - parts.back();
  }
  checkCount(node, parts);
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
    parts = givenParts(node, size);
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
