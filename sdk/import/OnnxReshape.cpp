// SPDX-License-Identifier: Apache-2.0
//
// Ops that change dims or the order of axes but no element.
#include "OnnxHandlers.h"
#include "ShapeInput.h"

#include <algorithm>
#include <numeric>

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

} // namespace

namespace {

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

namespace {

/// Known integers under broadcasting.
bool expandKnown(Node &node, const Dims &dims) {
  const Known *known = node.known(0);
  auto fixed = staticDims(dims);
  if (!node.ok() || !known || !fixed)
    return false;
  Result<int64_t> count = elementCount(*fixed);
  if (!count.ok() || *count > static_cast<int64_t>(kMaxKnown))
    return false;
  std::vector<size_t> positions;
  Odometer at(*fixed);
  for (int64_t i = 0; i < *count; ++i, at.step())
    positions.push_back(positionOf(known->dims, at.index()));
  if (auto result = pick(*known, *fixed, positions)) {
    node.out(0, *result);
    return true;
  }
  return false;
}

} // namespace

void onnxExpand(Node &node) {
  Dims dims = requireSizes(node, 1, "shape");
  if (!node.ok())
    return;
  // A size that data decide may be 1 in one call and more in the next.
  bool isRead = std::any_of(dims.begin(), dims.end(), [&](const Dim &dim) {
    return isReadSize(node, dim);
  });
  dims = node.commonDims(Dims(node.inputType(0).dims), dims, isRead);
  checkCount(node, dims);
  if (!node.ok() || expandKnown(node, dims))
    return;
  if (node.inputType(0).dims == dims)
    return node.outSame(0, 0);
  node.out(0, node.broadcast(node.value(0), dims));
}

/// [a, b] by [r, s] is a broadcast to [r, a, s, b], reshaped to [r*a, s*b].
void onnxTile(Node &node) {
  Dims repeats = requireSizes(node, 1, "repeats");
  const Dims own = node.inputType(0).dims;
  if (node.ok() && repeats.size() != own.size())
    node.reject("it has " + std::to_string(repeats.size()) +
                " repeats for the input " + node.inputType(0).str());
  if (!node.ok())
    return;
  Dims wide, dims;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < own.size(); ++i) {
    if (repeats[i] != Dim(1))
      wide.push_back(repeats[i]);
    axes.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(own[i]);
    dims.push_back(repeats[i] * own[i]);
  }
  checkCount(node, wide);
  checkCount(node, dims);
  if (wide.size() == own.size())
    return node.outSame(0, 0);
  ValueId tiled =
      node.op("broadcast", {node.value(0)}, {{"dims", wide}, {"axes", axes}});
  node.out(0, node.reshape(tiled, dims));
}

void onnxTranspose(Node &node) {
  const Dims own = node.inputType(0).dims;
  std::vector<int64_t> permutation = node.i64s("perm");
  if (!node.hasAttribute("perm")) {
    permutation.resize(own.size());
    std::iota(permutation.rbegin(), permutation.rend(), 0);
  }
  std::vector<int64_t> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool right = sorted.size() == own.size();
  for (size_t i = 0; right && i < sorted.size(); ++i)
    right = sorted[i] == static_cast<int64_t>(i);
  if (!right)
    node.reject("attribute 'perm' is not a permutation of the axes of " +
                node.inputType(0).str());
  if (!node.ok())
    return;
  const Known *known = node.known(0);
  if (!known)
    return node.out(0, node.transpose(node.value(0), permutation));
  std::vector<int64_t> dims;
  for (int64_t axis : permutation)
    dims.push_back(known->dims[axis]);
  std::vector<size_t> positions;
  Odometer at(dims);
  std::vector<int64_t> source(dims.size());
  for (size_t i = 0; i < known->elements.size(); ++i, at.step()) {
    for (size_t axis = 0; axis < dims.size(); ++axis)
      source[permutation[axis]] = at.index()[axis];
    positions.push_back(positionOf(known->dims, source));
  }
  node.out(0, *pick(*known, dims, positions));
}

// ---- DepthToSpace, SpaceToDepth ----

namespace {

/// The block size, for an input of rank 4.
int64_t blockOf(Node &node) {
  int64_t block = node.i64("blocksize", 0);
  if (block < 1 || block > (1 << 20))
    node.reject("attribute 'blocksize' is " + std::to_string(block));
  if (node.ok() && node.inputType(0).rank() != 4)
    node.reject("the input " + node.inputType(0).str() + " needs rank 4");
  return block;
}

/// Whether the block's axes come before the channels.
bool blockFirst(Node &node) {
  std::string mode = node.string("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    node.reject("attribute 'mode' is '" + mode + "'");
  return mode == "DCR";
}

/// dim / by, which must divide it.
Dim part(Node &node, const Dim &dim, int64_t by) {
  Dim result = floorDiv(dim, Dim(by));
  node.require(result * Dim(by), dim, "the block size must divide the size");
  return result;
}

} // namespace

void onnxDepthToSpace(Node &node) {
  int64_t block = blockOf(node);
  bool first = blockFirst(node);
  if (!node.ok())
    return;
  const Dims d = node.inputType(0).dims;
  Dim b(block), depth = part(node, d[1], block * block);
  Dims split = first ? Dims{d[0], b, b, depth, d[2], d[3]}
                     : Dims{d[0], depth, b, b, d[2], d[3]};
  std::vector<int64_t> order = first ? std::vector<int64_t>{0, 3, 4, 1, 5, 2}
                                     : std::vector<int64_t>{0, 1, 4, 2, 5, 3};
  ValueId parts = node.reshape(node.value(0), split);
  node.out(0, node.reshape(node.transpose(parts, order),
                           {d[0], depth, d[2] * b, d[3] * b}));
}

void onnxSpaceToDepth(Node &node) {
  int64_t block = blockOf(node);
  std::vector<int64_t> order = blockFirst(node)
                                   ? std::vector<int64_t>{0, 3, 5, 1, 2, 4}
                                   : std::vector<int64_t>{0, 1, 3, 5, 2, 4};
  if (!node.ok())
    return;
  const Dims d = node.inputType(0).dims;
  Dim b(block), h = part(node, d[2], block), w = part(node, d[3], block);
  ValueId parts = node.reshape(node.value(0), {d[0], d[1], h, b, w, b});
  node.out(0, node.reshape(node.transpose(parts, order),
                           {d[0], d[1] * b * b, h, w}));
}

} // namespace backplane::frontend
