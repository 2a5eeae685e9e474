// SPDX-License-Identifier: Apache-2.0
//
// NativeTest.cpp: registered kernels that put work into the stream themselves.
#include "Harness.h"

#include "backplane/kernel.h"

namespace cudatest {
namespace {

/// A kernel that fills its output, as a library of CUDA would: by functions
/// that the handles find.
struct Filler {
  bp_status_t refusal = BP_STATUS_OK;
  int calls = 0;
  CUcontext context = nullptr;
  uint64_t length = 0, scratchBytes = 0;

  static bp_status_t launch(void *self, const bp_native_launch_t *launch,
                            bp_error_t *error) {
    auto &own = *static_cast<Filler *>(self);
    const bp_device_handles_t &device = *launch->device;
    ++own.calls;
    own.length = launch->lengths[1];
    own.scratchBytes = launch->scratch_bytes;
    auto current = reinterpret_cast<decltype(&cuCtxGetCurrent)>(
        device.find(device.find_self, "cuCtxGetCurrent"));
    current(&own.context);
    if (own.refusal) {
      plainHost().error_set(nullptr, error, own.refusal, {"no such size", 12});
      return own.refusal;
    }
    auto fill = reinterpret_cast<decltype(&cuMemsetD32Async)>(
        device.find(device.find_self, "cuMemsetD32Async"));
    fill(launch->bindings[1], unsigned(launch->parameters[0]),
         launch->lengths[1] / 4, static_cast<CUstream>(launch->queue));
    return BP_STATUS_OK;
  }
};

class CudaNative : public CudaDevice {
protected:
  Answer load(decltype(bp_native_function_t::launch) launch) {
    bp_entry_t entry = {BP_HEADER(bp_entry_t)};
    entry.name = {"filler", 6};
    entry.binding_count = 2;
    entry.parameter_count = 1;
    entry.workspace_bytes = 512;
    const bp_entry_t *entries[] = {&entry};
    bp_native_function_t function = {BP_HEADER(bp_native_function_t)};
    function.launch = launch;
    function.self = &filler_;
    const bp_native_function_t *functions[] = {&function};
    bp_executable_info_t info = {BP_HEADER(bp_executable_info_t)};
    info.format = {"native", 6};
    info.entries = entries;
    info.entry_count = 1;
    info.functions = functions;
    ErrorText error;
    bp_status_t status = executableTable.executable_load(
        device_, &info, &executable_, error.handle());
    return {status, error.text};
  }
  Answer run() {
    Dispatch filler(executable_, 1, {whole(in_), whole(out_)}, {}, 5, {42});
    const bp_header_t *commands[] = {filler.header()};
    Completion done;
    bp_completion_t completion = done.completion();
    ErrorText error;
    bp_status_t status = queueTable.queue_execute(queue_, commands, 1,
                                                  &completion, error.handle());
    return status ? Answer{status, error.text} : done.wait();
  }

  Filler filler_;
};

TEST_F(CudaNative, HaveHandles) {
  bp_device_handles_t handles = {BP_HEADER(bp_device_handles_t)};
  ASSERT_EQ(interopTable.device_handles(device_, &handles, nullptr),
            BP_STATUS_OK);
  EXPECT_EQ(std::string(handles.api.data, handles.api.size), "cuda");
  EXPECT_NE(handles.context, nullptr);
  EXPECT_NE(handles.find(handles.find_self, "cuLaunchKernel"), nullptr);
  EXPECT_EQ(handles.find(handles.find_self, "cuNoSuchFunction"), nullptr);
}

TEST_F(CudaNative, WriteNoMoreOfTheirHandlesThanThereIsRoomFor) {
  bp_device_handles_t handles = {BP_HEADER(bp_device_handles_t)};
  handles.header.size = offsetof(bp_device_handles_t, find);
  ASSERT_EQ(interopTable.device_handles(device_, &handles, nullptr),
            BP_STATUS_OK);
  EXPECT_NE(handles.context, nullptr);
  EXPECT_EQ(handles.find, nullptr);
}

TEST_F(CudaNative, PutTheirWorkIntoTheStream) {
  ASSERT_EQ(load(Filler::launch).status, BP_STATUS_OK);
  Answer answer = run();
  EXPECT_EQ(answer.status, BP_STATUS_OK) << answer.message;
  EXPECT_EQ(read(out_), std::vector<uint32_t>(count, 42));
  EXPECT_NE(filler_.context, nullptr);
  EXPECT_EQ(filler_.length, 4 * count);
  EXPECT_EQ(filler_.scratchBytes, 512u);
}

/// A command buffer is recorded once, with what the kernel has put there.
TEST_F(CudaNative, AreRecorded) {
  ASSERT_EQ(load(Filler::launch).status, BP_STATUS_OK);
  Dispatch filler(executable_, 1, {whole(in_), whole(out_)}, {}, 5, {42});
  const bp_header_t *commands[] = {filler.header()};
  bp_command_buffer_t *buffer = nullptr;
  ErrorText error;
  ASSERT_EQ(commandBufferTable.command_buffer_create(device_, commands, 1,
                                                     &buffer, error.handle()),
            BP_STATUS_OK)
      << error.text;
  for (int i = 0; i < 3; ++i) {
    write(out_, std::vector<uint32_t>(count, 0));
    Completion done;
    bp_completion_t completion = done.completion();
    ASSERT_EQ(commandBufferTable.command_buffer_execute(
                  queue_, buffer, nullptr, 0, &completion, error.handle()),
              BP_STATUS_OK)
        << error.text;
    EXPECT_EQ(done.wait().status, BP_STATUS_OK);
    EXPECT_EQ(read(out_), std::vector<uint32_t>(count, 42));
  }
  EXPECT_EQ(filler_.calls, 1);
  commandBufferTable.command_buffer_destroy(device_, buffer);
}

TEST_F(CudaNative, TellWhyTheyRefuse) {
  ASSERT_EQ(load(Filler::launch).status, BP_STATUS_OK);
  filler_.refusal = BP_STATUS_UNIMPLEMENTED;
  Answer answer = run();
  EXPECT_EQ(answer.status, BP_STATUS_UNIMPLEMENTED);
  EXPECT_EQ(answer.message, "no such size");
  filler_.refusal = BP_STATUS_OK;
  EXPECT_EQ(run().status, BP_STATUS_OK);
}

TEST_F(CudaNative, ThatAreForACpuAreRefused) {
  Answer answer = load(nullptr);
  EXPECT_EQ(answer.status, BP_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(answer.message.find("no function that takes a stream"),
            std::string::npos)
      << answer.message;
}

} // namespace
} // namespace cudatest
