// SPDX-License-Identifier: Apache-2.0
//
// CommandBufferTest.cpp: command buffers as graphs: what is captured anew, what
// is launched as it is, and what belongs to a run.
#include "Harness.h"
#include "backends/nvptx/driver/Recording.h"

namespace cudatest {
namespace {

class CudaCommandBuffers : public CudaDevice {
protected:
  /// `affine` between two slots.
  void record(const std::string &word) {
    ASSERT_EQ(load(affine(word)), "");
    bp_binding_t in = {nullptr, 0, 4 * count, 0, 0};
    bp_binding_t out = {nullptr, 0, 4 * count, 1, 0};
    Affine kernel(executable_, groups, in, out);
    const bp_header_t *commands[] = {&kernel.command.header};
    ErrorText error;
    ASSERT_EQ(commandBufferTable.command_buffer_create(
                  device_, commands, 1, &commands_, error.handle()),
              BP_STATUS_OK)
        << error.text;
  }
  void TearDown() override {
    if (commands_)
      commandBufferTable.command_buffer_destroy(device_, commands_);
    CudaDevice::TearDown();
  }
  bp_status_t run(bp_buffer_t *from, bp_buffer_t *to) {
    bp_binding_t table[] = {whole(from), whole(to)};
    Completion done;
    bp_completion_t completion = done.completion();
    ErrorText error;
    EXPECT_EQ(commandBufferTable.command_buffer_execute(
                  queue_, commands_, table, 2, &completion, error.handle()),
              BP_STATUS_OK)
        << error.text;
    return error.text.empty() ? done.wait().status : BP_STATUS_INTERNAL;
  }
  /// The graphs that are kept, that of the last run first.
  std::vector<CUgraphExec> graphs() {
    std::lock_guard lock(device_->mutex);
    std::vector<CUgraphExec> all;
    for (const auto &recording : commands_->recordings.idle)
      all.push_back(
          static_cast<const backplane::cuda::Recording &>(*recording).graph());
    return all;
  }

  bp_command_buffer_t *commands_ = nullptr;
};

TEST_F(CudaCommandBuffers, LaunchTheSameGraphAgain) {
  record("0");
  write(in_, std::vector<uint32_t>(count, 1));
  EXPECT_EQ(run(in_, out_), BP_STATUS_OK);
  EXPECT_EQ(read(out_), std::vector<uint32_t>(count, 10));
  std::vector<CUgraphExec> first = graphs();
  ASSERT_EQ(first.size(), 1u);
  write(in_, std::vector<uint32_t>(count, 2));
  EXPECT_EQ(run(in_, out_), BP_STATUS_OK);
  EXPECT_EQ(read(out_), std::vector<uint32_t>(count, 13));
  EXPECT_EQ(graphs(), first);
}

/// Two sets of buffers have a graph each; a third takes the place of the older.
TEST_F(CudaCommandBuffers, FollowTheirBuffers) {
  record("0");
  bp_buffer_t *third = buffer();
  write(in_, std::vector<uint32_t>(count, 1));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run(in_, out_), BP_STATUS_OK);
    EXPECT_EQ(run(out_, third), BP_STATUS_OK);
    EXPECT_EQ(graphs().size(), 2u);
  }
  EXPECT_EQ(read(third), std::vector<uint32_t>(count, 37));
  CUgraphExec newer = graphs()[0];
  EXPECT_EQ(run(third, in_), BP_STATUS_OK);
  EXPECT_EQ(read(in_), std::vector<uint32_t>(count, 118));
  ASSERT_EQ(graphs().size(), 2u);
  EXPECT_EQ(graphs()[1], newer);
  memoryTable.buffer_free(device_, third);
}

/// Memory of the host that is imported again is another buffer, though its
/// address is the same.
TEST_F(CudaCommandBuffers, FollowMemoryThatIsImportedAgain) {
  bp_command_copy_t copy = {BP_HEADER(bp_command_copy_t)};
  copy.source = {nullptr, 0, 4 * count, 0, 0};
  copy.target = {nullptr, 0, 4 * count, 1, 0};
  const bp_header_t *commands[] = {&copy.header};
  ErrorText error;
  ASSERT_EQ(commandBufferTable.command_buffer_create(
                device_, commands, 1, &commands_, error.handle()),
            BP_STATUS_OK)
      << error.text;
  std::vector<uint32_t> own(count);
  for (uint32_t turn = 1; turn < 4; ++turn) {
    own.assign(count, turn);
    bp_buffer_t *imported = nullptr;
    ASSERT_EQ(memory2Table.buffer_import(device_, own.data(), 4 * count, 1,
                                         &imported, error.handle()),
              BP_STATUS_OK)
        << error.text;
    EXPECT_EQ(run(imported, out_), BP_STATUS_OK);
    EXPECT_EQ(read(out_), own);
    memoryTable.buffer_free(device_, imported);
  }
}

/// The kernel reports its first result, which is an error in one run and none
/// in the next of the same graph.
TEST_F(CudaCommandBuffers, ForgetTheErrorOfAnEarlierRun) {
  constexpr uint32_t third = 0xAAAAAAABu; // 1/3 in 32 bits
  record("%r5");
  write(in_, std::vector<uint32_t>(count, (0x01000000u - 7) * third));
  EXPECT_EQ(run(in_, out_), BP_STATUS_OUT_OF_RANGE);
  std::vector<CUgraphExec> first = graphs();
  write(in_, std::vector<uint32_t>(count, (0u - 7) * third));
  EXPECT_EQ(run(in_, out_), BP_STATUS_OK);
  EXPECT_EQ(graphs(), first);
}

} // namespace
} // namespace cudatest
