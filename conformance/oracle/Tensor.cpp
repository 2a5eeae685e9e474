// SPDX-License-Identifier: Apache-2.0
#include "Tensor.h"

namespace backplane::conformance {

uint64_t loadBits(const Tensor &tensor, size_t index) {
  unsigned width = bitWidth(tensor.dtype);
  if (width == 4)
    return (tensor.data[index / 2] >> (index % 2 * 4)) & 15;
  size_t bytes = width / 8;
  return loadBytes(tensor.data.data() + index * bytes, bytes);
}

void storeBits(Tensor &tensor, size_t index, uint64_t bits) {
  unsigned width = bitWidth(tensor.dtype);
  if (width == 4) {
    uint8_t &byte = tensor.data[index / 2];
    unsigned shift = index % 2 * 4;
    byte =
        static_cast<uint8_t>((byte & ~(15U << shift)) | (bits & 15) << shift);
    return;
  }
  size_t bytes = width / 8;
  storeBytes(tensor.data.data() + index * bytes, bits, bytes);
}

} // namespace backplane::conformance
