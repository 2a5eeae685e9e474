// SPDX-License-Identifier: Apache-2.0
//
// ValueCalls.h: calls of a model on the host driver: y = (x + 7) * {1, 2, 3, 4}
// for x of f32[n, 4].
#ifndef BACKPLANE_API_TEST_VALUECALLS_H
#define BACKPLANE_API_TEST_VALUECALLS_H

#include "Values.h"

#include <numeric>

namespace backplane::test {

class Values : public testing::Test {
protected:
  Values() {
    Draft draft;
    affine(draft);
    artifact_ = std::move(*test::open(context_, draft, folder_ / "model.bpx"));
    session_ =
        std::move(*createSession(artifact_, {BP_HEADER(bp_session_options_t)}));
  }
  DeviceBuffer buffer(uint64_t size) {
    bp_device_buffer_t *made = nullptr;
    Status status = checked([&](bp_error_t *error) {
      return bp_device_buffer_create(context_.get(), toC("host"), size, &made,
                                     error);
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return DeviceBuffer(made);
  }
  Status run(const bp_value_t &x, bp_value_t &y) {
    return runValues(session_, {&x}, {&y});
  }
  Result<bp_call_t *> submit(const bp_value_t &x, bp_value_t &y) {
    const bp_value_t *in = &x;
    bp_value_t *out = &y;
    bp_call_t *call = nullptr;
    Status status = checked([&](bp_error_t *error) {
      return bp_session_submit_values(session_.get(), &in, 1, &out, 1, &call,
                                      error);
    });
    return status.ok() ? Result<bp_call_t *>(call) : status;
  }
  static Status wait(bp_call_t *call) {
    return checked(
        [&](bp_error_t *error) { return bp_call_wait(call, error); });
  }

  Folder folder_;
  Context context_ = hostContext();
  Artifact artifact_;
  Session session_;
};

inline std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.f);
  return values;
}

inline std::vector<float> expected(const std::vector<float> &x) {
  std::vector<float> y;
  for (size_t i = 0; i < x.size(); ++i)
    y.push_back((x[i] + 7) * float(i % 4 + 1));
  return y;
}

} // namespace backplane::test

#endif // BACKPLANE_API_TEST_VALUECALLS_H
