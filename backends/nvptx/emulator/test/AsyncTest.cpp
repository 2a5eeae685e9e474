// SPDX-License-Identifier: Apache-2.0
//
// AsyncTest.cpp: barriers in shared memory and the bulk copies that they wait
// for.
#include "Harness.h"

namespace emulatortest {
namespace {

const char *const kStart = R"(
  .reg .pred %p, %done;
  .reg .b32 %r<16>;
  .reg .b64 %rd<8>, %state;
  .shared .align 16 .b8 buffer[1024];
  .shared .align 8 .b64 barrier;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, buffer;
  add.s32 %r4, %r3, %r2;
  mov.u32 %r5, barrier;
  setp.eq.u32 %p, %r1, 0;
)";

CUresult run(const std::string &body, std::vector<uint32_t> &got,
             std::string &error) {
  Device device(90);
  CUfunction function = device.load(
      module(90, ".param .u64 in, .param .u64 out", kStart + body), "k");
  std::vector<uint32_t> in(256);
  for (uint32_t i = 0; i < 256; ++i)
    in[i] = i * 3;
  CUdeviceptr pin = device.put(in),
              pout = device.put(std::vector<uint32_t>(256, 0));
  CUresult result = device.run(function, {1}, {256}, {&pin, &pout});
  error = device.error();
  if (result == CUDA_SUCCESS)
    got = device.get<uint32_t>(pout, 256);
  return result;
}

// The first thread copies 1024 bytes, all wait for them.
std::string bulk(const std::string &wait) {
  return R"(
  @%p mbarrier.init.shared::cta.b64 [%r5], 1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%p bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 1024;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 1024, [%r5];
WAIT:
)" + wait +
         R"(
  xor.b32 %r6, %r2, 128;
  add.s32 %r6, %r6, %r3;
  ld.shared.u32 %r7, [%r6];
  st.global.u32 [%rd4], %r7;
  ret;)";
}

TEST(EmulatorAsync, BulkCopiesCompleteABarrier) {
  std::vector<uint32_t> got;
  std::string error;
  const std::string wait =
      "mbarrier.try_wait.parity.shared::cta.b64 %done, [%r5], 0;"
      "@!%done bra WAIT;";
  for (const char *schedule : {"in-order", "reversed", "random"}) {
    api().bp_cuda_emulator_set("schedule", schedule);
    ASSERT_EQ(run(bulk(wait), got, error), CUDA_SUCCESS) << error;
    for (uint32_t i = 0; i < 256; ++i)
      ASSERT_EQ(got[i], (i ^ 32) * 3) << schedule;
  }
  api().bp_cuda_emulator_set("schedule", "in-order");
}

TEST(EmulatorAsync, CopiesMayNotBeReadBeforeTheirBarrierIsOver) {
  std::vector<uint32_t> got;
  std::string error;
  // Twice as many bytes are expected as come.
  std::string body = bulk("bar.sync 0;");
  body.replace(body.find("_, [%r5], 1024"), 14, "_, [%r5], 2048");
  EXPECT_EQ(run(body, got, error), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(error.find("not waited for"), std::string::npos) << error;
}

// A store to bytes that a copy is on its way to: which comes last nobody knows.
TEST(EmulatorAsync, BytesOfACopyMayNotBeWrittenBeforeItIsWaitedFor) {
  for (const char *wait : {"cp.async.wait_all;", ""}) {
    std::vector<uint32_t> got;
    std::string error;
    const std::string body = R"(
  add.s64 %rd5, %rd1, %rd3;
  cp.async.ca.shared.global [%r4], [%rd5], 4;
)" + std::string(wait) + R"(
  st.shared.u32 [%r4], %r1;
  cp.async.wait_all;
  ld.shared.u32 %r7, [%r4];
  st.global.u32 [%rd4], %r7;
  ret;)";
    CUresult result = run(body, got, error);
    if (*wait) {
      ASSERT_EQ(result, CUDA_SUCCESS) << error;
      EXPECT_EQ(got[5], 5u);
    } else {
      EXPECT_NE(result, CUDA_SUCCESS);
      EXPECT_NE(error.find("is written while an asynchronous copy"),
                std::string::npos)
          << error;
    }
  }
}

TEST(EmulatorAsync, ThreadsArriveAndWaitForAPhase) {
  std::vector<uint32_t> got;
  std::string error;
  const std::string body = R"(
  @%p mbarrier.init.shared.b64 [barrier], 256;
  bar.sync 0;
  mov.u32 %r8, 0;
PHASE:
  add.u32 %r6, %r1, %r8;
  st.shared.u32 [%r4], %r6;
  mbarrier.arrive.shared.b64 %state, [barrier];
WAIT:
  mbarrier.test_wait.shared.b64 %done, [barrier], %state;
  @!%done bra WAIT;
  xor.b32 %r6, %r2, 512;
  add.s32 %r6, %r6, %r3;
  ld.shared.u32 %r7, [%r6];
  bar.sync 0;
  add.u32 %r8, %r8, 1;
  setp.lt.u32 %p, %r8, 3;
  @%p bra PHASE;
  st.global.u32 [%rd4], %r7;
  ret;)";
  ASSERT_EQ(run(body, got, error), CUDA_SUCCESS) << error;
  for (uint32_t i = 0; i < 256; ++i)
    ASSERT_EQ(got[i], (i ^ 128) + 2);
}

TEST(EmulatorAsync, BulkCopiesWriteGlobalMemory) {
  std::vector<uint32_t> got;
  std::string error;
  const std::string body = R"(
  st.shared.u32 [%r4], %r2;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], 1024;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;)";
  ASSERT_EQ(run(body, got, error), CUDA_SUCCESS) << error;
  for (uint32_t i = 0; i < 256; ++i)
    ASSERT_EQ(got[i], i * 4);
}

TEST(EmulatorAsync, TooManyArrivalsAreAnError) {
  std::vector<uint32_t> got;
  std::string error;
  EXPECT_EQ(run(R"(
  @%p mbarrier.init.shared.b64 [barrier], 3;
  bar.sync 0;
  @%p mbarrier.arrive.shared.b64 %state, [barrier], 4;
  ret;)",
                got, error),
            CUDA_ERROR_ILLEGAL_INSTRUCTION);
  EXPECT_NE(error.find("more arrivals"), std::string::npos) << error;
}

} // namespace
} // namespace emulatortest
