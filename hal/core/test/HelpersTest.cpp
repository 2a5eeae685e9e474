// SPDX-License-Identifier: Apache-2.0
//
// helpers.h and thread_queue.h: copies of commands outlive the originals, and a
// queue runs them in order and stops at a failure.
#include <backplane/thread_queue.h>

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

namespace {

TEST(Helpers, CopyOutlivesTheCommands) {
  std::vector<bp_binding_t> bindings(3);
  bindings[2].length = 7;
  std::vector<uint32_t> constants = {4, 5};
  std::vector<int64_t> parameters = {-1, int64_t(1) << 40};
  bp_command_dispatch_t dispatch = {};
  dispatch.header = BP_HEADER(bp_command_dispatch_t);
  dispatch.bindings = bindings.data();
  dispatch.binding_count = bindings.size();
  dispatch.constants = constants.data();
  dispatch.constant_count = 2;
  dispatch.parameters = parameters.data();
  dispatch.parameter_count = 2;
  bp_command_dispatch_t old = dispatch; // of a host without parameters
  old.header.size = offsetof(bp_command_dispatch_t, parameters);
  const bp_header_t *commands[] = {&dispatch.header, &old.header};
  bp_header_t **copies = bp_commands_copy(commands, 2);
  ASSERT_NE(copies, nullptr);
  bindings.assign(3, {});
  constants.assign(2, 0);
  parameters.assign(2, 0);
  const auto *copy = reinterpret_cast<bp_command_dispatch_t *>(copies[0]);
  EXPECT_EQ(copy->bindings[2].length, 7u);
  EXPECT_EQ(copy->constants[1], 5u);
  EXPECT_EQ(copy->parameters[1], int64_t(1) << 40);
  copy = reinterpret_cast<bp_command_dispatch_t *>(copies[1]);
  EXPECT_EQ(copy->parameter_count, 0u);
  free(copies);
}

TEST(Helpers, TextIsCompared) {
  EXPECT_TRUE(bp_text_is(bp_text("conv"), "conv"));
  EXPECT_FALSE(bp_text_is(bp_text("conv"), "con"));
  EXPECT_TRUE(bp_text_equal({nullptr, 0}, bp_text("")));
}

/// Runs fills over plain memory; a barrier waits, a copy fails.
bp_status_t run(void *context, const bp_header_t *command,
                bp_string_t *outMessage) {
  if (command->type == bp_command_barrier_t_TYPE)
    static_cast<std::shared_future<void> *>(context)->wait();
  if (command->type != bp_command_copy_t_TYPE)
    return bp_plain_run(command) ? BP_STATUS_OK : BP_STATUS_INTERNAL;
  *outMessage = bp_text("no copies here");
  return BP_STATUS_DATA_LOSS;
}

void done(void *context, bp_status_t status, bp_string_t message) {
  static_cast<std::promise<std::string> *>(context)->set_value(
      std::to_string(status) + std::string(message.data, message.size));
}

TEST(ThreadQueue, RunsInOrderAndReturnsAtOnce) {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  bp_host_t host = {};
  bp_queue_t *queue = bp_thread_queue_create(&host, run, &opened);
  ASSERT_NE(queue, nullptr);
  uint32_t memory = 0;
  bp_command_barrier_t barrier = {BP_HEADER(bp_command_barrier_t)};
  bp_command_copy_t copy = {};
  copy.header = BP_HEADER(bp_command_copy_t);
  bp_command_fill_t fill = {};
  fill.header = BP_HEADER(bp_command_fill_t);
  fill.target.buffer = reinterpret_cast<bp_buffer_t *>(&memory);
  fill.target.length = 4;
  fill.pattern = 0xABCD;
  fill.pattern_size = 2;
  const bp_header_t *first[] = {&barrier.header, &fill.header};
  const bp_header_t *second[] = {&copy.header, &barrier.header};
  std::promise<std::string> ends[2];
  const bp_completion_t completions[] = {{done, &ends[0]}, {done, &ends[1]}};
  ASSERT_EQ(bp_thread_queue_execute(queue, first, 2, &completions[0], nullptr),
            BP_STATUS_OK);
  ASSERT_EQ(bp_thread_queue_execute(queue, second, 2, &completions[1], nullptr),
            BP_STATUS_OK);
  fill.pattern = 0; // the queue has its own copy
  gate.set_value(); // it has waited for this, queue_execute has not
  bp_thread_queue_destroy(nullptr, queue);
  EXPECT_EQ(ends[0].get_future().get(), "0");
  EXPECT_EQ(ends[1].get_future().get(), "15no copies here");
  EXPECT_EQ(memory, 0xABCDABCDu);
}

} // namespace
