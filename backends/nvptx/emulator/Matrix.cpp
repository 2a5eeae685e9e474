// SPDX-License-Identifier: Apache-2.0
//
// Matrix.cpp: mma.sync. In every shape a register holds neighbours along k,
// lanes of a group of four follow each other along k, and the eight groups are
// rows of A and columns of B; further registers add 8 rows first, then go on
// along k.
//
// Products are exact; they and C are added in f64 in the order of k and rounded
// once to the type of D. Integers wrap, or saturate with .satfinite.
#include "Matrix.h"
#include "Lanes.h"

#include <algorithm>
#include <charconv>

namespace emulator {
namespace {

// The element `part` of a register of A or B.
double element(Type type, const Warp &warp, const Reg &reg, uint32_t lane,
               uint32_t part) {
  if (type == Type::F64)
    return warp.at<double>(reg)[lane];
  return elementOf(type, warp.at<uint32_t>(reg)[lane] >> (bitsOf(type) * part));
}

struct Fragments {
  double a[16][64], b[64][8];
};

// inst.a: types of D, A, B, C; inst.b: shape; inst.c: .satfinite.
struct Plan {
  Type d, a, b, c;
  Shape shape;
  uint32_t registersD, registersA, registersB;
};

Plan planOf(const Inst &inst) {
  Plan plan{Type(inst.a & 0xff),
            Type(inst.a >> 8 & 0xff),
            Type(inst.a >> 16 & 0xff),
            Type(inst.a >> 24),
            {inst.b & 0xff, inst.b >> 8 & 0xff, inst.b >> 16},
            0,
            0,
            0};
  uint32_t perRegister = plan.a == Type::F64 ? 1 : 32 / bitsOf(plan.a);
  plan.registersA = plan.shape.m * plan.shape.k / 32 / perRegister;
  plan.registersB = plan.shape.n * plan.shape.k / 32 / perRegister;
  plan.registersD = inst.results;
  return plan;
}

void gatherFragments(Warp &warp, const Inst &inst, const Plan &plan,
                     Fragments &f) {
  const uint32_t per = plan.a == Type::F64 ? 1 : 32 / bitsOf(plan.a);
  const bool tall = plan.shape.m == 16;
  const uint32_t firstA = inst.results, firstB = firstA + plan.registersA;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t group = lane >> 2, place = lane & 3;
    for (uint32_t r = 0; r < plan.registersA; ++r) {
      uint32_t row = group + (tall ? 8 * (r & 1) : 0);
      uint32_t k = place * per + (tall ? r >> 1 : r) * 4 * per;
      for (uint32_t j = 0; j < per; ++j)
        f.a[row][k + j] =
            element(plan.a, warp, warp.reg(inst, firstA + r), lane, j);
    }
    for (uint32_t r = 0; r < plan.registersB; ++r) {
      uint32_t k = place * per + r * 4 * per;
      for (uint32_t j = 0; j < per; ++j)
        f.b[k + j][group] =
            element(plan.b, warp, warp.reg(inst, firstB + r), lane, j);
    }
  }
}

// Elements of C or D in a register.
uint32_t perRegister(Type type) { return type == Type::F16 ? 2 : 1; }

// C and D: the element `i` of a lane.
void place(uint32_t lane, uint32_t i, uint32_t &row, uint32_t &column) {
  row = (lane >> 2) + 8 * (i >> 1);
  column = (lane & 3) * 2 + (i & 1);
}

void product(Warp &warp, const Inst &inst) {
  if (!warp.gather(kAll))
    return;
  if (warp.mask != kAll)
    warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, 0,
               "a matrix instruction needs all 32 lanes");
  const Plan plan = planOf(inst);
  Fragments f;
  gatherFragments(warp, inst, plan, f);
  double sum[16][8];
  const uint32_t elements = plan.shape.m * plan.shape.n / kLanes;
  const uint32_t firstC = inst.results + plan.registersA + plan.registersB;
  const uint32_t perC = perRegister(plan.c), perD = perRegister(plan.d);
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t i = 0; i < elements; ++i) {
      uint32_t row = 0, column = 0;
      place(lane, i, row, column);
      sum[row][column] = sumOf(plan.c, warp, warp.reg(inst, firstC + i / perC),
                               lane, i % perC);
    }
  for (uint32_t row = 0; row < plan.shape.m; ++row)
    multiplyRow(sum[row], f.a[row], &f.b[0][0], plan.shape.k,
                plan.d == Type::F64);
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t i = 0; i < elements; ++i) {
      uint32_t row = 0, column = 0;
      place(lane, i, row, column);
      storeSum(plan.d, inst.c, warp, warp.reg(inst, i / perD), lane, i % perD,
               sum[row][column]);
    }
  warp.launch->counters.matrix_multiply_adds +=
      uint64_t(plan.shape.m) * plan.shape.n * plan.shape.k;
}

// Whether the ISA has the shape with these types, and from which device on.
bool known(const Shape &s, Type a, uint32_t &needs) {
  struct Row {
    uint32_t m, k;
    Type type;
    uint32_t needs;
  };
  constexpr Row rows[] = {{16, 8, Type::F16, 75},  {16, 16, Type::F16, 80},
                          {16, 8, Type::BF16, 80}, {16, 16, Type::BF16, 80},
                          {16, 4, Type::TF32, 80}, {16, 8, Type::TF32, 80},
                          {8, 16, Type::S8, 75},   {16, 16, Type::S8, 80},
                          {16, 32, Type::S8, 80},  {8, 4, Type::F64, 80},
                          {16, 4, Type::F64, 90},  {16, 8, Type::F64, 90},
                          {16, 16, Type::F64, 90}, {16, 32, Type::E4M3, 89},
                          {16, 16, Type::E4M3, 89}};
  Type like = a == Type::U8 ? Type::S8 : a == Type::E5M2 ? Type::E4M3 : a;
  for (const Row &row : rows)
    if (row.m == s.m && s.n == 8 && row.k == s.k && row.type == like) {
      needs = row.needs;
      return true;
    }
  return false;
}

bool fit(Type d, Type a, Type b, Type c) {
  auto isByte = [](Type type) { return type == Type::S8 || type == Type::U8; };
  auto isTiny = [](Type type) {
    return type == Type::E4M3 || type == Type::E5M2;
  };
  bool same = a == b || (isByte(a) && isByte(b)) || (isTiny(a) && isTiny(b));
  auto sum = [&](Type type) {
    if (isByte(a) || a == Type::F64)
      return type == (a == Type::F64 ? Type::F64 : Type::S32);
    return type == Type::F32 ||
           (type == Type::F16 && (a == Type::F16 || isTiny(a)));
  };
  return same && sum(d) && sum(c);
}

bool decodeProduct(Decoder &d) {
  if (d.has("sp") || d.has("sp::ordered_metadata") || d.has("block_scale"))
    d.bad("sparse and scaled matrix products are not supported");
  d.ignore({"sync", "aligned"});
  Shape shape{};
  if (!takeShape(d, shape))
    d.bad("expected a shape such as .m16n8k16");
  if (!d.take("row") || !d.take("col"))
    d.bad("A is .row and B is .col");
  d.inst.c = d.take("satfinite");
  d.take("kind::f8f6f4");
  Type td = d.takeType(), ta = d.takeType(), tb = d.takeType(),
       tc = d.takeType();
  uint32_t needs = 0;
  if (!known(shape, ta, needs) || !fit(td, ta, tb, tc))
    d.bad("this shape with these types is not supported");
  d.needs(needs);
  d.inst.a = uint32_t(td) | uint32_t(ta) << 8 | uint32_t(tb) << 16 |
             uint32_t(tc) << 24;
  d.inst.b = shape.m | shape.n << 8 | shape.k << 16;
  Plan plan = planOf(d.inst);
  uint32_t elements = shape.m * shape.n / kLanes;
  Type in = ta == Type::F64 ? Type::F64 : Type::B32;
  auto wide = [](Type type) {
    return type == Type::F64 ? Type::F64 : Type::B32;
  };
  vectorOperand(d, 0, elements / perRegister(td), wide(td), true);
  vectorOperand(d, 1, plan.registersA, in, false);
  vectorOperand(d, 2, plan.registersB, in, false);
  vectorOperand(d, 3, elements / perRegister(tc), wide(tc), false);
  d.inst.flags |= kSink;
  d.finish(product, Class::Matrix);
  return true;
}

} // namespace

uint32_t bitsOf(Type type) {
  return type == Type::TF32 ? 32 : 8 * bytesOf(type);
}

double elementOf(Type type, uint64_t bits) {
  switch (type) {
  case Type::F16:
    return halfToFloat(uint16_t(bits));
  case Type::BF16:
    return bfloatToFloat(uint16_t(bits));
  case Type::TF32:
    // The lower 13 bits of the fraction are ignored.
    return std::bit_cast<float>(uint32_t(bits) & 0xffffe000);
  case Type::F32:
    return std::bit_cast<float>(uint32_t(bits));
  case Type::F64:
    return std::bit_cast<double>(bits);
  case Type::E4M3:
    return valueOf(kE4m3, bits & 0xff);
  case Type::E5M2:
    return valueOf(kE5m2, bits & 0xff);
  case Type::S8:
    return int8_t(bits);
  case Type::S32:
    return int32_t(bits);
  default:
    return uint8_t(bits);
  }
}

double sumOf(Type type, const Warp &warp, const Reg &reg, uint32_t lane,
             uint32_t part) {
  switch (type) {
  case Type::F16:
    return halfToFloat(warp.at<uint16_t>(reg)[lane * 2 + part]);
  case Type::F64:
    return warp.at<double>(reg)[lane];
  case Type::S32:
    return warp.at<int32_t>(reg)[lane];
  default:
    return warp.at<float>(reg)[lane];
  }
}

void storeSum(Type type, bool saturates, Warp &warp, const Reg &reg,
              uint32_t lane, uint32_t part, double value) {
  switch (type) {
  case Type::F16:
    warp.at<uint16_t>(reg)[lane * 2 + part] =
        uint16_t(roundTo(kHalf, value, Rounding::Nearest));
    return;
  case Type::F64:
    warp.at<double>(reg)[lane] = value;
    return;
  case Type::S32:
    if (saturates)
      value = std::clamp(value, -2147483648.0, 2147483647.0);
    warp.at<uint32_t>(reg)[lane] = uint32_t(int64_t(value));
    return;
  default:
    warp.at<float>(reg)[lane] =
        isNan(value) ? std::bit_cast<float>(0x7fffffffu) : float(value);
  }
}

void vectorOperand(Decoder &d, size_t i, uint32_t count, Type type,
                   bool result) {
  const Operand &operand = d.operand(i);
  if (operand.kind != Operand::Vector && count == 1)
    return result ? d.result(operand, type) : d.source(operand, type);
  if (operand.parts.size() != count)
    d.bad("operand " + std::to_string(i) + " has " +
          std::to_string(operand.parts.size()) + " registers, the shape has " +
          std::to_string(count));
  for (const Operand &part : operand.parts)
    result ? d.result(part, type) : d.source(part, type);
}

void multiplyRow(double *sum, const double *a, const double *b, uint32_t k,
                 bool fused) {
  if (fused) {
    for (uint32_t i = 0; i < k; ++i)
      for (uint32_t n = 0; n < 8; ++n)
        sum[n] = std::fma(a[i], b[i * 8 + n], sum[n]);
    return;
  }
  double local[8];
  std::copy_n(sum, 8, local);
  for (uint32_t i = 0; i < k; ++i)
    for (uint32_t n = 0; n < 8; ++n)
      local[n] += a[i] * b[i * 8 + n];
  std::copy_n(local, 8, sum);
}

bool takeShape(Decoder &d, Shape &shape) {
  for (const std::string &text : d.statement.modifiers) {
    uint32_t *parts[] = {&shape.m, &shape.n, &shape.k};
    const char *at = text.data(), *end = at + text.size();
    bool good = true;
    for (int i = 0; i < 3 && good; ++i) {
      good = at < end && *at == "mnk"[i];
      auto [next, error] = std::from_chars(at + good, end, *parts[i]);
      good &= error == std::errc() && *parts[i] <= 256;
      at = next;
    }
    if (good && at == end)
      return d.take(text);
  }
  return false;
}

bool decodeMatrix(Decoder &d) {
  if (d.is("mma"))
    return decodeProduct(d);
  if (d.is("wmma"))
    return decodeWmma(d);
  if (d.is("wgmma"))
    return decodeWgmma(d);
  if (d.is("ldmatrix") || d.is("stmatrix") || d.is("movmatrix"))
    return decodeMatrixMove(d);
  return false;
}

} // namespace emulator
