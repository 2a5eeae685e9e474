// SPDX-License-Identifier: Apache-2.0
//
// HostTensor.h: constant tensors of a model, in the SDK's own dtypes.
#ifndef BACKPLANE_IMPORT_HOSTTENSOR_H
#define BACKPLANE_IMPORT_HOSTTENSOR_H

#include "OnnxFile.h"
#include "sdk/graph/Graph.h"

namespace backplane::frontend {

/// Static dims and all elements, row-major, packed as graph.h says. `data` has
/// no alignment.
struct HostTensor {
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;
  OwnedBytes data;

  size_t count() const; ///< elements
  TensorType type() const;
};

/// The dtype of an ONNX element type; fails with its name when there is none.
Result<DType> dtypeOf(int onnxType);

/// The largest number of elements that a tensor of a model may have. Sizes
/// within it can be multiplied by any element size without an overflow.
constexpr int64_t kMaxElements = int64_t(1) << 46;

/// Element count of static dims; fails on a negative size or above
/// kMaxElements.
Result<int64_t> elementCount(std::span<const int64_t> dims);

/// The contents of a TensorProto. `raw` are its raw data when these were left
/// out of the message; `owner` keeps message and raw data valid.
Result<HostTensor> readTensor(const onnx::TensorProto &proto,
                              std::optional<std::span<const uint8_t>> raw,
                              ModelFolder &folder,
                              const std::shared_ptr<const void> &owner);

/// The bytes of one element.
Bytes encodeFloat(DType type, double value);
Bytes encodeInteger(DType type, int64_t value);
/// Either, by dtype; integers are rounded towards zero, NaN gives 0.
Bytes encodeNumber(DType type, double value);
/// Element `index` as a number; meant for f64, f32, f16, bf16, integers of 8
/// bits or more and bool, absent otherwise.
std::optional<double> numberAt(const HostTensor &tensor, size_t index);
/// Element `index` of a signed integer, u8, u16, u32 or bool tensor.
std::optional<int64_t> integerAt(const HostTensor &tensor, size_t index);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_HOSTTENSOR_H
