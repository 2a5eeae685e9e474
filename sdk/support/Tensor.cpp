// SPDX-License-Identifier: Apache-2.0
#include "Tensor.h"
#include "DType.h"
#include "Element.h"
#include "Joined.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace backplane {

void Tensor::Free::operator()(uint8_t *memory) const { std::free(memory); }

uint64_t elementBytes(bp_dtype_t dtype) { return bitWidth(DType(dtype)) / 8; }

std::string dtypeName(bp_dtype_t dtype) {
  return bitWidth(DType(dtype)) ? std::string(name(DType(dtype)))
                                : "dtype " + std::to_string(dtype);
}

std::string shapeText(const std::vector<int64_t> &dims) {
  auto text = [](int64_t dim) { return std::to_string(dim); };
  return "[" + joined(dims, ", ", text) + "]";
}

std::string indexText(const std::vector<int64_t> &dims, uint64_t flat) {
  std::vector<int64_t> index(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    uint64_t size = std::max<int64_t>(dims[axis], 1);
    index[axis] = int64_t(flat % size);
    flat /= size;
  }
  return shapeText(index);
}

static Result<uint64_t> denseSize(bp_dtype_t dtype,
                                  const std::vector<int64_t> &dims) {
  uint64_t size = elementBytes(dtype);
  if (!size)
    return unimplemented(dtypeName(dtype) + " tensors cannot be held by files");
  bool empty = false;
  for (int64_t dim : dims)
    empty |= dim == 0;
  for (int64_t dim : dims)
    if (dim < 0 ||
        __builtin_mul_overflow(size, uint64_t(empty ? 1 : dim), &size) ||
        size > (1ull << 46))
      return invalidArgument("a tensor of shape " + shapeText(dims) +
                             " is too large");
  return empty ? 0 : size;
}

Status Tensor::shrink(std::vector<int64_t> dims) {
  Result<uint64_t> size = denseSize(dtype_, dims);
  if (!size)
    return size.status();
  if (*size > size_)
    return invalidArgument("a tensor of shape " + shapeText(dims) +
                           " does not fit in " + std::to_string(size_) +
                           " bytes");
  dims_ = std::move(dims);
  size_ = *size;
  return {};
}

Result<Tensor> Tensor::create(bp_dtype_t dtype, std::vector<int64_t> dims) {
  Result<uint64_t> size = denseSize(dtype, dims);
  if (!size)
    return size.status();
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  tensor.size_ = *size;
  uint64_t bytes = (tensor.size_ / 64 + 1) * 64;
  tensor.data_.reset(static_cast<uint8_t *>(std::aligned_alloc(64, bytes)));
  if (!tensor.data_)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED, "no memory for a tensor of " +
                                                    std::to_string(bytes) +
                                                    " bytes");
  std::memset(tensor.data_.get(), 0, bytes);
  return tensor;
}

int64_t Tensor::elements() const {
  if (std::ranges::find(dims_, 0) != dims_.end())
    return 0; // the product of the other dims may not fit
  int64_t count = 1;
  for (int64_t dim : dims_)
    count *= dim;
  return count;
}

double Tensor::number(int64_t index) const {
  return decodeElement(DType(dtype_), {data_.get(), size_}, size_t(index));
}

} // namespace backplane
