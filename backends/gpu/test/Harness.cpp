// SPDX-License-Identifier: Apache-2.0
#include "Harness.h"

#include <cstdlib>

namespace backplane::gpu::test {

const bp_host_t &plainHost() {
  static const bp_host_t table = [] {
    bp_host_t host = {BP_HEADER(bp_host_t)};
    host.minor = BP_ABI_MINOR;
    host.error_set = [](void *, bp_error_t *error, bp_status_t status,
                        bp_string_t message) {
      if (error)
        reinterpret_cast<ErrorText *>(error)->text.assign(message.data,
                                                          message.size);
      return status;
    };
    host.log = [](void *, uint32_t, bp_string_t) {};
    host.memory_allocate = [](void *, uint64_t size, uint64_t alignment) {
      return std::aligned_alloc(alignment,
                                (size + alignment - 1) / alignment * alignment);
    };
    host.memory_free = [](void *, void *pointer) { std::free(pointer); };
    host.worker_count = [](void *) { return 1u; };
    host.parallel_for = [](void *, uint64_t count, bp_loop_body_t body,
                           void *context) {
      for (uint64_t i = 0; i < count; ++i)
        body(context, i, 0);
    };
    host.get_extension = [](void *, bp_string_t, uint32_t) -> const void * {
      return nullptr;
    };
    host.post = [](void *, void (*task)(void *), void *context) {
      task(context);
    };
    return host;
  }();
  return table;
}

bp_completion_t Completion::completion() {
  return {[](void *context, bp_status_t status, bp_string_t message) {
            auto &self = *static_cast<Completion *>(context);
            std::lock_guard lock(self.mutex_);
            self.answer_ = {status, std::string(message.data, message.size)};
            self.done_ = true;
            self.changed_.notify_all();
          },
          this};
}

bool Completion::isDone() {
  std::lock_guard lock(mutex_);
  return done_;
}

Answer Completion::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_; });
  return answer_;
}

Dispatch::Dispatch(bp_executable_t *executable, uint32_t groups,
                   std::vector<bp_binding_t> bound,
                   std::vector<uint32_t> values, uint32_t op,
                   std::vector<int64_t> wide)
    : bindings(std::move(bound)), constants(std::move(values)),
      parameters(std::move(wide)) {
  command.executable = executable;
  command.op = op;
  command.grid[0] = groups;
  command.grid[1] = command.grid[2] = 1;
  command.bindings = bindings.data();
  command.binding_count = bindings.size();
  command.constants = constants.data();
  command.constant_count = uint32_t(constants.size());
  command.parameters = parameters.data();
  command.parameter_count = uint32_t(parameters.size());
}

} // namespace backplane::gpu::test
