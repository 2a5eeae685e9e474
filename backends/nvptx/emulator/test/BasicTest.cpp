// SPDX-License-Identifier: Apache-2.0
//
// BasicTest.cpp: devices, memory, streams, events and graphs, with small
// kernels written by hand.
#include "Harness.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace emulatortest {
namespace {

const char *const kAddBody = R"(
  .reg .pred %p;
  .reg .b32 %r<5>;
  .reg .b64 %rd<8>;
  .reg .f32 %f<4>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  ld.param.u32 %r4, [n];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r1, %r1, %r2, %r3;
  setp.ge.s32 %p, %r1, %r4;
  @%p bra DONE;
  mul.wide.s32 %rd4, %r1, 4;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd6, %rd2, %rd4;
  add.s64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.rn.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
DONE:
  ret;)";

std::string addModule(int capability) {
  return module(capability,
                ".param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n",
                kAddBody);
}

TEST(EmulatorDevices, HaveTheCapabilitiesOfTheirNames) {
  int count = 0;
  ASSERT_EQ(api().cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 4);
  for (int capability : {80, 90, 100, 120}) {
    Device device(capability);
    char name[64] = {};
    ASSERT_EQ(api().cuDeviceGetName(name, sizeof(name), device.ordinal),
              CUDA_SUCCESS);
    EXPECT_EQ(name, "emulated sm_" + std::to_string(capability));
  }
  CUdevice none = 0;
  EXPECT_EQ(api().cuDeviceGet(&none, 4), CUDA_ERROR_INVALID_DEVICE);
}

TEST(EmulatorDevices, GiveFunctionsByTheirPlainNames) {
  void *found = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  ASSERT_EQ(api().cuGetProcAddress("cuMemAlloc", &found, 12000, 0, &status),
            CUDA_SUCCESS);
  EXPECT_EQ(found, reinterpret_cast<void *>(api().cuMemAlloc));
  ASSERT_EQ(api().cuGetProcAddress("cuNothing", &found, 12000, 0, &status),
            CUDA_SUCCESS);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

TEST(EmulatorLaunch, AddsVectorsOfARaggedSizeOnEveryDevice) {
  for (int capability : {80, 90, 100, 120}) {
    Device device(capability);
    CUfunction function = device.load(addModule(80), "k");
    int n = 1003;
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; ++i)
      a[i] = float(i) * 0.5f, b[i] = float(n - i);
    CUdeviceptr pa = device.put(a), pb = device.put(b),
                pc = device.allocate(n * 4);
    for (const char *schedule : {"in-order", "reversed", "random"}) {
      ASSERT_EQ(api().bp_cuda_emulator_set("schedule", schedule), 0);
      ASSERT_EQ(device.run(function, {8}, {128}, {&pa, &pb, &pc, &n}),
                CUDA_SUCCESS)
          << device.error();
      std::vector<float> c = device.get<float>(pc, n);
      for (int i = 0; i < n; ++i)
        ASSERT_EQ(c[i], a[i] + b[i]) << i;
    }
    api().bp_cuda_emulator_set("schedule", "in-order");
  }
}

// One tile of 16 x 16 threads: c = a * b, all 64 x 64.
std::string matmulModule() {
  return module(80, ".param .u64 a, .param .u64 b, .param .u64 c", R"(
  .shared .align 4 .b8 ta[1024];
  .shared .align 4 .b8 tb[1024];
  .reg .pred %p;
  .reg .b32 %r<20>;
  .reg .b64 %rd<12>;
  .reg .f32 %f<4>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %tid.y;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ctaid.y;
  mad.lo.s32 %r5, %r4, 16, %r2;   // row
  mad.lo.s32 %r6, %r3, 16, %r1;   // column
  mad.lo.s32 %r7, %r2, 16, %r1;   // place in the tile
  shl.b32 %r7, %r7, 2;
  mov.u32 %r8, ta;
  mov.u32 %r9, tb;
  add.s32 %r10, %r8, %r7;
  add.s32 %r11, %r9, %r7;
  mov.f32 %f3, 0f00000000;
  mov.u32 %r12, 0;
TILES:
  mad.lo.s32 %r13, %r5, 64, %r12;
  add.s32 %r13, %r13, %r1;
  mul.wide.s32 %rd4, %r13, 4;
  add.s64 %rd4, %rd1, %rd4;
  ld.global.f32 %f1, [%rd4];
  st.shared.f32 [%r10], %f1;
  add.s32 %r14, %r12, %r2;
  mad.lo.s32 %r14, %r14, 64, %r6;
  mul.wide.s32 %rd5, %r14, 4;
  add.s64 %rd5, %rd2, %rd5;
  ld.global.f32 %f2, [%rd5];
  st.shared.f32 [%r11], %f2;
  bar.sync 0;
  mad.lo.s32 %r15, %r2, 64, %r8;
  mad.lo.s32 %r16, %r1, 4, %r9;
  mov.u32 %r17, 0;
INNER:
  ld.shared.f32 %f1, [%r15];
  ld.shared.f32 %f2, [%r16];
  fma.rn.f32 %f3, %f1, %f2, %f3;
  add.s32 %r15, %r15, 4;
  add.s32 %r16, %r16, 64;
  add.s32 %r17, %r17, 1;
  setp.lt.s32 %p, %r17, 16;
  @%p bra INNER;
  bar.sync 0;
  add.s32 %r12, %r12, 16;
  setp.lt.s32 %p, %r12, 64;
  @%p bra TILES;
  mad.lo.s32 %r18, %r5, 64, %r6;
  mul.wide.s32 %rd6, %r18, 4;
  add.s64 %rd6, %rd3, %rd6;
  st.global.f32 [%rd6], %f3;
  ret;)");
}

// Text that is read and changed: the first load writes the file, later ones
// read it.
TEST(EmulatorLaunch, TakesTheTextOfAModuleFromAFolder) {
  std::string folder = testing::TempDir() + "bp-modules-XXXXXX";
  ASSERT_TRUE(mkdtemp(folder.data()));
  ASSERT_EQ(api().bp_cuda_emulator_set("modules", folder.c_str()), 0);
  Device device(80);
  device.load(addModule(80), "k");
  auto files = std::filesystem::directory_iterator(folder);
  ASSERT_NE(files, std::filesystem::directory_iterator());
  std::filesystem::path path = files->path();
  std::stringstream kept;
  kept << std::ifstream(path).rdbuf();
  std::string text = kept.str();
  EXPECT_EQ(text, addModule(80));
  EXPECT_EQ(path.extension(), ".ptx");

  size_t add = text.find("add.rn.f32");
  std::ofstream(path) << text.replace(add, 3, "mul");
  CUfunction k = device.load(addModule(80), "k");
  std::vector<float> in = {3, 5};
  CUdeviceptr a = device.put(in), b = device.put(in), c = device.put(in);
  uint32_t n = 2;
  EXPECT_EQ(device.run(k, {1}, {32}, {&a, &b, &c, &n}), CUDA_SUCCESS);
  EXPECT_EQ(device.get<float>(c, 2), (std::vector<float>{9, 25}));

  std::filesystem::remove_all(folder);
  std::string message;
  EXPECT_EQ(device.tryLoad(addModule(80), message),
            CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_NE(message.find("cannot be written"), std::string::npos) << message;
  EXPECT_EQ(api().bp_cuda_emulator_set("modules", ""), 0);
}

TEST(EmulatorLaunch, MultipliesTilesInSharedMemory) {
  Device device(90);
  CUfunction function = device.load(matmulModule(), "k");
  const int n = 64;
  std::vector<float> a(n * n), b(n * n), expected(n * n);
  for (int i = 0; i < n * n; ++i)
    a[i] = float(i % 13) - 6, b[i] = float(i % 7) * 0.25f;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k)
        expected[i * n + j] += a[i * n + k] * b[k * n + j];
  CUdeviceptr pa = device.put(a), pb = device.put(b),
              pc = device.allocate(n * n * 4);
  api().bp_cuda_emulator_reset_counters();
  for (const char *schedule : {"in-order", "reversed", "random"}) {
    api().bp_cuda_emulator_set("schedule", schedule);
    ASSERT_EQ(device.run(function, {4, 4}, {16, 16}, {&pa, &pb, &pc}),
              CUDA_SUCCESS)
        << device.error();
    EXPECT_EQ(device.get<float>(pc, n * n), expected) << schedule;
  }
  api().bp_cuda_emulator_set("schedule", "in-order");
  auto counted = counters();
  EXPECT_EQ(counted.launches, 3u);
  EXPECT_EQ(counted.blocks, 3u * 16);
  EXPECT_EQ(counted.scalar_multiply_adds, 3ull * n * n * n);
  EXPECT_EQ(counted.global_load_bytes, 3ull * 2 * n * n * 4 * (n / 16));
  EXPECT_EQ(counted.global_store_bytes, 3ull * n * n * 4);
  EXPECT_EQ(counted.shared_load_bytes, 3ull * 2 * n * n * n * 4);
}

} // namespace
} // namespace emulatortest
