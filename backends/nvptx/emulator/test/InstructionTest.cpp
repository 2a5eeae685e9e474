// SPDX-License-Identifier: Apache-2.0
//
// InstructionTest.cpp: single instructions at the edges of their definitions,
// with the bits that the ISA states.
#include "Harness.h"

#include <cinttypes>

namespace emulatortest {
namespace {

// %x, %y and %z have `bits` bits, %d has `result` bits.
struct Row {
  const char *code;
  int bits, result;
  uint64_t x, y, z, expected;
};

const uint32_t kNan = 0x7fffffff, kInf = 0x7f800000, kOne = 0x3f800000;

const Row kIntegers[] = {
    {"add.sat.s32 %d, %x, %y;", 32, 32, 0x7fffffff, 1, 0, 0x7fffffff},
    {"sub.s16 %d, %x, %y;", 16, 16, 0x8000, 1, 0, 0x7fff},
    {"mul.hi.s32 %d, %x, %y;", 32, 32, 0x80000000, 2, 0, 0xffffffff},
    {"mul.hi.u64 %d, %x, %y;", 64, 64, ~0ull, ~0ull, 0, ~0ull - 1},
    {"mul.wide.s16 %d, %x, %y;", 16, 32, 0xffff, 3, 0, 0xfffffffd},
    {"mul.wide.u32 %d, %x, %y;", 32, 64, 0xffffffff, 2, 0, 0x1fffffffe},
    {"mad.hi.u32 %d, %x, %y, %z;", 32, 32, 0x80000000, 4, 5, 7},
    {"div.s32 %d, %x, %y;", 32, 32, 0xfffffff9, 2, 0, 0xfffffffd},
    {"div.s32 %d, %x, %y;", 32, 32, 0x80000000, 0xffffffff, 0, 0x80000000},
    {"rem.s32 %d, %x, %y;", 32, 32, 0xfffffff9, 2, 0, 0xffffffff},
    {"min.s16 %d, %x, %y;", 16, 16, 0x8000, 1, 0, 0x8000},
    {"abs.s32 %d, %x;", 32, 32, 0x80000000, 0, 0, 0x80000000},
    {"sad.u32 %d, %x, %y, %z;", 32, 32, 3, 10, 5, 12},
    {"shl.b32 %d, %x, 40;", 32, 32, 1, 0, 0, 0},
    {"shr.s32 %d, %x, 40;", 32, 32, 0x80000000, 0, 0, 0xffffffff},
    {"shr.u64 %d, %x, 63;", 64, 64, ~0ull, 0, 0, 1},
    {"shf.r.clamp.b32 %d, %x, %y, 32;", 32, 32, 1, 0xabcd, 0, 0xabcd},
    {"shf.l.wrap.b32 %d, %x, %y, 36;", 32, 32, 0xf0000000, 1, 0, 0x1f},
    {"bfe.s32 %d, %x, 4, 4;", 32, 32, 0xf0, 0, 0, 0xffffffff},
    {"bfe.s32 %d, %x, 28, 8;", 32, 32, 0x80000000, 0, 0, 0xfffffff8},
    {"bfe.u32 %d, %x, 0, 0;", 32, 32, 0xff, 0, 0, 0},
    {"bfi.b32 %d, %x, %y, 8, 8;", 32, 32, 0xab, 0x11111111, 0, 0x1111ab11},
    {"prmt.b32 %d, %x, %y, 0x7531;", 32, 32, 0x33221100, 0x77665544, 0,
     0x77553311},
    {"prmt.b32 %d, %x, %y, 0x888f;", 32, 32, 0x33221180, 0xf7665544, 0,
     0xffffffff},
    {"prmt.b32.b4e %d, %x, %y, 0;", 32, 32, 0x33221100, 0x77665544, 0,
     0x55667700},
    {"lop3.b32 %d, %x, %y, %z, 0x96;", 32, 32, 0xf0, 0xcc, 0xaa, 0x96},
    {"popc.b64 %d, %x;", 64, 32, 0xff00ff00ff, 0, 0, 24},
    {"clz.b32 %d, %x;", 32, 32, 0, 0, 0, 32},
    {"bfind.s32 %d, %x;", 32, 32, 0xfffffff0, 0, 0, 3},
    {"bfind.u32 %d, %x;", 32, 32, 0, 0, 0, 0xffffffff},
    {"bmsk.clamp.b32 %d, %x, %y;", 32, 32, 4, 40, 0, 0xfffffff0},
    {"bmsk.wrap.b32 %d, %x, %y;", 32, 32, 36, 35, 0, 0x70},
    {"szext.clamp.s32 %d, %x, %y;", 32, 32, 0xf8, 8, 0, 0xfffffff8},
    {"szext.clamp.u32 %d, %x, %y;", 32, 32, 0x1f8, 8, 0, 0xf8},
    {"szext.clamp.s32 %d, %x, %y;", 32, 32, 0x80000001, 40, 0, 0x80000001},
    {"szext.wrap.s32 %d, %x, %y;", 32, 32, 0x8, 36, 0, 0xfffffff8},
    {"szext.wrap.u32 %d, %x, %y;", 32, 32, 0x8, 32, 0, 0},
    {"fns.b32 %d, %x, 0, 3;", 32, 32, 0xaa, 0, 0, 5},
    {"fns.b32 %d, %x, 6, -2;", 32, 32, 0xaa, 0, 0, 3},
    {"fns.b32 %d, %x, 4, 0;", 32, 32, 0x10, 0, 0, 4},
    {"fns.b32 %d, %x, 3, 0;", 32, 32, 0x10, 0, 0, 0xffffffff},
    {"fns.b32 %d, %x, 6, 2;", 32, 32, 0xaa, 0, 0, 0xffffffff},
    {"brev.b32 %d, %x;", 32, 32, 1, 0, 0, 0x80000000},
    {"dp2a.hi.s32.s32 %d, %x, %y, %z;", 32, 32, 0xffff0002, 0x03040000, 1, 6},
    {"add.cc.u32 %d, %x, %y; addc.u32 %d, %z, 0;", 32, 32, ~0u, 1, 7, 8},
    {"sub.cc.u32 %d, %x, %y; subc.u32 %d, %z, 0;", 32, 32, 0, 1, 7, 6},
    {"mad.lo.cc.u32 %d, %x, %y, %z; addc.u32 %d, 0, 0;", 32, 32, ~0u, 1, 1, 1},
    {"setp.lo.u32 %p, %x, %y; selp.b32 %d, 1, 0, %p;", 32, 32, 1, ~0u, 0, 1},
    {"setp.lt.s32 %p|%q, %x, %y; selp.b32 %d, 1, 0, %q;", 32, 32, 1, ~0u, 0, 1},
    {"setp.eq.u32 %q, %x, 1; setp.ne.and.u32 %p, %y, 2, !%q;"
     "selp.b32 %d, 1, 0, %p;",
     32, 32, 1, 3, 0, 0},
    {"set.gt.u32.s32 %d, %x, %y;", 32, 32, 1, ~0u, 0, ~0u},
    {"slct.b32.s32 %d, %x, %y, %z;", 32, 32, 1, 2, ~0u, 2},
    {"cvt.s32.s8 %d, %x;", 32, 32, 0x80, 0, 0, 0xffffff80},
    {"cvt.u64.s32 %d, %x;", 32, 64, ~0u, 0, 0, ~0ull},
    {"cvt.sat.u8.s32 %d, %x;", 32, 32, 300, 0, 0, 255},
    {"cvt.sat.u32.s32 %d, %x;", 32, 32, ~0u, 0, 0, 0},
    {"mov.b32 {%lo, %hi}, %x; mov.b32 %d, {%hi, %lo};", 32, 32, 0x12345678, 0,
     0, 0x56781234},
};

const Row kFloats[] = {
    {"add.rz.f32 %d, %x, %y;", 32, 32, kOne, 0x33800001, 0, kOne},
    {"add.rp.f32 %d, %x, %y;", 32, 32, kOne, 0x2f800000, 0, kOne + 1},
    {"sub.rm.f32 %d, %x, %y;", 32, 32, kOne, 0x2f800000, 0, kOne - 1},
    {"mul.ftz.f32 %d, %x, %y;", 32, 32, 1, 0x7f000000, 0, 0},
    {"mul.f32 %d, %x, %y;", 32, 32, 2, 0x3f000000, 0, 1},
    {"add.sat.f32 %d, %x, %y;", 32, 32, kOne, kOne, 0, kOne},
    {"add.sat.f32 %d, %x, %y;", 32, 32, kNan, kOne, 0, 0},
    {"fma.rn.f32 %d, %x, %y, %z;", 32, 32, 0x3f800001, 0x3f800001, 0xbf800002,
     0x28800000},
    {"fma.rz.f64 %d, %x, %y, %z;", 64, 64, 0x3ff0000000000000,
     0x3ff0000000000000, 0x3c90000000000001, 0x3ff0000000000000},
    {"div.rn.f32 %d, %x, %y;", 32, 32, kOne, 0, 0, kInf},
    {"sqrt.rn.f32 %d, %x;", 32, 32, 0x40000000, 0, 0, 0x3fb504f3},
    {"rcp.rp.f32 %d, %x;", 32, 32, 0x40400000, 0, 0, 0x3eaaaaab},
    {"min.f32 %d, %x, %y;", 32, 32, kNan, kOne, 0, kOne},
    {"min.NaN.f32 %d, %x, %y;", 32, 32, kNan, kOne, 0, kNan},
    {"max.f32 %d, %x, %y;", 32, 32, 0x80000000, 0, 0, 0},
    {"min.xorsign.abs.f32 %d, %x, %y;", 32, 32, 0xbf800000, 0x40000000, 0,
     0xbf800000},
    {"copysign.f32 %d, %x, %y;", 32, 32, 0x80000000, kOne, 0, 0xbf800000},
    {"testp.subnormal.f32 %p, %x; selp.b32 %d, 1, 0, %p;", 32, 32, 1, 0, 0, 1},
    {"setp.lt.f32 %p, %x, %y; selp.b32 %d, 1, 0, %p;", 32, 32, kNan, 0, 0, 0},
    {"setp.ltu.f32 %p, %x, %y; selp.b32 %d, 1, 0, %p;", 32, 32, kNan, 0, 0, 1},
    {"setp.ne.f32 %p, %x, %y; selp.b32 %d, 1, 0, %p;", 32, 32, kNan, 0, 0, 0},
    {"setp.num.f32 %p, %x, %y; selp.b32 %d, 1, 0, %p;", 32, 32, kNan, 0, 0, 0},
    {"set.eq.f32.f32 %d, %x, %y;", 32, 32, kOne, kOne, 0, kOne},
    {"cvt.rni.s32.f32 %d, %x;", 32, 32, 0x40200000, 0, 0, 2},
    {"cvt.rzi.s32.f32 %d, %x;", 32, 32, 0xc0200000, 0, 0, 0xfffffffe},
    {"cvt.rmi.s32.f32 %d, %x;", 32, 32, 0xc0200000, 0, 0, 0xfffffffd},
    {"cvt.rzi.s32.f32 %d, %x;", 32, 32, 0x7f000000, 0, 0, 0x7fffffff},
    {"cvt.rzi.u32.f32 %d, %x;", 32, 32, kNan, 0, 0, 0},
    {"cvt.rzi.u32.f32 %d, %x;", 32, 32, 0xbf800000, 0, 0, 0},
    {"cvt.rzi.s64.f64 %d, %x;", 64, 64, 0x7ff8000000000000, 0, 0, 1ull << 63},
    {"cvt.rp.f32.u64 %d, %x;", 64, 32, 0xffffffffffffffff, 0, 0, 0x5f800000},
    {"cvt.rz.f32.u64 %d, %x;", 64, 32, 0xffffffffffffffff, 0, 0, 0x5f7fffff},
    {"cvt.rni.f32.f32 %d, %x;", 32, 32, 0xbf000000, 0, 0, 0x80000000},
    {"cvt.rn.f16.f32 %d, %x;", 32, 16, 0x477fefff, 0, 0, 0x7bff},
    {"cvt.rn.f16.f32 %d, %x;", 32, 16, 0x477ff000, 0, 0, 0x7c00},
    {"cvt.rz.f16.f32 %d, %x;", 32, 16, 0x7f000000, 0, 0, 0x7bff},
    {"cvt.rn.f16.f32 %d, %x;", 32, 16, 0x33000001, 0, 0, 1},
    {"cvt.rn.f16.f32 %d, %x;", 32, 16, 0x33000000, 0, 0, 0},
    {"cvt.rn.bf16.f32 %d, %x;", 32, 16, 0x3f808000, 0, 0, 0x3f80},
    {"cvt.rn.relu.bf16.f32 %d, %x;", 32, 16, 0xbf800000, 0, 0, 0},
    {"cvt.f32.f16 %d, %x;", 16, 32, 1, 0, 0, 0x33800000},
    {"cvt.f32.f16 %d, %x;", 16, 32, 0xfc00, 0, 0, 0xff800000},
    {"cvt.rna.tf32.f32 %d, %x;", 32, 32, 0x3f801000, 0, 0, 0x3f802000},
    {"cvt.rn.f16x2.f32 %d, %x, %y;", 32, 32, kOne, 0x40000000, 0, 0x3c004000},
    {"cvt.rn.satfinite.e4m3x2.f32 %d, %x, %y;", 32, 16, 0x43e80000, kOne, 0,
     0x7e38},
    {"cvt.rn.satfinite.e5m2x2.f32 %d, %x, %y;", 32, 16, 0xc0000000, kOne, 0,
     0xc03c},
    {"cvt.rn.f16x2.e4m3x2 %d, %x;", 16, 32, 0x7e01, 0, 0, 0x5f001800},
    {"fma.rn.f16 %d, %x, %y, %z;", 16, 16, 0x3c01, 0x3c01, 0xbc02, 0x0010},
    {"add.f16x2 %d, %x, %y;", 32, 32, 0x3c007bff, 0x3c007bff, 0, 0x40007c00},
    {"max.NaN.f16 %d, %x, %y;", 16, 16, 0x7e00, 0x3c00, 0, 0x7fff},
    {"fma.rn.relu.f16x2 %d, %x, %y, %z;", 32, 32, 0xbc003c00, 0x3c003c00, 0,
     0x00003c00},
    {"fma.rn.bf16 %d, %x, %y, %z;", 16, 16, 0x3f81, 0x3f81, 0xbf82, 0x3880},
    {"ex2.approx.ftz.f32 %d, %x;", 32, 32, 0x40400000, 0, 0, 0x41000000},
    {"lg2.approx.f32 %d, %x;", 32, 32, 0x41000000, 0, 0, 0x40400000},
    {"rsqrt.approx.f32 %d, %x;", 32, 32, 0x40800000, 0, 0, 0x3f000000},
    {"div.full.f32 %d, %x, %y;", 32, 32, kOne, 0x40000000, 0, 0x3f000000},
};

void check(const Row &row, int capability) {
  std::string in = std::to_string(row.bits), out = std::to_string(row.result);
  // cvt takes wider registers of a narrow type; the table has 32 bits then.
  std::string body = "  .reg .b" + in + " %x, %y, %z;\n  .reg .b" + out +
                     " %d;\n  .reg .pred %p, %q;\n  .reg .b16 %lo, %hi;\n"
                     "  .reg .b64 %a;\n  ld.param.u64 %a, [p];\n";
  const char *names[] = {"%x", "%y", "%z"};
  for (int i = 0; i < 3; ++i)
    body += "  ld.global.b" + in + " " + names[i] + ", [%a+" +
            std::to_string(8 * i) + "];\n";
  body +=
      std::string(row.code) + "\n  st.global.b" + out + " [%a+24], %d;\n  ret;";
  Device device(capability);
  CUfunction function =
      device.load(module(capability, ".param .u64 p", body), "k");
  ASSERT_TRUE(function) << row.code;
  CUdeviceptr memory =
      device.put(std::vector<uint64_t>{row.x, row.y, row.z, 0});
  ASSERT_EQ(device.run(function, {1}, {1}, {&memory}), CUDA_SUCCESS)
      << device.error();
  uint64_t got = device.get<uint64_t>(memory, 4)[3];
  char text[64];
  std::snprintf(text, sizeof(text), "%" PRIx64 ", expected %" PRIx64, got,
                row.expected);
  EXPECT_EQ(got, row.expected) << row.code << " gives " << text;
}

TEST(EmulatorInstructions, OfIntegers) {
  for (const Row &row : kIntegers)
    check(row, 80);
}

TEST(EmulatorInstructions, OfPairsOfFloats) {
  // 1 and 2, times 3 and 4, plus 0.5 and -1.
  check({"fma.rn.f32x2 %d, %x, %y, %z;", 64, 64, 0x400000003f800000,
         0x4080000040400000, 0xbf8000003f000000, 0x40e0000040600000},
        100);
  check({"add.rz.f32x2 %d, %x, %y;", 64, 64, 0x3f8000003f800000,
         0x3380000133800001, 0, 0x3f8000003f800000},
        120);
}

TEST(EmulatorInstructions, OfFloats) {
  for (const Row &row : kFloats)
    check(row, 90);
}

// What a body that stores a word of each lane gives.
std::vector<uint32_t> lanes(const std::string &code, int capability = 80) {
  Device device(capability);
  std::string body = R"(
  .reg .pred %p, %q;
  .reg .b32 %d, %lane, %a<4>;
  .reg .b64 %out, %w<4>;
  ld.param.u64 %out, [p];
  mov.u32 %lane, %laneid;
  mul.wide.u32 %w1, %lane, 4;
  add.s64 %w2, %out, %w1;
)" + code + "\n  st.global.u32 [%w2], %d;\n  ret;";
  CUfunction function =
      device.load(module(capability, ".param .u64 p", body), "k");
  CUdeviceptr memory = device.put(std::vector<uint32_t>(32, 0));
  EXPECT_EQ(device.run(function, {1}, {32}, {&memory}), CUDA_SUCCESS)
      << device.error();
  return device.get<uint32_t>(memory, 32);
}

TEST(EmulatorInstructions, ThatMoveBetweenLanes) {
  auto up = lanes("shfl.sync.up.b32 %d|%p, %lane, 3, 0, -1;"
                  "@!%p mov.u32 %d, 99;");
  EXPECT_EQ(up[2], 99u);
  EXPECT_EQ(up[10], 7u);
  // Segments of eight lanes.
  auto down = lanes("shfl.sync.down.b32 %d, %lane, 2, 0x181f, -1;");
  EXPECT_EQ(down[5], 7u);
  EXPECT_EQ(down[6], 6u);
  EXPECT_EQ(lanes("shfl.sync.bfly.b32 %d, %lane, 16, 31, -1;")[3], 19u);
  EXPECT_EQ(lanes("shfl.sync.idx.b32 %d, %lane, 5, 0x181f, -1;")[17], 21u);
  EXPECT_EQ(lanes("setp.lt.u32 %p, %lane, 4;"
                  "vote.sync.ballot.b32 %d, %p, -1;")[9],
            15u);
  EXPECT_EQ(lanes("redux.sync.add.u32 %d, %lane, -1;")[0], 496u);
  EXPECT_EQ(lanes("and.b32 %a1, %lane, 1;"
                  "match.any.sync.b32 %d, %a1, -1;")[3],
            0xaaaaaaaau);
  auto elected = lanes("elect.sync %a1|%p, -1; selp.u32 %d, 7, 8, %p;", 90);
  EXPECT_EQ(elected[0], 7u);
  EXPECT_EQ(elected[1], 8u);
}

TEST(EmulatorInstructions, ThatDivergeAndMeetAgain) {
  // A loop of as many turns as the lane says, then a shuffle of all.
  auto sums = lanes(R"(mov.u32 %d, 0;
  mov.u32 %a1, %lane;
LOOP:
  setp.eq.u32 %p, %a1, 0;
  @%p bra OUT;
  add.u32 %d, %d, %a1;
  sub.u32 %a1, %a1, 1;
  bra LOOP;
OUT:
  shfl.sync.bfly.b32 %d, %d, 1, 31, -1;)");
  EXPECT_EQ(sums[6], 28u);
  EXPECT_EQ(sums[7], 21u);
  // The block behind the branch stands in front of it.
  auto order = lanes(R"(bra START;
JOIN:
  shfl.sync.bfly.b32 %d, %d, 1, 31, -1;
  bra END;
START:
  and.b32 %a1, %lane, 1;
  setp.eq.u32 %p, %a1, 0;
  mov.u32 %d, 5;
  @%p bra JOIN;
  mov.u32 %d, 6;
  bra JOIN;
END:)");
  EXPECT_EQ(order[0], 6u);
  EXPECT_EQ(order[1], 5u);
  auto cases = lanes(R"(and.b32 %a1, %lane, 3;
TABLE: .branchtargets A, B, C, A;
  brx.idx %a1, TABLE;
A: mov.u32 %d, 10; bra END;
B: mov.u32 %d, 20; bra END;
C: mov.u32 %d, 30;
END:)");
  EXPECT_EQ(cases[3], 10u);
  EXPECT_EQ(cases[5], 20u);
  EXPECT_EQ(cases[6], 30u);
}

TEST(EmulatorInstructions, ThatAreAtomic) {
  EXPECT_EQ(lanes("red.global.add.u32 [%out], 1; bar.warp.sync -1;"
                  "ld.global.u32 %d, [%out];")[31],
            32u);
  auto before = lanes("atom.global.inc.u32 %d, [%out+64], 9;");
  EXPECT_EQ(before[0], 0u);
  EXPECT_EQ(before[12], 2u);
  auto maxima = lanes("atom.global.max.s32 %a1, [%out+4], %lane;"
                      "ld.global.u32 %d, [%out+4];");
  EXPECT_EQ(maxima[0], 31u);
  auto halves = lanes("mov.b32 %a2, 0x3c003c00;"
                      "atom.global.add.noftz.f16x2 %d, [%out+8], %a2;");
  EXPECT_EQ(halves[4], 0x44004400u);
}

} // namespace
} // namespace emulatortest
