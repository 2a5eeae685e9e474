// SPDX-License-Identifier: Apache-2.0
#include "OnnxIndex.h"

#include <algorithm>

namespace backplane::frontend {

namespace {

/// Whether an index input is known to have no negative element.
bool isNonNegative(Node &node, size_t input) {
  if (const Known *known = node.known(input))
    return std::all_of(known->elements.begin(), known->elements.end(),
                       [](const KnownElement &e) { return e.nonNegative; });
  const NamedValue &tensor = node.tensor(input);
  if (!tensor.host)
    return false;
  for (size_t i = 0, count = tensor.host->count(); i < count; ++i)
    if (integerAt(*tensor.host, i).value_or(-1) < 0)
      return false;
  return true;
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

/// Element `i` of each tuple of indices.
ValueId partOfTuples(Node &node, ValueId tuples, int64_t i) {
  const Dims &sizes = node.type(tuples).dims;
  Dims outer(sizes.begin(), sizes.end() - 1);
  return node.reshape(node.part(tuples, outer.size(), Dim(i), Dim(1)), outer);
}

/// Length of the tuples that input 1 holds; 0 after a failure.
size_t tupleLength(Node &node, const Dims &dims, size_t batch) {
  const Dims &index = node.inputType(1).dims;
  DType type = node.inputType(1).dtype;
  if (node.ok() && type != DType::I64 && type != DType::I32)
    node.reject("its indices are " + node.inputType(1).str() +
                ", but must be i32 or i64");
  if (node.ok() && (dims.size() <= batch || index.size() <= batch))
    node.reject("operands need rank " + std::to_string(batch + 1) + " or more");
  if (!node.ok())
    return 0;
  std::optional<int64_t> depth = index.back().constant();
  if (!depth)
    node.refuse("the last size of the indices " + node.inputType(1).str() +
                " is symbolic");
  else if (*depth < 1 || *depth > static_cast<int64_t>(dims.size() - batch))
    node.reject("the last size of the indices " + node.inputType(1).str() +
                " does not fit the data " + node.inputType(0).str());
  return node.ok() ? static_cast<size_t>(*depth) : 0;
}

} // namespace

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
  checkConstantIndices(node, input, size);
  bool plain = isNonNegative(node, input);
  ValueId index = node.cast(node.value(input), DType::I64);
  return plain ? index : wrapped(node, index, size);
}

ValueId elementPositions(Node &node, const Dims &dims, size_t axis) {
  if (node.ok() && node.inputType(1).rank() != dims.size())
    node.reject("its operands " + node.inputType(0).str() + " and " +
                node.inputType(1).str() + " need the same rank");
  return node.ok() ? elementPositions(node, readIndices(node, 1, dims[axis]),
                                      dims, axis)
                   : kNone;
}

ValueId elementPositions(Node &node, ValueId index, const Dims &dims,
                         size_t axis) {
  const Dims wanted = node.type(index).dims;
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
    if (wanted[i] != Dim(1))
      flat.add(node.counter(wanted, i), stride);
  }
  return flat.build();
}

Rows rowPositions(Node &node, const Dims &dims, size_t batch) {
  size_t depth = tupleLength(node, dims, batch);
  if (!node.ok())
    return {kNone, {}};
  ValueId all = node.cast(node.value(1), DType::I64);
  const Dims index = node.inputType(1).dims;
  Dims outer(index.begin(), index.end() - 1);
  Dims head(dims.begin(), dims.begin() + batch + depth);
  FlatIndex flat(node, outer);
  for (size_t i = 0; i < head.size() && node.ok(); ++i) {
    Dim stride = product(Dims(head.begin() + i + 1, head.end()));
    if (i < batch) {
      node.require(outer[i], head[i], "batch sizes of data and indices");
      flat.add(node.counter(outer, i), stride);
      continue;
    }
    auto place = static_cast<int64_t>(i - batch);
    ValueId part = wrapped(node, partOfTuples(node, all, place), head[i]);
    flat.check(part, head[i]);
    flat.add(part, stride);
  }
  Rows rows{flat.build(), {product(head)}};
  rows.dims.insert(rows.dims.end(), dims.begin() + batch + depth, dims.end());
  return rows;
}

} // namespace backplane::frontend
