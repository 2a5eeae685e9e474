// SPDX-License-Identifier: Apache-2.0
#include "TensorMaps.h"

#include <limits>

namespace backplane::cuda {
namespace {

/// Takes numbers one after another; the first that is not there, or out of its
/// range, ends it.
class Words {
public:
  explicit Words(std::span<const int64_t> words) : words_(words) {}

  uint64_t next(uint64_t least, uint64_t most) {
    if (words_.empty() || words_[0] < 0 || uint64_t(words_[0]) < least ||
        uint64_t(words_[0]) > most)
      good = false;
    if (!good)
      return least;
    const auto word = uint64_t(words_[0]);
    words_ = words_.subspan(1);
    return word;
  }
  bool atEnd() const { return words_.empty(); }

  bool good = true;

private:
  std::span<const int64_t> words_;
};

constexpr uint64_t maxAxes = 5, maxSize = uint64_t(1) << 32,
                   maxStride = uint64_t(1) << 40, maxBlock = 256;

TensorDescription readTensor(Words &words, uint32_t bindings) {
  TensorDescription tensor;
  tensor.binding = uint32_t(words.next(0, bindings ? bindings - 1 : 0));
  tensor.elementBytes = uint32_t(words.next(1, 4));
  const uint64_t axes = words.next(2, maxAxes);
  for (uint64_t i = 0; i < axes; ++i)
    tensor.sizes.push_back(words.next(1, maxSize));
  for (uint64_t i = 1; i < axes; ++i)
    tensor.strides.push_back(words.next(1, maxStride - 1));
  for (uint64_t i = 0; i < 2; ++i)
    tensor.block.push_back(uint32_t(words.next(1, maxBlock)));
  tensor.block.resize(axes, 1);
  return tensor;
}

/// No sum of so few products of these sizes and strides overflows but by the
/// outermost sizes, which are checked.
bool findBytes(TensorDescription &tensor) {
  uint64_t bytes = tensor.sizes[0] * tensor.elementBytes;
  for (size_t i = 1; i < tensor.sizes.size(); ++i) {
    const uint64_t stride = tensor.strides[i - 1], steps = tensor.sizes[i] - 1;
    constexpr uint64_t most = std::numeric_limits<int64_t>::max();
    if (steps && stride > (most - bytes) / steps)
      return false;
    bytes += steps * stride;
  }
  tensor.bytes = bytes;
  return true;
}

CUtensorMapDataType typeOf(uint32_t bytes) {
  switch (bytes) {
  case 1:
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  case 2:
    return CU_TENSOR_MAP_DATA_TYPE_UINT16;
  default:
    return CU_TENSOR_MAP_DATA_TYPE_UINT32;
  }
}

} // namespace

bool readTensors(std::span<const int64_t> words, uint32_t bindings,
                 std::vector<TensorDescription> &out, std::string *reason) {
  Words rest(words);
  const uint64_t count = rest.next(1, maxTensors);
  for (uint64_t i = 0; i < count && rest.good; ++i) {
    out.push_back(readTensor(rest, bindings));
    rest.good = rest.good && findBytes(out.back());
  }
  if (rest.good && rest.atEnd())
    return true;
  *reason = "damaged blob: what it says of tensors has a number that is "
            "missing, left over or out of range";
  return false;
}

CUresult encode(const Cuda &cuda, const TensorDescription &tensor,
                CUdeviceptr address, CUtensorMap &out) {
  static constexpr cuuint32_t steps[maxAxes] = {1, 1, 1, 1, 1};
  return cuda.cuTensorMapEncodeTiled(
      &out, typeOf(tensor.elementBytes), cuuint32_t(tensor.sizes.size()),
      reinterpret_cast<void *>(address), tensor.sizes.data(),
      tensor.strides.data(), tensor.block.data(), steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

} // namespace backplane::cuda
