// SPDX-License-Identifier: Apache-2.0
//
// Harness.h: what the tests of drivers share: a host, the end of work, and
// commands with what they point to.
#ifndef BACKPLANE_GPU_TEST_HARNESS_H
#define BACKPLANE_GPU_TEST_HARNESS_H

#include "backends/gpu/Queue.h"

#include <gtest/gtest.h>

namespace backplane::gpu::test {

/// A host that does the least: loops in order, memory of the C library.
const bp_host_t &plainHost();

/// What error_set of that host fills in.
struct ErrorText {
  std::string text;
  bp_error_t *handle() { return reinterpret_cast<bp_error_t *>(this); }
};

/// A status and its message.
struct Answer {
  bp_status_t status = BP_STATUS_OK;
  std::string message;
};

/// The end of work that is still running.
class Completion {
public:
  bp_completion_t completion();
  bool isDone();
  Answer wait();

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  Answer answer_;
};

/// A dispatch and what it points to.
struct Dispatch {
  Dispatch(bp_executable_t *executable, uint32_t groups,
           std::vector<bp_binding_t> bindings, std::vector<uint32_t> constants,
           uint32_t op = 0, std::vector<int64_t> parameters = {});
  Dispatch(const Dispatch &) = delete;
  Dispatch &operator=(const Dispatch &) = delete;
  const bp_header_t *header() const { return &command.header; }

  std::vector<bp_binding_t> bindings;
  std::vector<uint32_t> constants;
  std::vector<int64_t> parameters;
  bp_command_dispatch_t command = {BP_HEADER(bp_command_dispatch_t)};
};

inline const bp_command_barrier_t barrier = {BP_HEADER(bp_command_barrier_t)};

} // namespace backplane::gpu::test

#endif // BACKPLANE_GPU_TEST_HARNESS_H
