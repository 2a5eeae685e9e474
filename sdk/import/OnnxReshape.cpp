// SPDX-License-Identifier: Apache-2.0
//
// OnnxReshape.cpp: ops that change dims alone.
#include "OnnxHandlers.h"
#include "ShapeInput.h"

#include <algorithm>

namespace backplane::frontend {

namespace {

/// A reshape; known integers stay known.
void outReshaped(Node &node, const Dims &dims) {
  auto fixed = staticDims(dims);
  const Known *known = node.known(0);
  checkCount(node, dims);
  if (!node.ok())
    return;
  node.require(product(node.inputType(0).dims), product(dims),
               "the numbers of elements must be equal");
  if (known && fixed && node.ok()) {
    Known result = *known;
    result.dims = *fixed;
    return node.out(0, std::move(result));
  }
  if (node.inputType(0).dims == dims)
    return node.outSame(0, 0);
  node.out(0, node.reshape(node.value(0), dims));
}

/// Size of the -1 entry: the quotient of two products, after equal sizes were
/// taken from both.
Dim quotient(Node &node, Dims above, Dims below) {
  for (size_t i = below.size(); i-- > 0;) {
    auto found = std::find(above.begin(), above.end(), below[i]);
    if (found == above.end())
      continue;
    above.erase(found);
    below.erase(below.begin() + static_cast<long>(i));
  }
  Dim divisor = product(below);
  if (divisor == Dim(0))
    node.reject("a shape with 0 has no room for -1");
  return floorDiv(product(above), divisor);
}

/// The shape input of Reshape as dims.
class NewShape {
public:
  explicit NewShape(Node &node) : node_(node) {}
  /// Absent after a failure.
  std::optional<Dims> read();

private:
  void addKnown(const KnownElement &element, size_t at);
  void readData();
  std::vector<ValueId> resolved();
  ValueId inferred(const std::vector<ValueId> &sizes);

  Node &node_;
  Dims own_;
  bool allowZero_ = false;
  std::vector<DataElement> elements_;
  Dims dims_, others_;         ///< of `others_` the open one is what is left
  std::optional<size_t> open_; ///< the entry -1
};

void NewShape::addKnown(const KnownElement &element, size_t at) {
  if (element.value == Dim(-1)) {
    if (open_)
      node_.reject("its shape has -1 twice");
    open_ = at;
    return;
  }
  if (element.value != Dim(0) || allowZero_)
    dims_[at] = requireSize(node_, element, "shape");
  else if (at < own_.size())
    dims_[at] = own_[at];
  else
    node_.reject("its shape has 0 at axis " + std::to_string(at) +
                 ", which the input " + node_.inputType(0).str() + " lacks");
  others_.push_back(dims_[at]);
}

/// The entries as scalars; a 0 that takes the input's size has become it.
std::vector<ValueId> NewShape::resolved() {
  std::vector<ValueId> sizes;
  for (size_t i = 0; i < elements_.size(); ++i) {
    ValueId size = elements_[i].known ? node_.fillDim(DType::I64, dims_[i], {})
                                      : elements_[i].value;
    if (!elements_[i].known && !allowZero_ && i < own_.size())
      size = node_.op(
          "select",
          {node_.compare("eq", size, node_.fillInteger(DType::I64, 0, {})),
           node_.fillDim(DType::I64, own_[i], {}), size});
    sizes.push_back(size);
  }
  return sizes;
}

/// What is left for an entry -1.
ValueId NewShape::inferred(const std::vector<ValueId> &sizes) {
  ValueId one = node_.fillInteger(DType::I64, 1, {}), all = one;
  for (ValueId size : sizes)
    all = node_.op(
        "mul",
        {all,
         node_.op("select", {node_.compare("lt", size, node_.fillLike(size, 0)),
                             one, size})});
  return node_.op("div", {node_.fillDim(DType::I64, product(own_), {}),
                          node_.op("max", {all, one})});
}

/// All sizes that data decide are read. The open one, else the last of them,
/// is what the others leave, so that the result is bounded by the input.
void NewShape::readData() {
  bool known = open_.has_value();
  std::vector<ValueId> sizes = resolved();
  ValueId left = known ? kNone : inferred(sizes);
  Dim count = product(own_), last;
  for (size_t i = 0; node_.ok() && i < elements_.size(); ++i) {
    if (elements_[i].known)
      continue;
    ValueId size = sizes[i];
    if (!known)
      size = node_.op(
          "select",
          {node_.compare("eq", size, node_.fillLike(size, -1)), left, size});
    std::optional<Dim> most = i < own_.size() ? max(count, own_[i]) : count;
    // Beside a 0, any size is right.
    if (count == Dim(0))
      most.reset();
    dims_[i] = last =
        readSize(node_, size, "shape_" + std::to_string(i), most, i);
    if (!known)
      open_ = i;
    others_.push_back(dims_[i]);
  }
  if (!known)
    others_.pop_back();
  if (!node_.ok() || (!known && count == Dim(0)))
    return;
  dims_[*open_] = floorDiv(count, max(product(others_), Dim(1)));
  if (!known)
    node_.require(last, dims_[*open_], "the numbers of elements must be equal");
}

std::optional<Dims> NewShape::read() {
  allowZero_ = node_.flag("allowzero", false);
  elements_ = elementsOf(node_, 1, "shape");
  if (node_.ok() && node_.inputType(1).rank() != 1)
    node_.reject("its shape has rank 0, but must have rank 1");
  own_ = node_.inputType(0).dims;
  dims_.assign(elements_.size(), Dim(0));
  for (size_t i = 0; node_.ok() && i < elements_.size(); ++i)
    if (elements_[i].known)
      addKnown(*elements_[i].known, i);
  if (!node_.ok())
    return std::nullopt;
  if (anyData(elements_))
    readData();
  else if (open_)
    dims_[*open_] = quotient(node_, own_, others_);
  return node_.ok() ? std::optional(dims_) : std::nullopt;
}

} // namespace

void onnxReshape(Node &node) {
  if (std::optional<Dims> dims = NewShape(node).read())
    outReshaped(node, *dims);
}

void onnxFlatten(Node &node) {
  const Dims dims = node.inputType(0).dims;
  int64_t given = node.i64("axis", 1);
  if (given < 0 && node.opset() < 11)
    node.reject("a negative axis needs opset 11");
  size_t axis = given == static_cast<int64_t>(dims.size())
                    ? dims.size()
                    : node.axis(given, dims.size());
  if (!node.ok())
    return;
  outReshaped(node, {product(Dims(dims.begin(), dims.begin() + axis)),
                     product(Dims(dims.begin() + axis, dims.end()))});
}

namespace {

/// The axes of Squeeze and Unsqueeze: an attribute before opset 13.
std::vector<int64_t> axesOf(Node &node) {
  if (node.opset() < 13) {
    if (node.has(1))
      node.reject("axes are an attribute before opset 13");
    return node.i64s("axes");
  }
  return node.has(1) ? node.requireIntegers(1, "axes") : std::vector<int64_t>();
}

} // namespace

void onnxSqueeze(Node &node) {
  Dims dims = node.inputType(0).dims;
  std::vector<int64_t> axes = node.axes(axesOf(node), dims.size());
  bool all = !node.has(1) && !node.hasAttribute("axes");
  if (!node.ok())
    return;
  for (size_t i = 0; all && i < dims.size(); ++i) {
    if (dims[i] == Dim(1))
      axes.push_back(static_cast<int64_t>(i));
    else if (!dims[i].constant())
      return node.refuse("the axes are not given and the input " +
                         node.inputType(0).str() + " has symbolic sizes");
  }
  for (size_t i = axes.size(); i-- > 0;) {
    node.require(dims[axes[i]], Dim(1), "a squeezed axis must have size 1");
    dims.erase(dims.begin() + axes[i]);
  }
  outReshaped(node, dims);
}

void onnxUnsqueeze(Node &node) {
  if (node.opset() >= 13 ? !node.has(1) : !node.hasAttribute("axes"))
    return node.reject("its axes are missing");
  Dims dims = node.inputType(0).dims;
  std::vector<int64_t> given = axesOf(node);
  std::vector<int64_t> axes = node.axes(given, dims.size() + given.size());
  if (!node.ok())
    return;
  for (int64_t axis : axes)
    dims.insert(dims.begin() + axis, Dim(1));
  outReshaped(node, dims);
}

} // namespace backplane::frontend
