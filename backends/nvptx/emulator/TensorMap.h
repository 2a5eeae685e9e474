// SPDX-License-Identifier: Apache-2.0
//
// TensorMap.h: the description of a tensor in global memory that
// cuTensorMapEncodeTiled makes and copies of tensors read. NVIDIA leaves the
// 128 bytes of a CUtensorMap open; this is what they have here.
#pragma once

#include <cstdint>

namespace emulator {

struct TensorMap {
  static constexpr uint64_t kMark = 0x70616d20726e6574;
  static constexpr uint32_t kMaxRank = 5;
  uint64_t mark = kMark;
  uint64_t address = 0;
  uint64_t strides[kMaxRank] = {}; // bytes
  uint32_t sizes[kMaxRank] = {};   // elements less one, the innermost first
  uint16_t box[kMaxRank] = {};
  uint8_t rank = 0;
  uint8_t elementBytes = 0;
  uint8_t swizzle = 0; // bytes that are permuted among each other, or 0

  uint32_t boxBytes() const {
    uint32_t bytes = elementBytes;
    for (uint32_t i = 0; i < rank; ++i)
      bytes *= box[i];
    return bytes;
  }
};
static_assert(sizeof(TensorMap) <= 128);

} // namespace emulator
