// SPDX-License-Identifier: Apache-2.0
//
// Harness.h: a device of the emulator behind the driver's tables, with PTX
// written by hand.
#ifndef BACKPLANE_CUDA_TEST_HARNESS_H
#define BACKPLANE_CUDA_TEST_HARNESS_H

#include "backends/gpu/test/Harness.h"
#include "backends/nvptx/driver/Driver.h"

namespace cudatest {

using namespace backplane::cuda;
using namespace backplane::gpu;
using namespace backplane::gpu::test;
using backplane::plugin::Host;
using backplane::plugin::Self;

/// out[i] = in[i] * parameter + constant; thread 0 of block 0 stores `word` to
/// the error word unless it is 0.
inline std::string affine(const std::string &word) {
  return R"(.version 7.8
.target sm_80
.address_size 64
.visible .entry affine(.param .u64 in, .param .u64 out, .param .u64 error,
                       .param .u64 scratch, .param .u32 constant,
                       .param .u64 parameter)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  ld.param.u64 %d0, [in];
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [error];
  ld.param.u32 %r0, [constant];
  ld.param.u64 %d3, [parameter];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r1, %r3, %r2;
  mul.wide.u32 %d4, %r4, 4;
  add.u64 %d5, %d0, %d4;
  ld.global.u32 %r5, [%d5];
  cvt.u32.u64 %r6, %d3;
  mad.lo.u32 %r5, %r5, %r6, %r0;
  add.u64 %d5, %d1, %d4;
  st.global.u32 [%d5], %r5;
  setp.eq.u32 %p, %r4, 0;
  mov.u32 %r7, )" +
         word +
         R"(;
  setp.ne.and.u32 %p, %r7, 0, %p;
  @%p st.global.u32 [%d2], %r7;
  ret;
}
)";
}

/// A dispatch of `affine`.
struct Affine : Dispatch {
  Affine(bp_executable_t *executable, uint32_t groups, bp_binding_t in,
         bp_binding_t out)
      : Dispatch(executable, groups, {in, out}, {7}, 5, {3}) {}
};

class CudaDevice : public ::testing::Test {
protected:
  static constexpr uint32_t groups = 4, threads = 32, count = groups * threads;

  void SetUp() override { open("80"); }

  void open(const std::string &sm) {
    std::string library = BP_CUDA_EMULATOR;
    bp_option_t items[] = {{{"library", 7}, {library.data(), library.size()}},
                           {{"sm", 2}, {sm.data(), sm.size()}}};
    bp_options_t options = {items, 2};
    bp_device_sink_t sink = {};
    sink.context = &id_;
    sink.put = [](void *context, const bp_device_info_t *info) {
      static_cast<std::string *>(context)->assign(info->id.data, info->id.size);
      EXPECT_EQ(info->flags, BP_DEVICE_EMULATED | BP_DEVICE_DISCRETE);
      EXPECT_EQ(std::string(info->refusal.data, info->refusal.size), "");
      return BP_STATUS_OK;
    };
    ErrorText error;
    ASSERT_EQ(driverTable.enumerate(&driver_, &options, &sink, error.handle()),
              BP_STATUS_OK)
        << error.text;
    ASSERT_EQ(driverTable.open(&driver_, {id_.data(), id_.size()}, &options,
                               &device_, error.handle()),
              BP_STATUS_OK)
        << error.text;
    ASSERT_EQ(queueTable.queue_create(device_, BP_QUEUE_COMPUTE, &queue_,
                                      error.handle()),
              BP_STATUS_OK)
        << error.text;
    in_ = buffer();
    out_ = buffer();
  }

  void close() {
    if (executable_)
      executableTable.executable_unload(device_, executable_);
    for (bp_buffer_t *buffer : {in_, out_})
      memoryTable.buffer_free(device_, buffer);
    queueTable.queue_destroy(device_, queue_);
    driverTable.close(device_);
    executable_ = nullptr;
  }
  void TearDown() override { close(); }

  bp_buffer_t *buffer() {
    bp_buffer_t *made = nullptr;
    ErrorText error;
    EXPECT_EQ(memoryTable.buffer_allocate(device_, BP_SPACE_DEVICE, 4 * count,
                                          256, &made, error.handle()),
              BP_STATUS_OK)
        << error.text;
    return made;
  }

  static bp_binding_t whole(bp_buffer_t *buffer) {
    return {buffer, 0, 4 * count, 0, 0};
  }
  void write(bp_buffer_t *buffer, const std::vector<uint32_t> &data) {
    EXPECT_EQ(memoryTable.buffer_write(device_, buffer, 0, data.data(),
                                       4 * data.size(), nullptr),
              BP_STATUS_OK);
  }
  std::vector<uint32_t> read(bp_buffer_t *buffer) {
    std::vector<uint32_t> data(count);
    EXPECT_EQ(memoryTable.buffer_read(device_, buffer, 0, data.data(),
                                      4 * count, nullptr),
              BP_STATUS_OK);
    return data;
  }

  /// Why it is refused; empty when it is loaded.
  std::string load(const std::string &text, uint32_t parameters = 1) {
    bp_entry_t entry = {BP_HEADER(bp_entry_t)};
    entry.name = {"affine", 6};
    entry.binding_count = 2;
    entry.constant_count = 1;
    entry.parameter_count = parameters;
    entry.workgroup_size[0] = threads;
    const bp_entry_t *entries[] = {&entry};
    bp_executable_info_t info = {BP_HEADER(bp_executable_info_t)};
    info.format = {"ptx", 3};
    info.blob = {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
    info.entries = entries;
    info.entry_count = 1;
    ErrorText error;
    bp_status_t status = executableTable.executable_load(
        device_, &info, &executable_, error.handle());
    EXPECT_TRUE(status == BP_STATUS_OK || status == BP_STATUS_INVALID_ARGUMENT);
    return error.text;
  }

  /// Runs `affine` on this many groups.
  Answer dispatch(uint32_t size, bp_timestamp_t *times) {
    Affine affine(executable_, size, whole(in_), whole(out_));
    const bp_header_t *commands[] = {affine.header()};
    Completion done;
    bp_completion_t completion = done.completion();
    ErrorText error;
    bp_status_t status = timestampsTable.queue_execute_timed(
        queue_, commands, 1, times, &completion, error.handle());
    return status ? Answer{status, error.text} : done.wait();
  }

  Self<Plugin> driver_{Host(&plainHost()),
                       std::make_unique<Plugin>(Host(&plainHost()))};
  std::string id_;
  bp_device_t *device_ = nullptr;
  bp_queue_t *queue_ = nullptr;
  bp_buffer_t *in_ = nullptr, *out_ = nullptr;
  bp_executable_t *executable_ = nullptr;
};

} // namespace cudatest

#endif // BACKPLANE_CUDA_TEST_HARNESS_H
