// SPDX-License-Identifier: Apache-2.0
//
// WgmmaTest.cpp: products of four warps: the layouts that descriptors tell,
// signs, and what may not be touched before a wait. All values are small
// integers, so that sums are exact.
#include "Harness.h"

namespace emulatortest {
namespace {

constexpr int kRows = 64, kColumns = 8, kDepth = 16;
constexpr uint32_t kImage = 16384, kFirstB = 8192;

int valueA(int row, int k) { return (row * 5 + k * 3) % 7 - 3; }
int valueB(int k, int column) { return (k * 2 + column * 7) % 5 - 2; }

uint16_t toHalf(int value) {
  _Float16 half = _Float16(value);
  uint16_t bits = 0;
  std::memcpy(&bits, &half, 2);
  return bits;
}

// A layout of 16-bit elements, as the strides of the canonical layouts of the
// ISA; `across`: neighbours are rows of A or columns of B, not along k.
struct Layout {
  const char *name;
  int swizzle; // bytes
  uint32_t leading, stride;
  bool across;
};

// The bytes from the start of a factor to its element, before they are
// permuted.
uint32_t placeOf(const Layout &l, int line, int k) {
  uint32_t r = uint32_t(line), q = uint32_t(k);
  uint32_t width = l.swizzle ? uint32_t(l.swizzle) : 16;
  if (!l.across)
    return r % 8 * width + r / 8 * l.stride + q % 8 * 2 +
           q / 8 * (l.swizzle ? 16 : l.leading);
  uint32_t wide = width / 2; // elements side by side
  return r % wide * 2 + r / wide * (l.swizzle ? l.leading : l.stride) +
         q % 8 * width + q / 8 * (l.swizzle ? l.stride : l.leading);
}

uint32_t permuted(uint32_t at, int swizzle) {
  switch (swizzle) {
  case 32:
    return at ^ (at >> 7 & 1) << 4;
  case 64:
    return at ^ (at >> 7 & 3) << 4;
  case 128:
    return at ^ (at >> 7 & 7) << 4;
  default:
    return at;
  }
}

uint64_t descriptor(const Layout &l, uint32_t start) {
  uint64_t mode = l.swizzle == 128  ? 1
                  : l.swizzle == 64 ? 2
                  : l.swizzle == 32 ? 3
                                    : 0;
  return start >> 4 | uint64_t(l.leading >> 4) << 16 |
         uint64_t(l.stride >> 4) << 32 | mode << 62;
}

const char *const kStart = R"(
  .reg .pred %p, %yes;
  .reg .b32 %r<16>;
  .reg .f32 %f<8>;
  .reg .b64 %rd<16>;
  .shared .align 1024 .b8 image[16384];
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u64 %rd3, [a];
  ld.param.u64 %rd4, [b];
  mov.u32 %r1, %tid.x;
  setp.eq.u32 %yes, 0, 0;
  mov.u32 %r2, image;
  shl.b32 %r3, %r1, 2;
COPY:
  cvt.u64.u32 %rd5, %r3;
  add.s64 %rd6, %rd1, %rd5;
  ld.global.u32 %r4, [%rd6];
  add.s32 %r5, %r2, %r3;
  st.shared.u32 [%r5], %r4;
  add.s32 %r3, %r3, 512;
  setp.lt.u32 %p, %r3, 16384;
  @%p bra COPY;
  fence.proxy.async;
  bar.sync 0;
  mul.wide.u32 %rd7, %r1, 16;
  add.s64 %rd8, %rd2, %rd7;
)";
const char *const kEnd = R"(
  st.global.v4.f32 [%rd8], {%f0, %f1, %f2, %f3};
  ret;)";

// `signs` and the orders of A and B follow the predicate.
std::string multiply(const std::string &rest) {
  return "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
         "{%f0, %f1, %f2, %f3}, %rd3, %rd4, " +
         rest + ";\n";
}
const char *const kFence = "wgmma.fence.sync.aligned;\n";
const char *const kCommit = "wgmma.commit_group.sync.aligned;\n";
const char *const kWait = "wgmma.wait_group.sync.aligned 0;\n";
const char *const kZero = "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0;"
                          "mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n";

struct Result {
  CUresult code;
  std::string error;
  std::vector<float> sums; // 4 of each thread
};

Result run(const std::string &body, const Layout &a, const Layout &b,
           uint64_t descriptorBits = 0, unsigned threads = 128) {
  Device device(90);
  std::string ptx = module(
      90, ".param .u64 in, .param .u64 out, .param .u64 a, .param .u64 b",
      kStart + body + kEnd);
  CUfunction function = device.load(ptx, "k");
  std::vector<uint8_t> image(kImage);
  auto put = [&](uint32_t at, int value) {
    uint16_t bits = toHalf(value);
    std::memcpy(&image[at], &bits, 2);
  };
  for (int k = 0; k < kDepth; ++k) {
    for (int row = 0; row < kRows; ++row)
      put(permuted(placeOf(a, row, k), a.swizzle), valueA(row, k));
    for (int column = 0; column < kColumns; ++column)
      put(permuted(kFirstB + placeOf(b, column, k), b.swizzle),
          valueB(k, column));
  }
  CUdeviceptr in = device.put(image),
              out = device.put(std::vector<float>(512, 0));
  uint64_t da = descriptor(a, 0) | descriptorBits, db = descriptor(b, kFirstB);
  Result result;
  result.code = device.run(function, {1}, {threads}, {&in, &out, &da, &db});
  result.error = device.error();
  if (result.code == CUDA_SUCCESS)
    result.sums = device.get<float>(out, 512);
  return result;
}

int product(int row, int column) {
  int sum = 0;
  for (int k = 0; k < kDepth; ++k)
    sum += valueA(row, k) * valueB(k, column);
  return sum;
}

void expectProduct(const Result &result, int factor, const std::string &what) {
  ASSERT_EQ(result.code, CUDA_SUCCESS) << what << ": " << result.error;
  for (int i = 0; i < 512; ++i) {
    int thread = i / 4, lane = thread % 32;
    int row = thread / 32 * 16 + lane / 4 + i % 4 / 2 * 8;
    int column = lane % 4 * 2 + i % 2;
    ASSERT_EQ(result.sums[size_t(i)], factor * product(row, column))
        << what << " at " << row << ", " << column;
  }
}

const Layout kLayouts[] = {
    {"plain along k", 0, 128, 256, false},
    {"plain along k, apart", 0, 1024, 128, false},
    {"32 along k", 32, 16, 256, false},
    {"64 along k", 64, 16, 512, false},
    {"128 along k", 128, 16, 1024, false},
    {"plain across", 0, 2048, 128, true},
    {"32 across", 32, 512, 256, true},
    {"64 across", 64, 1024, 512, true},
    {"128 across", 128, 2048, 1024, true},
};

TEST(EmulatorWgmma, FactorsLieAsDescriptorsSay) {
  for (const Layout &a : kLayouts)
    for (const Layout &b : kLayouts) {
      std::string orders =
          std::string(a.across ? "1" : "0") + ", " + (b.across ? "1" : "0");
      expectProduct(
          run(kFence + multiply("0, 1, 1, " + orders) + kCommit + kWait, a, b),
          1, std::string(a.name) + ", " + b.name);
    }
}

TEST(EmulatorWgmma, SumsGoOnAndFactorsHaveSigns) {
  const Layout &l = kLayouts[4];
  const std::string plus = multiply("%yes, 1, 1, 0, 0"),
                    minus = multiply("%yes, -1, 1, 0, 0"),
                    both = multiply("%yes, -1, -1, 0, 0");
  expectProduct(
      run(kZero + std::string(kFence) + plus + both + plus + kCommit + kWait, l,
          l),
      3, "plus");
  expectProduct(
      run(kZero + std::string(kFence) + minus + kCommit + kWait, l, l), -1,
      "minus");
}

TEST(EmulatorWgmma, CountsItsProducts) {
  api().bp_cuda_emulator_reset_counters();
  run(kFence + multiply("0, 1, 1, 0, 0") + kCommit + kWait, kLayouts[0],
      kLayouts[0]);
  EXPECT_EQ(counters().matrix_multiply_adds,
            uint64_t(kRows) * kColumns * kDepth);
}

struct Fault {
  const char *name;
  std::string body;
  CUresult code;
  const char *said;
  uint64_t bits = 0;
  unsigned threads = 128;
};

std::vector<Fault> faults() {
  const std::string first = multiply("0, 1, 1, 0, 0");
  const std::string ofRegisters =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, "
      "{%r6, %r7, %r8, %r9}, %rd4, 0, 1, 1, 0;";
  const std::string all = kFence + first + kCommit + kWait;
  return {
      {"without a fence", first + kCommit + kWait, CUDA_ERROR_LAUNCH_FAILED,
       "no wgmma.fence"},
      {"without a wait", kFence + first + kCommit, CUDA_ERROR_LAUNCH_FAILED,
       "never written is stored"},
      {"without a commit", kFence + first + kWait, CUDA_ERROR_LAUNCH_FAILED,
       "never written is stored"},
      {"sums without a value",
       kFence + multiply("1, 1, 1, 0, 0") + kCommit + kWait,
       CUDA_ERROR_LAUNCH_FAILED, "never written is used"},
      {"a factor that changes",
       kFence + first + kCommit +
           "bar.sync 0; setp.eq.u32 %p, %r1, 0;"
           "@%p st.shared.u32 [%r2+8192], %r1;" +
           kWait,
       CUDA_ERROR_LAUNCH_FAILED, "race"},
      {"a use without a fence",
       kFence + first + kCommit + kWait + "add.f32 %f0, %f0, %f1;" +
           multiply("%yes, 1, 1, 0, 0") + kCommit + kWait,
       CUDA_ERROR_LAUNCH_FAILED, "no wgmma.fence"},
      {"a sum that is written too soon",
       kFence + first + kCommit + "mov.f32 %f1, %f4;" + kWait,
       CUDA_ERROR_LAUNCH_FAILED, "written before a wait"},
      {"a factor that is written too soon",
       "mov.b32 %r6, 0; mov.b32 %r7, 0; mov.b32 %r8, 0; mov.b32 %r9, 0;" +
           std::string(kFence) + ofRegisters + kCommit + "mov.b32 %r7, 1;" +
           kWait,
       CUDA_ERROR_LAUNCH_FAILED, "written before a wait"},
      {"no fence of proxies",
       "bar.sync 0; setp.eq.u32 %p, %r1, 0; @%p st.shared.u32 [%r2], %r1; "
       "bar.sync 0;" +
           all,
       CUDA_ERROR_LAUNCH_FAILED, "fence.proxy.async"},
      {"a base offset", all, CUDA_ERROR_ILLEGAL_INSTRUCTION, "base offset",
       uint64_t(1) << 49},
      {"beyond shared memory", all, CUDA_ERROR_ILLEGAL_ADDRESS,
       "bytes of shared memory", 0x3f00},
      {"three warps", all, CUDA_ERROR_ILLEGAL_INSTRUCTION, "four whole warps",
       0, 96},
  };
}

TEST(EmulatorWgmma, FaultsAreTold) {
  for (const Fault &fault : faults()) {
    Result result =
        run(fault.body, kLayouts[4], kLayouts[4], fault.bits, fault.threads);
    EXPECT_EQ(result.code, fault.code) << fault.name;
    EXPECT_NE(result.error.find(fault.said), std::string::npos)
        << fault.name << ": " << result.error;
  }
}

TEST(EmulatorWgmma, WhatIsNotKnownIsRefused) {
  struct Row {
    const char *code, *said;
  };
  const std::string sums = "{%f0, %f1, %f2, %f3}, %rd1, %rd2, 1";
  const Row rows[] = {
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.bf16 ", "these types"},
      {"wgmma.mma_async.sync.aligned.m64n8k8.f32.f16.f16 ", "this shape"},
      {"wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 ", "this shape"},
      {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 ", "sparse"},
      {"wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 ", "registers"}};
  for (const Row &row : rows) {
    Device device(90);
    std::string message;
    device.tryLoad(module(90, "",
                          ".reg .f32 %f<4>; .reg .b64 %rd<4>;" +
                              (row.code + sums) + ", 1, 1, 0, 0;"),
                   message);
    EXPECT_NE(message.find(row.said), std::string::npos)
        << row.code << ": " << message;
  }
  Device old(80);
  std::string message;
  old.tryLoad(module(80, "", "wgmma.fence.sync.aligned;"), message);
  EXPECT_NE(message.find("needs sm_90"), std::string::npos) << message;
}

} // namespace
} // namespace emulatortest
