// SPDX-License-Identifier: Apache-2.0
//
// Messages.h: what tests send to workers.
#ifndef BACKPLANE_WORKER_TEST_MESSAGES_H
#define BACKPLANE_WORKER_TEST_MESSAGES_H

#include "hal/runtime/test/Models.h"
#include "hal/worker/Messages.h"
#include "sdk/support/Hash.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>

namespace backplane::test {

inline worker::Payload contents(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return worker::Payload((std::istreambuf_iterator<char>(in)), {});
}

/// The artifact that `build` describes.
inline worker::ArtifactMessage artifact(void (*build)(Draft &)) {
  Draft draft;
  build(draft);
  Folder folder;
  EXPECT_EQ(write(draft, folder / "a.bpx").message(), "");
  worker::Payload bytes = contents(folder / "a.bpx");
  return {hashBytes(bytes), bytes};
}

inline worker::WireTensor floats(std::vector<int64_t> dims,
                                 const std::vector<float> &values) {
  worker::Payload data(values.size() * 4);
  std::memcpy(data.data(), values.data(), data.size());
  return {BP_DTYPE_F32, std::move(dims), std::move(data)};
}

inline float firstOf(const worker::WireTensor &tensor) {
  float value = 0;
  std::memcpy(&value, tensor.data.data(), sizeof(value));
  return value;
}

/// A run of `fixed` with eight times `x`.
inline worker::RunMessage runOf(const std::string &hash, float x,
                                uint64_t session = 0) {
  worker::RunMessage run{hash, {floats({8}, std::vector<float>(8, x))}};
  run.session = session;
  return run;
}

} // namespace backplane::test

#endif // BACKPLANE_WORKER_TEST_MESSAGES_H
