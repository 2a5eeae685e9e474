// SPDX-License-Identifier: Apache-2.0
//
// OnnxSplit.cpp: Split and Concat.
#include "Box.h"
#include "OnnxHandlers.h"
#include "ShapeInput.h"

namespace backplane::frontend {

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
