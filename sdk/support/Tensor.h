// SPDX-License-Identifier: Apache-2.0
//
// Tensor.h: a dense tensor in memory of the host.
#ifndef BACKPLANE_SUPPORT_TENSOR_H
#define BACKPLANE_SUPPORT_TENSOR_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace backplane {

/// A dense tensor with its memory, 64-byte aligned.
class Tensor {
public:
  Tensor() = default;
  /// Zeros of this shape; fails when the size does not fit 2^46 bytes or
  /// memory.
  static Result<Tensor> create(bp_dtype_t dtype, std::vector<int64_t> dims);

  bp_dtype_t dtype() const { return dtype_; }
  const std::vector<int64_t> &dims() const { return dims_; }
  uint8_t *data() { return data_.get(); }
  const uint8_t *data() const { return data_.get(); }
  uint64_t size() const { return size_; }
  int64_t elements() const;
  /// Element `index` in row-major order as a number, of any dtype; 0 outside.
  double number(int64_t index) const;
  /// Keeps the first elements under other dims, which need no more of them.
  Status shrink(std::vector<int64_t> dims);
  /// Reinterprets unsigned bits as `dtype` of the same width.
  void setDType(bp_dtype_t dtype) { dtype_ = dtype; }

private:
  struct Free {
    void operator()(uint8_t *memory) const;
  };
  bp_dtype_t dtype_ = BP_DTYPE_INVALID;
  std::vector<int64_t> dims_;
  std::unique_ptr<uint8_t[], Free> data_;
  uint64_t size_ = 0;
};

/// Bytes of one element; 0 for sub-byte and unknown dtypes.
uint64_t elementBytes(bp_dtype_t dtype);
/// "f32"
std::string dtypeName(bp_dtype_t dtype);
/// "[2, 3]"
std::string shapeText(const std::vector<int64_t> &dims);

/// "[2, 0, 5]": where the element of this row-major index is.
std::string indexText(const std::vector<int64_t> &dims, uint64_t flat);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_TENSOR_H
