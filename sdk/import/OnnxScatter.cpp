// SPDX-License-Identifier: Apache-2.0
//
// ScatterElements and ScatterND with constant indices: data and updates are
// joined, and a constant table says which of them each element of the result
// is.
#include "OnnxHandlers.h"

#include <numeric>

namespace backplane::frontend {

namespace {

/// Larger results would need a larger table than they are worth.
constexpr int64_t kMaxTable = int64_t(1) << 22;

/// Row-major strides.
std::vector<int64_t> stridesOf(const std::vector<int64_t> &dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

struct Scatter {
  std::vector<int64_t> dims;    ///< of the data
  std::vector<int64_t> indices; ///< dims of the indices
  std::vector<int64_t> values;  ///< of the indices
  std::vector<int64_t> table;   ///< source of each element of the result
};

std::optional<std::vector<int64_t>> constantIntegers(const Tensor &tensor) {
  if (tensor.known)
    return tensor.known->constants();
  if (!tensor.host)
    return std::nullopt;
  std::vector<int64_t> values;
  for (size_t i = 0, count = tensor.host->count(); i < count; ++i) {
    std::optional<int64_t> value = integerAt(*tensor.host, i);
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<Scatter> readScatter(Node &node) {
  if (node.string("reduction", "none") != "none")
    node.refuse("a reduction is not supported");
  DType type = node.inputType(1).dtype;
  if (node.ok() && type != DType::I64 && type != DType::I32)
    node.reject("its indices are " + node.inputType(1).str() +
                ", but must be i32 or i64");
  auto dims = staticDims(node.inputType(0).dims);
  auto values = constantIntegers(node.tensor(1));
  if (node.ok() && (!dims || !values))
    node.refuse("only constant indices of data with static sizes are "
                "supported");
  if (!node.ok())
    return std::nullopt;
  Result<int64_t> count = elementCount(*dims);
  if (!count.ok() || *count > kMaxTable) {
    node.refuse("data with more than 2^22 elements are not supported");
    return std::nullopt;
  }
  Scatter scatter{*dims, *staticDims(node.inputType(1).dims), *values, {}};
  scatter.table.resize(static_cast<size_t>(*count));
  std::iota(scatter.table.begin(), scatter.table.end(), 0);
  return scatter;
}

/// An index as one of [0, size).
int64_t indexIn(Node &node, int64_t index, int64_t size) {
  if (index < -size || index >= size) {
    node.reject("index " + std::to_string(index) +
                " is out of range for the size " + std::to_string(size));
    return 0;
  }
  return index < 0 ? index + size : index;
}

/// Element `update` of the updates goes to `target`.
void put(Node &node, Scatter &scatter, int64_t target, int64_t update) {
  if (!node.ok())
    return;
  int64_t count = static_cast<int64_t>(scatter.table.size());
  int64_t &source = scatter.table[static_cast<size_t>(target)];
  if (source >= count)
    node.refuse("two updates of one element are not supported");
  source = count + update;
}

void outScattered(Node &node, const Scatter &scatter) {
  if (!node.ok())
    return;
  int64_t count = static_cast<int64_t>(scatter.table.size());
  auto bytes = std::make_shared<Bytes>();
  for (int64_t source : scatter.table)
    for (uint8_t byte : encodeInteger(DType::I64, source))
      bytes->push_back(byte);
  ValueId table = node.constant({DType::I64, {count}, {*bytes, bytes}});
  ValueId data = node.reshape(node.value(0), {Dim(count)});
  ValueId updates =
      node.reshape(node.value(2), {product(node.inputType(2).dims)});
  ValueId all = node.op("concat", {data, updates}, {{"axis", int64_t(0)}});
  ValueId flat = node.op("gather", {all, table}, {{"axis", int64_t(0)}});
  node.out(0, node.reshape(flat, Dims(node.inputType(0).dims)));
}

} // namespace

void onnxScatterElements(Node &node) {
  size_t rank = node.inputType(0).rank();
  size_t axis = node.axis(node.i64("axis", 0), rank);
  auto scatter = readScatter(node);
  if (node.ok() && (scatter->indices.size() != rank ||
                    node.inputType(2).dims != node.inputType(1).dims))
    node.reject("its indices " + node.inputType(1).str() + " and updates " +
                node.inputType(2).str() + " do not fit its data");
  for (size_t i = 0; node.ok() && i < rank; ++i)
    if (i != axis && scatter->indices[i] > scatter->dims[i])
      node.reject("its indices are larger than its data");
  if (!node.ok())
    return;
  std::vector<int64_t> strides = stridesOf(scatter->dims);
  Odometer at(scatter->indices);
  for (size_t i = 0; node.ok() && i < scatter->values.size(); ++i, at.step()) {
    int64_t target = 0;
    for (size_t d = 0; d < rank; ++d) {
      int64_t index = at.index()[d];
      if (d == axis)
        index = indexIn(node, scatter->values[i], scatter->dims[d]);
      target += index * strides[d];
    }
    put(node, *scatter, target, static_cast<int64_t>(i));
  }
  outScattered(node, *scatter);
}

void onnxScatterNd(Node &node) {
  auto scatter = readScatter(node);
  if (!node.ok())
    return;
  size_t rank = scatter->dims.size();
  size_t depth = scatter->indices.empty()
                     ? 0
                     : static_cast<size_t>(scatter->indices.back());
  if (depth < 1 || depth > rank)
    return node.reject("the last size of its indices does not fit its data");
  // updates: the dims of the tuples, then those of one slice of the data.
  Dims expected(scatter->indices.begin(), scatter->indices.end() - 1);
  expected.insert(expected.end(), scatter->dims.begin() + depth,
                  scatter->dims.end());
  if (node.inputType(2).dims != expected)
    return node.reject("its updates " + node.inputType(2).str() +
                       " do not fit its data and indices");
  std::vector<int64_t> strides = stridesOf(scatter->dims);
  int64_t slice = strides[depth - 1];
  for (size_t i = 0; node.ok() && i < scatter->values.size() / depth; ++i) {
    int64_t target = 0;
    for (size_t d = 0; d < depth; ++d)
      target += strides[d] *
                indexIn(node, scatter->values[i * depth + d], scatter->dims[d]);
    for (int64_t k = 0; node.ok() && k < slice; ++k)
      put(node, *scatter, target + k, static_cast<int64_t>(i) * slice + k);
  }
  outScattered(node, *scatter);
}

} // namespace backplane::frontend
