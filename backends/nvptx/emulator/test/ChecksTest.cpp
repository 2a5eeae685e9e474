// SPDX-License-Identifier: Apache-2.0
//
// ChecksTest.cpp: mistakes of kernels, each of which must be found and named.
#include "Harness.h"

namespace emulatortest {
namespace {

constexpr const char *kOneBuffer = ".param .u64 out";

// Runs a kernel with one buffer of 1024 bytes that must fail.
void expectFault(const std::string &body, CUresult code,
                 const std::vector<std::string> &texts, unsigned threads = 64,
                 int capability = 80, const std::string &before = "") {
  Device device(capability);
  CUfunction function =
      device.load(module(capability, kOneBuffer, body, before), "k");
  ASSERT_TRUE(function);
  CUdeviceptr out = device.put(std::vector<uint32_t>(256, 7));
  EXPECT_EQ(device.run(function, {1}, {threads}, {&out}), code)
      << device.error();
  for (const std::string &text : texts)
    EXPECT_NE(device.error().find(text), std::string::npos)
        << "'" << text << "' is not in: " << device.error();
  // The context stays unusable, as that of a device.
  CUdeviceptr more = 0;
  EXPECT_EQ(api().cuMemAlloc(&more, 16), code);
}

const char *const kStart = R"(
  .reg .pred %p<4>;
  .reg .b16 %h<8>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<8>;
  .reg .f32 %f<8>;
  .shared .align 16 .b8 buffer[1024];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, buffer;
  add.s32 %r3, %r3, %r2;
)";

std::string body(const std::string &rest) {
  return std::string(kStart) + rest + "\n ret;";
}

TEST(EmulatorChecks, BoundsOfABuffer) {
  expectFault(
      body("st.global.u32 [%rd3+772], %r1;"), CUDA_ERROR_ILLEGAL_ADDRESS,
      {"kernel 'k'", "st.global.u32 [%rd3+772], %r1;", "thread (63, 0, 0)",
       "writes 4 bytes", "0 bytes behind the end of buffer", "1024 bytes"});
}

TEST(EmulatorChecks, NullPointers) {
  expectFault(body("mov.u64 %rd4, 0; ld.global.u32 %r4, [%rd4];"),
              CUDA_ERROR_ILLEGAL_ADDRESS, {"a null pointer"});
}

TEST(EmulatorChecks, FreedBuffers) {
  Device device(80);
  CUfunction function = device.load(
      module(80, kOneBuffer, body("ld.global.u32 %r4, [%rd3];")), "k");
  CUdeviceptr out = 0;
  ASSERT_EQ(api().cuMemAlloc(&out, 1024), CUDA_SUCCESS);
  ASSERT_EQ(api().cuMemFree(out), CUDA_SUCCESS);
  EXPECT_EQ(device.run(function, {1}, {32}, {&out}),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(device.error().find("freed"), std::string::npos) << device.error();
}

TEST(EmulatorChecks, Alignment) {
  expectFault(body("ld.global.u32 %r4, [%rd3+2];"),
              CUDA_ERROR_MISALIGNED_ADDRESS, {"not a multiple of 4"});
  expectFault(body("ld.global.v2.u32 {%r4, %r5}, [%rd3];"),
              CUDA_ERROR_MISALIGNED_ADDRESS,
              {"not a multiple of 8", "thread (1, 0, 0)"});
}

TEST(EmulatorChecks, BoundsOfSharedMemory) {
  expectFault(body("st.shared.u32 [%r3+1020], %r1;"),
              CUDA_ERROR_ILLEGAL_ADDRESS,
              {"1024 bytes of shared memory", "thread (1, 0, 0)"});
}

TEST(EmulatorChecks, RegistersThatNobodyWrote) {
  expectFault(body("add.f32 %f1, %f2, 0f3F800000; st.global.f32 [%rd3], %f1;"),
              CUDA_ERROR_LAUNCH_FAILED, {"never written"});
  expectFault(body("@%p1 st.global.u32 [%rd3], %r1;"), CUDA_ERROR_LAUNCH_FAILED,
              {"never written"});
  // Written by some lanes only.
  expectFault(body(R"(setp.ne.u32 %p1, %r1, 5;
                      @%p1 mov.u32 %r4, 1;
                      st.global.u32 [%rd3], %r4;)"),
              CUDA_ERROR_LAUNCH_FAILED, {"never written", "thread (5, 0, 0)"});
}

TEST(EmulatorChecks, SharedMemoryThatNobodyWrote) {
  expectFault(body(R"(setp.ne.u32 %p1, %r1, 7;
                      @%p1 st.shared.u32 [%r3], %r1;
                      bar.sync 0;
                      ld.shared.u32 %r4, [%r3];)"),
              CUDA_ERROR_LAUNCH_FAILED, {"not written", "thread (7, 0, 0)"});
}

TEST(EmulatorChecks, RacesBetweenWarps) {
  // Reads what the other warp writes, without a barrier between.
  const std::string rest = R"(
    st.shared.u32 [%r3], %r1;
    %s
    xor.b32 %r4, %r2, 128;
    mov.u32 %r5, buffer;
    add.s32 %r5, %r5, %r4;
    ld.shared.u32 %r6, [%r5];
    st.global.u32 [%rd3], %r6;)";
  auto with = [&](const char *barrier) {
    std::string text = rest;
    text.replace(text.find("%s"), 2, barrier);
    return body("st.shared.u32 [%r3+256], %r1; st.shared.u32 [%r3], %r1;"
                "bar.sync 0;" +
                text);
  };
  for (const char *schedule : {"in-order", "reversed"}) {
    api().bp_cuda_emulator_set("schedule", schedule);
    expectFault(with(""), CUDA_ERROR_LAUNCH_FAILED, {"race"});
  }
  api().bp_cuda_emulator_set("schedule", "in-order");
  Device device(80);
  CUfunction function =
      device.load(module(80, kOneBuffer, with("bar.sync 0;")), "k");
  CUdeviceptr out = device.put(std::vector<uint32_t>(256, 7));
  ASSERT_EQ(device.run(function, {1}, {64}, {&out}), CUDA_SUCCESS)
      << device.error();
  EXPECT_EQ(device.get<uint32_t>(out, 64)[3], 35u);
}

TEST(EmulatorChecks, WritesOverWhatIsStillRead) {
  expectFault(body(R"(st.shared.u32 [%r3], %r1;
                      bar.sync 0;
                      xor.b32 %r4, %r2, 128;
                      mov.u32 %r5, buffer;
                      add.s32 %r5, %r5, %r4;
                      ld.shared.u32 %r6, [%r5];
                      st.shared.u32 [%r3], %r6;)"),
              CUDA_ERROR_LAUNCH_FAILED, {"race"});
}

TEST(EmulatorChecks, BarriersThatSomeLanesMiss) {
  expectFault(body(R"(setp.lt.u32 %p1, %r1, 8;
                      @%p1 bra OTHER;
                      bar.sync 0;
                      ret;
                    OTHER:
                      bar.sync 0;)"),
              CUDA_ERROR_LAUNCH_FAILED, {"divergent barrier"});
  // One warp waits at another barrier than the other.
  expectFault(body(R"(setp.lt.u32 %p1, %r1, 32;
                      @%p1 bra OTHER;
                      bar.sync 1;
                      ret;
                    OTHER:
                      bar.sync 2;)"),
              CUDA_ERROR_LAUNCH_FAILED, {"divergent barrier"});
}

TEST(EmulatorChecks, CopiesThatAreNotWaitedFor) {
  const std::string copy = R"(
    cvta.to.global.u64 %rd3, %rd3;
    cp.async.ca.shared.global [%r3], [%rd3], 4;
    cp.async.commit_group;
    %s
    ld.shared.u32 %r4, [%r3];
    add.s32 %r4, %r4, 1;
    st.global.u32 [%rd3], %r4;)";
  auto with = [&](const char *wait) {
    std::string text = copy;
    text.replace(text.find("%s"), 2, wait);
    return body(text);
  };
  expectFault(with(""), CUDA_ERROR_LAUNCH_FAILED, {"not waited for"});
  expectFault(with("cp.async.wait_group 1;"), CUDA_ERROR_LAUNCH_FAILED,
              {"not waited for"});
  Device device(80);
  CUfunction function =
      device.load(module(80, kOneBuffer, with("cp.async.wait_group 0;")), "k");
  CUdeviceptr out = device.put(std::vector<uint32_t>(256, 7));
  ASSERT_EQ(device.run(function, {1}, {64}, {&out}), CUDA_SUCCESS)
      << device.error();
  EXPECT_EQ(device.get<uint32_t>(out, 64)[63], 8u);
}

TEST(EmulatorChecks, LoopsWithoutEnd) {
  ASSERT_EQ(api().bp_cuda_emulator_set("limit", "1"), 0);
  expectFault(body("AGAIN: bra AGAIN;"), CUDA_ERROR_LAUNCH_TIMEOUT,
              {"does a loop never end"});
  api().bp_cuda_emulator_set("limit", "400");
}

TEST(EmulatorChecks, LoopsOfManyWarps) {
  // Each warp stays below its own limit.
  std::string loop = R"(mov.u32 %r4, 100000;
                        AGAIN: add.s32 %r4, %r4, -1;
                        setp.ne.s32 %p1, %r4, 0;
                        @%p1 bra AGAIN;)";
  ASSERT_EQ(api().bp_cuda_emulator_set("total", "1"), 0);
  expectFault(body(loop), CUDA_ERROR_LAUNCH_TIMEOUT,
              {"the launch has executed", "does a loop never end"}, 128);
  Device device(80);
  CUfunction function = device.load(module(80, kOneBuffer, body(loop)), "k");
  CUdeviceptr out = device.put(std::vector<uint32_t>(32, 7));
  EXPECT_EQ(device.run(function, {1}, {32}, {&out}), CUDA_SUCCESS)
      << device.error();
  EXPECT_EQ(api().bp_cuda_emulator_set("total", "1000000001"), -1);
  api().bp_cuda_emulator_set("total", "0");
}

TEST(EmulatorChecks, ShufflesFromLanesThatAreAway) {
  expectFault(body(R"(setp.lt.u32 %p1, %r1, 16;
                      @%p1 shfl.sync.bfly.b32 %r4, %r1, 16, 31, 65535;)"),
              CUDA_ERROR_LAUNCH_FAILED, {"does not take part"}, 32);
}

TEST(EmulatorChecks, Traps) {
  expectFault(body("trap;"), CUDA_ERROR_ILLEGAL_INSTRUCTION, {"traps"});
}

void expectRefused(const std::string &instruction,
                   const std::vector<std::string> &texts, int capability = 80) {
  Device device(capability);
  std::string message;
  EXPECT_EQ(device.tryLoad(module(capability, kOneBuffer, body(instruction)),
                           message),
            CUDA_ERROR_INVALID_PTX);
  for (const std::string &text : texts)
    EXPECT_NE(message.find(text), std::string::npos)
        << "'" << text << "' is not in: " << message;
}

TEST(EmulatorRefusals, NameTheKernelAndTheInstruction) {
  expectRefused("frobnicate.u32 %r1, %r2;",
                {"kernel 'k'", "'frobnicate'", "frobnicate.u32 %r1, %r2;"});
  expectRefused("add.sideways.s32 %r1, %r2, %r3;", {"'.sideways'"});
  expectRefused("add.f32 %f1, %rd1, %f2;", {"'%rd1'", "64 bits"});
  expectRefused("add.s32 %r1, %r99, %r2;", {"'%r99'", "not declared"});
  expectRefused("bra NOWHERE;", {"'NOWHERE'"});
  expectRefused("add.bf16 %h1, %h2, %h3;", {"needs sm_90"});
  expectRefused("add.s32 %r1, %r2 %r3;", {"line"});
}

TEST(EmulatorRefusals, OtherImagesAndTargets) {
  Device device(80);
  std::string message;
  EXPECT_EQ(device.tryLoad("\x7f"
                           "ELF\x02",
                           message),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_NE(message.find("PTX"), std::string::npos);
  EXPECT_EQ(device.tryLoad(module(90, kOneBuffer, "ret;"), message),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_NE(message.find("sm_90"), std::string::npos) << message;
  EXPECT_EQ(device.tryLoad("", message), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(device.tryLoad(".version 8.0\n.target sm_80\n.entry k( {", message),
            CUDA_ERROR_INVALID_PTX);
}

TEST(EmulatorRefusals, LaunchesOfAWrongShape) {
  Device device(80);
  CUfunction function =
      device.load(module(80, kOneBuffer, body("bar.sync 0;")), "k");
  CUdeviceptr out = device.put(std::vector<uint32_t>(256, 7));
  EXPECT_EQ(device.run(function, {1}, {1025}, {&out}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(device.run(function, {1, 70000}, {32}, {&out}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(device.run(function, {1}, {32}, {&out}, 48 * 1024),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(
      api().cuFuncSetAttribute(
          function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 96 * 1024),
      CUDA_SUCCESS);
  EXPECT_EQ(device.run(function, {1}, {32}, {&out}, 90 * 1024), CUDA_SUCCESS)
      << device.error();
}

} // namespace
} // namespace emulatortest
