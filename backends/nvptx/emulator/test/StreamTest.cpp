// SPDX-License-Identifier: Apache-2.0
//
// StreamTest.cpp: the order of what is enqueued: streams, events, values, host
// functions, graphs; and memory that comes and goes with a stream.
#include "Harness.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace emulatortest {
namespace {

// Adds `by` to each of 32 words.
const std::string kIncrement = module(80, ".param .u64 p, .param .u32 by", R"(
  .reg .b64 %rd<4>;
  .reg .b32 %r<6>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [by];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd1, %rd1, %rd2;
  ld.global.u32 %r3, [%rd1];
  add.u32 %r3, %r3, %r1;
  st.global.u32 [%rd1], %r3;
  ret;)");

class EmulatorStreams : public testing::Test {
protected:
  Device device{80};
  CUstream first = nullptr, second = nullptr;
  CUdeviceptr words = 0;
  CUfunction increment = nullptr;

  void SetUp() override {
    ASSERT_EQ(api().cuStreamCreate(&first, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
    ASSERT_EQ(api().cuStreamCreate(&second, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
    words = device.put(std::vector<uint32_t>(32, 0));
    increment = device.load(kIncrement, "k");
  }
  void TearDown() override {
    api().cuStreamDestroy(first);
    api().cuStreamDestroy(second);
  }
  void add(unsigned by, CUstream stream) {
    void *parameters[] = {&words, &by};
    ASSERT_EQ(api().cuLaunchKernel(increment, 1, 1, 1, 32, 1, 1, 0, stream,
                                   parameters, nullptr),
              CUDA_SUCCESS);
  }
  uint32_t word() { return device.get<uint32_t>(words, 1)[0]; }
};

TEST_F(EmulatorStreams, EventsOrderTwoOfThem) {
  CUdeviceptr flag = device.put(std::vector<uint32_t>(1, 0));
  CUevent event = nullptr;
  ASSERT_EQ(api().cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  // The first stream is held back, so that only the event orders the second.
  ASSERT_EQ(api().cuStreamWaitValue32(first, flag, 1, CU_STREAM_WAIT_VALUE_GEQ),
            CUDA_SUCCESS);
  ASSERT_EQ(api().cuMemsetD32Async(words, 10, 32, first), CUDA_SUCCESS);
  ASSERT_EQ(api().cuEventRecord(event, first), CUDA_SUCCESS);
  ASSERT_EQ(api().cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
  add(5, second);
  EXPECT_EQ(api().cuEventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(api().cuStreamQuery(second), CUDA_ERROR_NOT_READY);
  CUstream third = nullptr;
  ASSERT_EQ(api().cuStreamCreate(&third, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(api().cuStreamWriteValue32(third, flag, 1, 0), CUDA_SUCCESS);
  ASSERT_EQ(api().cuStreamSynchronize(second), CUDA_SUCCESS);
  EXPECT_EQ(api().cuEventQuery(event), CUDA_SUCCESS);
  EXPECT_EQ(word(), 15u);
  api().cuStreamDestroy(third);
  api().cuEventDestroy(event);
}

TEST_F(EmulatorStreams, CallHostFunctionsInOrder) {
  std::atomic<int> seen{0};
  add(1, first);
  ASSERT_EQ(api().cuLaunchHostFunc(
                first,
                [](void *data) {
                  std::this_thread::sleep_for(std::chrono::milliseconds(5));
                  static_cast<std::atomic<int> *>(data)->store(1);
                },
                &seen),
            CUDA_SUCCESS);
  ASSERT_EQ(api().cuStreamSynchronize(first), CUDA_SUCCESS);
  EXPECT_EQ(seen, 1);
}

TEST_F(EmulatorStreams, MeasureTime) {
  CUevent from = nullptr, to = nullptr;
  api().cuEventCreate(&from, 0);
  api().cuEventCreate(&to, 0);
  api().cuEventRecord(from, first);
  api().cuLaunchHostFunc(
      first,
      [](void *) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); },
      nullptr);
  api().cuEventRecord(to, first);
  ASSERT_EQ(api().cuEventSynchronize(to), CUDA_SUCCESS);
  float milliseconds = 0;
  ASSERT_EQ(api().cuEventElapsedTime(&milliseconds, from, to), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 5);
  api().cuEventDestroy(from);
  api().cuEventDestroy(to);
}

TEST_F(EmulatorStreams, ReplayGraphs) {
  ASSERT_EQ(api().cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  add(3, first);
  // Another stream joins by an event.
  CUevent event = nullptr;
  api().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  api().cuEventRecord(event, first);
  api().cuStreamWaitEvent(second, event, 0);
  add(4, second);
  api().cuEventRecord(event, second);
  api().cuStreamWaitEvent(first, event, 0);
  CUgraph graph = nullptr;
  ASSERT_EQ(api().cuStreamEndCapture(first, &graph), CUDA_SUCCESS)
      << device.error();
  EXPECT_EQ(word(), 0u) << "capturing executes nothing";
  CUgraphExec exec = nullptr;
  ASSERT_EQ(api().cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(api().cuGraphDestroy(graph), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(api().cuGraphLaunch(exec, second), CUDA_SUCCESS);
  ASSERT_EQ(api().cuStreamSynchronize(second), CUDA_SUCCESS);
  EXPECT_EQ(word(), 21u);
  ASSERT_EQ(api().cuGraphExecDestroy(exec), CUDA_SUCCESS);
  // Waiting ends a capture.
  ASSERT_EQ(api().cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  EXPECT_EQ(api().cuStreamSynchronize(first),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(api().cuStreamEndCapture(first, &graph),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  api().cuEventDestroy(event);
}

/// On a GPU, too, a copy in a graph is one of pages, not of an address.
TEST_F(EmulatorStreams, RefuseGraphsOfMemoryThatWasUnregistered) {
  // After the failure nothing can be unregistered: no other test may get it.
  static std::vector<uint32_t> own(32, 1);
  ASSERT_EQ(api().cuMemHostRegister(own.data(), 128, 0), CUDA_SUCCESS);
  ASSERT_EQ(api().cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  ASSERT_EQ(api().cuMemcpyAsync(words, CUdeviceptr(own.data()), 128, first),
            CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(api().cuStreamEndCapture(first, &graph), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(api().cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(api().cuGraphLaunch(exec, first), CUDA_SUCCESS);
  ASSERT_EQ(api().cuStreamSynchronize(first), CUDA_SUCCESS);
  EXPECT_EQ(word(), 1u);
  ASSERT_EQ(api().cuMemHostUnregister(own.data()), CUDA_SUCCESS);
  ASSERT_EQ(api().cuMemHostRegister(own.data(), 128, 0), CUDA_SUCCESS);
  ASSERT_EQ(api().cuGraphLaunch(exec, first), CUDA_SUCCESS);
  EXPECT_EQ(api().cuStreamSynchronize(first), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(device.error().find("unregistered after the graph"),
            std::string::npos)
      << device.error();
}

TEST_F(EmulatorStreams, OwnMemoryUntilTheyFreeIt) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(api().cuMemAllocAsync(&memory, 128, first), CUDA_SUCCESS);
  ASSERT_EQ(api().cuMemsetD8Async(memory, 1, 128, first), CUDA_SUCCESS);
  ASSERT_EQ(api().cuMemFreeAsync(memory, first), CUDA_SUCCESS);
  ASSERT_EQ(api().cuStreamSynchronize(first), CUDA_SUCCESS);
  uint32_t value = 0;
  EXPECT_EQ(api().cuMemcpyDtoH(&value, memory, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(device.error().find("freed"), std::string::npos);
}

TEST_F(EmulatorStreams, UseHostMemory) {
  void *pinned = nullptr;
  ASSERT_EQ(api().cuMemHostAlloc(&pinned, 128, 0), CUDA_SUCCESS);
  std::memset(pinned, 0, 128);
  CUdeviceptr before = words;
  ASSERT_EQ(api().cuMemHostGetDevicePointer(&words, pinned, 0), CUDA_SUCCESS);
  add(9, first);
  ASSERT_EQ(api().cuStreamSynchronize(first), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<uint32_t *>(pinned)[31], 9u);
  words = before;
  ASSERT_EQ(api().cuMemFreeHost(pinned), CUDA_SUCCESS);
  std::vector<uint32_t> own(32, 1);
  ASSERT_EQ(api().cuMemHostRegister(own.data(), 128, 0), CUDA_SUCCESS);
  ASSERT_EQ(api().cuMemcpyAsync(words, CUdeviceptr(own.data()), 128, first),
            CUDA_SUCCESS);
  ASSERT_EQ(api().cuStreamSynchronize(first), CUDA_SUCCESS);
  EXPECT_EQ(word(), 1u);
  ASSERT_EQ(api().cuMemHostUnregister(own.data()), CUDA_SUCCESS);
}

TEST_F(EmulatorStreams, RefuseCopiesBeyondABuffer) {
  std::vector<uint32_t> big(64);
  EXPECT_EQ(api().cuMemcpyHtoD(words, big.data(), 256),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(device.error().find("256 bytes"), std::string::npos)
      << device.error();
  EXPECT_EQ(word(), 0u);
}

TEST(EmulatorModules, HaveVariablesWithInitialValues) {
  Device device(80);
  std::string text = module(80, ".param .u64 p", R"(
  .reg .b64 %rd<6>;
  .reg .b32 %r<6>;
  ld.param.u64 %rd1, [p];
  ld.const.u32 %r1, [table+4];
  ld.global.u64 %rd2, [where];
  ld.global.u32 %r2, [%rd2];
  add.u32 %r3, %r1, %r2;
  st.global.u32 [%rd1], %r3;
  st.global.u32 [counter], %r3;
  ret;)",
                            ".const .align 4 .u32 table[3] = {1, 20, 3};\n"
                            ".visible .global .align 4 .u32 counter = 7;\n"
                            ".global .align 8 .u64 where[1] = {counter};\n");
  CUmodule loaded = nullptr;
  ASSERT_EQ(api().cuModuleLoadData(&loaded, text.c_str()), CUDA_SUCCESS)
      << device.error();
  CUfunction function = nullptr;
  ASSERT_EQ(api().cuModuleGetFunction(&function, loaded, "k"), CUDA_SUCCESS);
  CUdeviceptr out = device.put(std::vector<uint32_t>(1, 0)), counter = 0;
  ASSERT_EQ(device.run(function, {1}, {1}, {&out}), CUDA_SUCCESS)
      << device.error();
  EXPECT_EQ(device.get<uint32_t>(out, 1)[0], 27u);
  size_t bytes = 0;
  ASSERT_EQ(api().cuModuleGetGlobal(&counter, &bytes, loaded, "counter"),
            CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(device.get<uint32_t>(counter, 1)[0], 27u);
  EXPECT_EQ(api().cuModuleGetFunction(&function, loaded, "none"),
            CUDA_ERROR_NOT_FOUND);
  ASSERT_EQ(api().cuModuleUnload(loaded), CUDA_SUCCESS);
}

} // namespace
} // namespace emulatortest
