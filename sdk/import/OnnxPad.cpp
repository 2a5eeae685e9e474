// SPDX-License-Identifier: Apache-2.0
//
// Pad.
#include "OnnxHandlers.h"
#include "ShapeInput.h"

namespace backplane::frontend {

namespace {

/// Padding and cropping of each axis: all entries are at least 0.
struct Sides {
  Dims low, high;         ///< elements to add
  Dims cropLow, cropHigh; ///< elements to take away
};

std::vector<DataElement> readPads(Node &node) {
  std::vector<DataElement> pads;
  if (node.opset() < 11) {
    if (node.inputCount() > 1)
      node.reject("pads are an attribute before opset 11");
    for (int64_t pad : node.i64s("pads"))
      pads.push_back({KnownElement::number(pad), kNone});
    return pads;
  }
  if (!node.has(1))
    node.reject("its pads are missing");
  return node.ok() ? elementsOf(node, 1, "pads") : pads;
}

std::vector<size_t> readAxes(Node &node, size_t rank) {
  std::vector<size_t> axes;
  if (node.has(3)) {
    std::vector<int64_t> given = node.requireIntegers(3, "axes");
    node.axes(given, rank);
    for (int64_t axis : given)
      axes.push_back(node.axis(axis, rank));
    return axes;
  }
  for (size_t i = 0; i < rank; ++i)
    axes.push_back(i);
  return axes;
}

/// The bound that ops show, or else another.
std::optional<Dim> shownOr(Node &node, const DataElement &pad,
                           const std::optional<Dim> &most) {
  std::optional<Dim> shown;
  if (!pad.known)
    shown = greatestOf(node, pad.value);
  return shown ? shown : most;
}

void setSide(Node &node, const DataElement &pad, size_t at,
             const std::optional<Dim> &most, Dim &add, Dim &crop) {
  std::optional<int64_t> value;
  if (pad.known)
    value = pad.known->value.constant();
  if (value && *value < 0)
    crop = Dim(0) - Dim(*value);
  else
    add = requireSize(node, pad, "pads", at, shownOr(node, pad, most));
}

Sides readSides(Node &node, size_t rank) {
  std::vector<DataElement> pads = readPads(node);
  std::vector<size_t> axes = readAxes(node, rank);
  Dims zeros(rank, Dim(0));
  Sides sides{zeros, zeros, zeros, zeros};
  size_t count = axes.size();
  // What the result is declared to be larger by.
  auto most = [&](size_t axis) {
    std::optional<Dim> size = declaredSize(node, axis);
    return size ? std::optional(
                      max(*size - dimOf(node.inputType(0), axis), Dim(0)))
                : std::nullopt;
  };
  if (node.ok() && pads.size() != 2 * count)
    node.reject("it has " + std::to_string(pads.size()) + " pads for " +
                std::to_string(count) + " axes");
  for (size_t i = 0; node.ok() && i < count; ++i) {
    size_t axis = axes[i];
    setSide(node, pads[i], i, most(axis), sides.low[axis], sides.cropLow[axis]);
    setSide(node, pads[count + i], count + i, most(axis), sides.high[axis],
            sides.cropHigh[axis]);
  }
  return sides;
}

/// What is added by copying elements must find them.
void requireFilled(Node &node, const Sides &sides, bool reflects) {
  const Dims own = node.inputType(0).dims;
  for (size_t i = 0; node.ok() && i < own.size(); ++i)
    for (const Dim &pad : {sides.low[i], sides.high[i]})
      if (!pad.constant())
        node.require(
            min(pad, reflects ? max(own[i] - Dim(1), Dim(0)) : own[i] * pad),
            pad,
            reflects ? "pads that reflect must be below the size"
                     : "an axis whose edge is repeated must not be "
                       "empty");
}

/// The element that fills the padding.
ValueId paddingValue(Node &node) {
  DType type = node.inputType(0).dtype;
  if (node.opset() < 11)
    return node.fill(type, node.f64("value", 0), {});
  if (!node.has(2))
    return node.fillInteger(type, 0, {});
  if (node.ok() && node.inputType(2).dtype != type)
    node.reject("its value is " + node.inputType(2).str() + ", but its input " +
                node.inputType(0).str());
  return node.reshape(node.value(2), {});
}

ValueId crop(Node &node, ValueId x, const Sides &sides) {
  Dims sizes = node.type(x).dims;
  for (size_t i = 0; node.ok() && i < sizes.size(); ++i) {
    Dim size = sizes[i] - sides.cropLow[i] - sides.cropHigh[i];
    if (size != sizes[i])
      node.require(max(size, Dim(0)), size,
                   "negative pads must not exceed the size");
    sizes[i] = size;
  }
  return node.slice(x, sides.cropLow, sizes);
}

bool allZero(const Dims &dims) {
  for (const Dim &dim : dims)
    if (dim != Dim(0))
      return false;
  return true;
}

/// Elements of the other end, as often as it takes.
ValueId wrapAround(Node &node, ValueId x, const Sides &sides) {
  for (size_t i = 0; node.ok() && i < node.type(x).rank(); ++i) {
    Dim size = node.type(x).dims[i];
    Dims all{size + sides.low[i] + sides.high[i]};
    if (all[0] == size)
      continue;
    ValueId at = node.counter(all, 0);
    Dim first = mod(Dim(0) - sides.low[i], max(size, Dim(1)));
    at = node.op("add", {at, node.fillDim(DType::I64, first, all)});
    at = node.op("rem", {at, node.fillDim(DType::I64, size, all)});
    x = node.op("gather", {x, at}, {{"axis", static_cast<int64_t>(i)}});
  }
  return x;
}

} // namespace

void onnxPad(Node &node) {
  std::string mode = node.string("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" &&
      mode != "wrap")
    node.refuse("mode '" + mode + "' is not supported");
  Sides sides = readSides(node, node.inputType(0).rank());
  if (!node.ok())
    return;
  bool pads = !allZero(sides.low) || !allZero(sides.high);
  bool crops = !allZero(sides.cropLow) || !allZero(sides.cropHigh);
  if (!pads && !crops)
    return node.outSame(0, 0);
  if (crops && mode != "constant")
    return node.refuse("negative pads in mode '" + mode +
                       "' are not supported");
  if (mode != "constant")
    requireFilled(node, sides, mode == "reflect");
  ValueId x = node.value(0);
  if (crops)
    x = crop(node, x, sides);
  if (mode == "wrap")
    x = wrapAround(node, x, sides);
  else if (pads)
    x = node.op("pad", {x, paddingValue(node)},
                {{"low", sides.low}, {"high", sides.high}, {"mode", mode}});
  node.out(0, x);
}

void onnxCenterCropPad(Node &node) {
  Dims dims = node.inputType(0).dims;
  node.requireKnown(1, "shape");
  Dims shape = node.ok() ? requireSizes(node, 1, "shape") : Dims();
  std::vector<int64_t> given = node.i64s("axes");
  if (!node.hasAttribute("axes"))
    for (size_t i = 0; i < dims.size(); ++i)
      given.push_back(static_cast<int64_t>(i));
  if (node.ok() && shape.size() != given.size())
    node.reject("it needs one size per axis");
  node.axes(given, dims.size());
  Dims starts(dims.size(), Dim(0)), low = starts, high = starts;
  for (size_t i = 0; node.ok() && i < given.size(); ++i) {
    size_t axis = node.axis(given[i], dims.size());
    Dim more = max(shape[i] - dims[axis], Dim(0));
    starts[axis] = floorDiv(max(dims[axis] - shape[i], Dim(0)), Dim(2));
    low[axis] = floorDiv(more, Dim(2));
    high[axis] = more - low[axis];
    dims[axis] = min(dims[axis], shape[i]);
  }
  if (!node.ok())
    return;
  ValueId x = node.slice(node.value(0), starts, dims);
  ValueId zero = node.fillInteger(node.inputType(0).dtype, 0, {});
  node.out(0, node.op("pad", {x, zero},
                      {{"low", low},
                       {"high", high},
                       {"mode", std::string("constant")}}));
}

} // namespace backplane::frontend
