// SPDX-License-Identifier: Apache-2.0
//
// TensorTest.cpp: tensor maps, and copies of boxes of tensors.
#include "Harness.h"

namespace emulatortest {
namespace {

// A tensor of i16 with sizes, the innermost first, and a box of it.
struct Tensor {
  std::vector<cuuint64_t> sizes;
  std::vector<cuuint32_t> box;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;

  uint64_t count() const {
    uint64_t all = 1;
    for (cuuint64_t size : sizes)
      all *= size;
    return all;
  }
  uint32_t boxCount() const {
    uint32_t all = 1;
    for (cuuint32_t size : box)
      all *= size;
    return all;
  }
};

CUresult encode(CUtensorMap &map, const Tensor &t, CUdeviceptr address) {
  std::vector<cuuint64_t> strides;
  cuuint64_t bytes = 2;
  for (cuuint64_t size : t.sizes)
    strides.push_back(bytes *= size);
  std::vector<cuuint32_t> steps(t.sizes.size(), 1);
  return api().cuTensorMapEncodeTiled(
      &map, CU_TENSOR_MAP_DATA_TYPE_UINT16, cuuint32_t(t.sizes.size()),
      reinterpret_cast<void *>(address), t.sizes.data(), strides.data(),
      t.box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, t.swizzle,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// The coordinates are numbers in the text; `bytes` of a box.
std::string kernel(const std::string &coordinates, size_t rank, uint32_t bytes,
                   bool waits) {
  std::string dimensions = std::to_string(rank) + "d";
  return R"(
  .reg .pred %p, %done;
  .reg .b32 %r<16>;
  .reg .b16 %h;
  .reg .b64 %rd<16>;
  .shared .align 1024 .b8 box[8192];
  .shared .align 8 .b64 barrier;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  ld.param.u64 %rd3, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, box;
  mov.u32 %r3, barrier;
  setp.eq.u32 %p, %r1, 0;
  @%p mbarrier.init.shared::cta.b64 [%r3], 1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%p bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], )" +
         std::to_string(bytes) + ";\n  cp.async.bulk.tensor." + dimensions +
         ".shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2, "
         "{" +
         coordinates + "}], [%r3];\nWAIT:\n" +
         (waits ? "mbarrier.try_wait.parity.shared::cta.b64 %done, [%r3], 0;"
                  "@!%done bra WAIT;\n"
                : "") +
         R"(  shl.b32 %r4, %r1, 1;
LOOP:
  add.s32 %r5, %r2, %r4;
  ld.shared.b16 %h, [%r5];
  cvt.u64.u32 %rd4, %r4;
  add.s64 %rd5, %rd3, %rd4;
  st.global.b16 [%rd5], %h;
  add.s32 %r4, %r4, 64;
  setp.lt.u32 %p, %r4, )" +
         std::to_string(bytes) + ";\n  @%p bra LOOP;\n  ret;";
}

const char *const kParameters =
    ".param .align 64 .b8 map[128], .param .u64 out";

struct Result {
  CUresult code = CUDA_ERROR_UNKNOWN;
  std::string error;
  std::vector<uint16_t> box;
};

Result load(const Tensor &t, const std::string &coordinates,
            bool waits = true) {
  Device device(90);
  std::vector<uint16_t> values(t.count());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = uint16_t(i + 1);
  CUtensorMap map;
  Result result;
  result.code = encode(map, t, device.put(values));
  EXPECT_EQ(result.code, CUDA_SUCCESS) << device.error();
  CUfunction function = device.load(
      module(90, kParameters,
             kernel(coordinates, t.sizes.size(), t.boxCount() * 2, waits)),
      "k");
  CUdeviceptr out = device.put(std::vector<uint16_t>(t.boxCount()));
  result.code = device.run(function, {1}, {32}, {&map, &out});
  result.error = device.error();
  if (result.code == CUDA_SUCCESS)
    result.box = device.get<uint16_t>(out, t.boxCount());
  return result;
}

TEST(EmulatorTensor, BoxesAreReadAndZerosOutside) {
  const Tensor t{{24, 10, 3}, {8, 4, 2}};
  const int from[] = {20, -1, 2};
  Result result = load(t, "20, -1, 2");
  ASSERT_EQ(result.code, CUDA_SUCCESS) << result.error;
  for (int i = 0; i < 64; ++i) {
    int x = from[0] + i % 8, y = from[1] + i / 8 % 4, z = from[2] + i / 32;
    bool inside = x < 24 && y >= 0 && y < 10 && z < 3;
    ASSERT_EQ(result.box[size_t(i)], inside ? (z * 10 + y) * 24 + x + 1 : 0)
        << x << ", " << y << ", " << z;
  }
}

TEST(EmulatorTensor, PiecesOfALineArePermuted) {
  struct Row {
    CUtensorMapSwizzle swizzle;
    int bytes;
  };
  for (Row row :
       {Row{CU_TENSOR_MAP_SWIZZLE_32B, 32}, Row{CU_TENSOR_MAP_SWIZZLE_64B, 64},
        Row{CU_TENSOR_MAP_SWIZZLE_128B, 128}}) {
    int width = row.bytes / 2;
    Result result =
        load({{64, 32}, {cuuint32_t(width), 32}, row.swizzle}, "0, 0");
    ASSERT_EQ(result.code, CUDA_SUCCESS) << result.error;
    for (int i = 0; i < width * 32; ++i) {
      // The piece of 16 bytes is exchanged by the lines of 128 bytes above.
      int line = i * 2 / 128 % 8, piece = i / 8 % (row.bytes / 16);
      int there = piece ^ (line % (row.bytes / 16));
      int from = i / width * width + there * 8 + i % 8;
      ASSERT_EQ(result.box[size_t(i)], from / width * 64 + from % width + 1)
          << row.bytes << " at " << i;
    }
  }
}

TEST(EmulatorTensor, ABoxMayNotBeReadBeforeItsBarrierIsOver) {
  Result result = load({{24, 10, 3}, {8, 4, 2}}, "0, 0, 0", false);
  EXPECT_EQ(result.code, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(result.error.find("not waited for"), std::string::npos)
      << result.error;
}

TEST(EmulatorTensor, BoxesAreWrittenInsideOnly) {
  const Tensor t{{24, 10}, {8, 4}};
  Device device(90);
  CUdeviceptr values = device.put(std::vector<uint16_t>(t.count(), 7));
  CUtensorMap map;
  ASSERT_EQ(encode(map, t, values), CUDA_SUCCESS) << device.error();
  CUfunction function =
      device.load(module(90, ".param .align 64 .b8 map[128]", R"(
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  .shared .align 128 .b8 box[64];
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, box;
  shl.b32 %r3, %r1, 1;
  add.s32 %r4, %r2, %r3;
  st.shared.b16 [%r4], %r1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.eq.u32 %p, %r1, 0;
  @%p cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {20, 8}], [%r2];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
  ret;)"),
                  "k");
  ASSERT_EQ(device.run(function, {1}, {32}, {&map}), CUDA_SUCCESS)
      << device.error();
  std::vector<uint16_t> got = device.get<uint16_t>(values, t.count());
  for (int i = 0; i < 240; ++i) {
    int x = i % 24, y = i / 24;
    ASSERT_EQ(got[size_t(i)], x >= 20 && y >= 8 ? (y - 8) * 8 + x - 20 : 7)
        << x << ", " << y;
  }
}

TEST(EmulatorTensor, WrongMapsAreTold) {
  Device device(90);
  CUdeviceptr memory = device.allocate(4096);
  struct Row {
    Tensor tensor;
    CUdeviceptr address;
    CUresult code;
    const char *said;
  };
  const Row rows[] = {
      {{{24, 10}, {8, 4}},
       memory + 8,
       CUDA_ERROR_INVALID_VALUE,
       "multiple of 16"},
      {{{25, 10}, {8, 4}},
       memory,
       CUDA_ERROR_INVALID_VALUE,
       "strides that are multiples of 16"},
      {{{24, 10}, {9, 4}},
       memory,
       CUDA_ERROR_INVALID_VALUE,
       "multiple of 16 bytes"},
      {{{24, 10}, {8, 257}}, memory, CUDA_ERROR_INVALID_VALUE, "1 to 256"},
      {{{24, 10, 1, 1, 1, 1}, {8, 1, 1, 1, 1, 1}},
       memory,
       CUDA_ERROR_INVALID_VALUE,
       "1 to 5 dimensions"},
      {{{64, 10}, {32, 4}, CU_TENSOR_MAP_SWIZZLE_32B},
       memory,
       CUDA_ERROR_INVALID_VALUE,
       "no wider than its swizzle"},
      {{{64, 10}, {8, 4}, CU_TENSOR_MAP_SWIZZLE_32B},
       memory,
       CUDA_ERROR_NOT_SUPPORTED,
       "narrower than its swizzle"},
  };
  for (const Row &row : rows) {
    CUtensorMap map;
    EXPECT_EQ(encode(map, row.tensor, row.address), row.code) << row.said;
    EXPECT_NE(device.error().find(row.said), std::string::npos)
        << device.error();
  }
}

TEST(EmulatorTensor, AMapOfATensorThatWasFreedIsTold) {
  Device device(90);
  const Tensor t{{24, 10}, {8, 4}};
  CUtensorMap map;
  CUdeviceptr memory = 0;
  ASSERT_EQ(api().cuMemAlloc(&memory, 480), CUDA_SUCCESS);
  ASSERT_EQ(encode(map, t, memory), CUDA_SUCCESS);
  ASSERT_EQ(api().cuMemFree(memory), CUDA_SUCCESS);
  CUfunction function =
      device.load(module(90, kParameters, kernel("0, 0", 2, 64, true)), "k");
  CUdeviceptr out = device.allocate(64);
  EXPECT_EQ(device.run(function, {1}, {32}, {&map, &out}),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(device.error().find("freed"), std::string::npos) << device.error();
}

} // namespace
} // namespace emulatortest
