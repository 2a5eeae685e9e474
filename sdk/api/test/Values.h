// SPDX-License-Identifier: Apache-2.0
//
// Values.h: values of tests, all of f32 and rank 2.
#ifndef BACKPLANE_API_TEST_VALUES_H
#define BACKPLANE_API_TEST_VALUES_H

#include "hal/runtime/test/Models.h"

#include <cstring>
#include <gtest/gtest.h>

namespace backplane::test {

using DeviceBuffer = Handle<bp_device_buffer_t, bp_device_buffer_destroy>;

inline bp_value_t hostValue(float *data, const int64_t (&dims)[2]) {
  bp_value_t value = {BP_HEADER(bp_value_t)};
  value.kind = BP_VALUE_TENSOR;
  value.dtype = BP_DTYPE_F32;
  value.rank = 2;
  value.dims = dims;
  value.data = data;
  return value;
}

inline bp_value_t bufferValue(bp_device_buffer_t *buffer,
                              const int64_t (&dims)[2], uint64_t offset = 0) {
  bp_value_t value = hostValue(nullptr, dims);
  value.buffer = buffer;
  value.byte_offset = offset;
  return value;
}

/// A result that the call makes.
inline bp_value_t madeValue(uint32_t where) {
  bp_value_t value = {BP_HEADER(bp_value_t)};
  value.kind = BP_VALUE_TENSOR;
  value.flags = where;
  return value;
}

inline void readValue(const bp_value_t &value, std::vector<float> &out) {
  if (value.buffer)
    EXPECT_EQ(bp_device_buffer_read(value.buffer, value.byte_offset, out.data(),
                                    out.size() * sizeof(float), nullptr),
              BP_STATUS_OK);
  else
    std::memcpy(out.data(), value.data, out.size() * sizeof(float));
}

} // namespace backplane::test

#endif // BACKPLANE_API_TEST_VALUES_H
