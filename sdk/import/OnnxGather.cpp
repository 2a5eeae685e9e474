// SPDX-License-Identifier: Apache-2.0
//
// Gather, GatherElements, GatherND. The ops of the graph have no negative
// indices; an index that is out of range becomes -1, so that it is reported.
#include "OnnxHandlers.h"
#include "ShapeInput.h"

#include <algorithm>

namespace backplane::frontend {

namespace {

/// Whether an index input is known to have no negative element.
bool isNonNegative(Node &node, size_t input) {
  if (const Known *known = node.known(input))
    return std::all_of(known->elements.begin(), known->elements.end(),
                       [](const KnownElement &e) { return e.nonNegative; });
  const Tensor &tensor = node.tensor(input);
  if (!tensor.host)
    return false;
  for (size_t i = 0, count = tensor.host->count(); i < count; ++i)
    if (integerAt(*tensor.host, i).value_or(-1) < 0)
      return false;
  return true;
}

/// index, plus size where it is negative.
ValueId wrapped(Node &node, ValueId index, const Dim &size) {
  TensorType type = node.type(index);
  ValueId sum =
      node.op("add", {index, node.fillDim(type.dtype, size, type.dims)});
  ValueId negative = node.compare("lt", index, node.fillLike(index, 0));
  return node.op("select", {negative, sum, index});
}

/// An index input as i64 without negative elements.
ValueId readIndices(Node &node, size_t input, const Dim &size) {
  DType type = node.inputType(input).dtype;
  if (node.ok() && type != DType::I64 && type != DType::I32)
    node.reject("its indices are " + node.inputType(input).str() +
                ", but must be i32 or i64");
  bool plain = isNonNegative(node, input);
  ValueId index = node.cast(node.value(input), DType::I64);
  return plain ? index : wrapped(node, index, size);
}

/// Known integers chosen by known indices.
std::optional<Known> gatherKnown(Node &node, size_t axis) {
  const Known *x = node.known(0), *indices = node.known(1);
  if (!x || !indices || !indices->constants())
    return std::nullopt;
  int64_t size = x->dims[axis];
  std::vector<int64_t> dims(x->dims.begin(), x->dims.begin() + axis);
  dims.insert(dims.end(), indices->dims.begin(), indices->dims.end());
  dims.insert(dims.end(), x->dims.begin() + axis + 1, x->dims.end());
  Result<int64_t> count = elementCount(dims);
  if (!count.ok() || *count > static_cast<int64_t>(kMaxKnown))
    return std::nullopt;
  size_t rank = indices->dims.size();
  std::vector<size_t> positions;
  Odometer at(dims);
  for (int64_t i = 0; i < *count; ++i, at.step()) {
    std::vector<int64_t> source(at.index());
    std::vector<int64_t> which(source.begin() + axis,
                               source.begin() + axis + rank);
    int64_t index =
        *indices->elements[positionOf(indices->dims, which)].value.constant();
    index += index < 0 ? size : 0;
    if (index < 0 || index >= size)
      return std::nullopt;
    source.erase(source.begin() + axis, source.begin() + axis + rank);
    source.insert(source.begin() + axis, index);
    positions.push_back(positionOf(x->dims, source));
  }
  return pick(*x, dims, positions);
}

/// Refuses constant indices that no element answers to.
void checkConstantIndices(Node &node, size_t input, const Dim &size) {
  const Known *known = node.known(input);
  if (!known || !size.constant())
    return;
  for (const KnownElement &element : known->elements) {
    std::optional<int64_t> index = element.value.constant();
    if (index && (*index < -*size.constant() || *index >= *size.constant()))
      node.reject("index " + std::to_string(*index) +
                  " is out of range for the size " + size.str());
  }
}

} // namespace

void onnxGather(Node &node) {
  const Dims dims = node.inputType(0).dims;
  size_t axis = node.axis(node.i64("axis", 0), dims.size());
  if (!node.ok())
    return;
  checkConstantIndices(node, 1, dims[axis]);
  if (node.ok())
    if (auto result = gatherKnown(node, axis))
      return node.out(0, *result);
  ValueId indices = readIndices(node, 1, dims[axis]);
  node.out(0, node.op("gather", {node.value(0), indices},
                      {{"axis", static_cast<int64_t>(axis)}}));
}

namespace {

/// Builds positions in a flattened tensor from one index per axis.
class FlatIndex {
public:
  FlatIndex(Node &node, const Dims &dims) : node_(node), dims_(dims) {}

  /// Adds `index`, which lies in [0, size), times `stride`.
  void add(ValueId index, const Dim &stride) {
    ValueId scaled = index;
    if (stride != Dim(1))
      scaled =
          node_.op("mul", {index, node_.fillDim(DType::I64, stride, dims_)});
    sum_ = sum_ == kNone ? scaled : node_.op("add", {sum_, scaled});
  }
  /// Makes positions with an index outside of [0, size) invalid.
  void check(ValueId index, const Dim &size) {
    ValueId low =
        node_.compare("ge", index, node_.fillInteger(DType::I64, 0, dims_));
    ValueId high =
        node_.compare("lt", index, node_.fillDim(DType::I64, size, dims_));
    ValueId both = node_.op("and", {low, high});
    valid_ = valid_ == kNone ? both : node_.op("and", {valid_, both});
  }
  ValueId build() {
    if (valid_ == kNone)
      return sum_;
    return node_.op("select",
                    {valid_, sum_, node_.fillInteger(DType::I64, -1, dims_)});
  }

private:
  Node &node_;
  Dims dims_;
  ValueId sum_ = kNone, valid_ = kNone;
};

} // namespace

/// result[i, j] = x[i, indices[i, j]] for axis 1: a gather from flattened x.
void onnxGatherElements(Node &node) {
  const Dims dims = node.inputType(0).dims, wanted = node.inputType(1).dims;
  size_t axis = node.axis(node.i64("axis", 0), dims.size());
  if (node.ok() && wanted.size() != dims.size())
    node.reject("its operands " + node.inputType(0).str() + " and " +
                node.inputType(1).str() + " need the same rank");
  if (!node.ok())
    return;
  ValueId index = readIndices(node, 1, dims[axis]);
  FlatIndex flat(node, wanted);
  for (size_t i = 0; i < dims.size() && node.ok(); ++i) {
    Dim stride = product(Dims(dims.begin() + i + 1, dims.end()));
    if (i == axis) {
      flat.add(index, stride);
      flat.check(index, dims[i]);
      continue;
    }
    node.require(max(wanted[i], dims[i]), dims[i],
                 "indices must not be larger than the data");
    if (wanted[i] == Dim(1))
      continue;
    flat.add(node.op("iota", {},
                     {{"dtype", static_cast<int64_t>(DType::I64)},
                      {"dims", wanted},
                      {"axis", static_cast<int64_t>(i)}}),
             stride);
  }
  ValueId data = node.reshape(node.value(0), {product(dims)});
  node.out(0, node.op("gather", {data, flat.build()}, {{"axis", int64_t(0)}}));
}

void onnxGatherNd(Node &node) {
  const Dims dims = node.inputType(0).dims, index = node.inputType(1).dims;
  if (node.i64("batch_dims", 0) != 0)
    node.refuse("batch_dims is supported as 0 only");
  if (node.ok() && (dims.empty() || index.empty()))
    node.reject("operands need rank 1 or more");
  if (!node.ok())
    return;
  std::optional<int64_t> depth = index.back().constant();
  if (!depth)
    return node.refuse("the last size of the indices " +
                       node.inputType(1).str() + " is symbolic");
  if (*depth < 1 || *depth > static_cast<int64_t>(dims.size()))
    return node.reject("the last size of the indices " +
                       node.inputType(1).str() + " does not fit the data " +
                       node.inputType(0).str());
  ValueId all = node.cast(node.value(1), DType::I64);
  Dims outer(index.begin(), index.end() - 1);
  Dims head(dims.begin(), dims.begin() + *depth);
  FlatIndex flat(node, outer);
  for (int64_t i = 0; i < *depth && node.ok(); ++i) {
    Dims starts(index.size(), Dim(0)), sizes = index;
    starts.back() = Dim(i);
    sizes.back() = Dim(1);
    ValueId part =
        node.op("slice", {all},
                {{"starts", starts},
                 {"sizes", sizes},
                 {"strides", std::vector<int64_t>(index.size(), 1)}});
    part = wrapped(node, node.reshape(part, outer), head[i]);
    flat.check(part, head[i]);
    flat.add(part, product(Dims(head.begin() + i + 1, head.end())));
  }
  Dims rows{product(head)};
  rows.insert(rows.end(), dims.begin() + *depth, dims.end());
  ValueId data = node.reshape(node.value(0), rows);
  node.out(0, node.op("gather", {data, flat.build()}, {{"axis", int64_t(0)}}));
}

} // namespace backplane::frontend
