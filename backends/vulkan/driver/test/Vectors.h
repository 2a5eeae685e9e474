// SPDX-License-Identifier: Apache-2.0
//
// Vectors.h: vectors of one size that kernels of tests work on.
#ifndef BACKPLANE_VULKAN_TEST_VECTORS_H
#define BACKPLANE_VULKAN_TEST_VECTORS_H

#include "Harness.h"

namespace backplane::vulkan::test {

inline constexpr uint32_t count = 1000;
inline constexpr uint32_t groups = (count + 63) / 64;

inline bp_binding_t whole(bp_buffer_t *buffer, uint64_t size = 4 * count) {
  return {buffer, 0, size, 0, 0};
}
inline bp_binding_t slot(uint32_t index) {
  return {nullptr, 0, 4 * count, index, 0};
}

inline std::vector<float> ramp(float step) {
  std::vector<float> data(count);
  for (uint32_t i = 0; i < count; ++i)
    data[i] = step * float(i);
  return data;
}

} // namespace backplane::vulkan::test

#endif // BACKPLANE_VULKAN_TEST_VECTORS_H
