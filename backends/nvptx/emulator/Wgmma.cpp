// SPDX-License-Identifier: Apache-2.0
//
// Wgmma.cpp: products of four warps, whose factors are in shared memory where
// descriptors say, A also in registers. Each warp makes its 16 rows at once;
// the registers of the sums have no value until the warp has waited for the
// group, and what was read must be the same then.
#include "Access.h"
#include "Lanes.h"
#include "Matrix.h"

#include <algorithm>

namespace emulator {
namespace {

constexpr uint32_t kRows = 16; // of a warp
constexpr uint32_t kRegistersOfA = 4;
constexpr uint32_t kMaxColumns = 256, kMaxDepth = 32, kDepthBytes = 32;

enum Flag : uint32_t {
  kRegistersA = 1, // A is in registers
  kAcrossA = 2,    // neighbours in memory are rows of A, not along k
  kAcrossB = 4,    // or columns of B
  kNegateA = 8,
  kNegateB = 16,
  kSaturate = 32,
};

// inst.a: types of D, A and B; inst.b: columns; inst.c: flags.
struct Plan {
  Type d, a, b;
  uint32_t columns, depth, flags;
  explicit Plan(const Inst &inst)
      : d(Type(inst.a & 0xff)), a(Type(inst.a >> 8 & 0xff)),
        b(Type(inst.a >> 16)), columns(inst.b),
        depth(kDepthBytes * 8 / bitsOf(a)), flags(inst.c) {}
  bool has(Flag flag) const { return flags & flag; }
};

struct Factors {
  double a[kRows][kMaxDepth];
  double b[kMaxColumns / 8][kMaxDepth][8];
};

// Where a factor is in shared memory.
struct Descriptor {
  uint32_t start, leading, stride;
  uint32_t swizzle; // bytes that are permuted among each other, or 0

  // Of 16 bytes. A line is a row of A or a column of B, and what lies side by
  // side goes along k; or `across` a line is an index of k.
  uint32_t address(bool across, uint32_t line, uint32_t chunk) const {
    const uint32_t inner = line % 8, outer = line / 8;
    if (!swizzle)
      return start + inner * 16 + (across ? outer : chunk) * leading +
             (across ? chunk : outer) * stride;
    const uint32_t chunks = across ? swizzle / 16 : 2;
    uint32_t at = start + inner * swizzle + outer * stride +
                  chunk % chunks * 16 + chunk / chunks * leading;
    return uint32_t(swizzled(at, swizzle));
  }
};

Descriptor descriptorOf(const Warp &warp, uint64_t bits) {
  constexpr uint32_t sizes[] = {0, 128, 64, 32};
  // Fields that are not named must be zero, and so must the base offset.
  constexpr uint64_t known = 0xc0003fff3fff3fff;
  if (bits & ~known)
    warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, 0,
               "a descriptor of shared memory has a base offset or reserved "
               "bits, which the emulator does not know");
  auto field = [&](int from) { return uint32_t(bits >> from & 0x3fff) << 4; };
  return {field(0), field(16), field(32), sizes[bits >> 62]};
}

// Reads 16 bytes and keeps in mind that it did.
void readChunk(Warp &warp, uint32_t at, uint8_t *to) {
  SharedMemory &memory = warp.block->shared;
  if (at + 16 > memory.data.size())
    warp.fault(CUDA_ERROR_ILLEGAL_ADDRESS, 0,
               "a factor reads 16 bytes at " + std::to_string(at) +
                   ", the block has " + std::to_string(memory.data.size()) +
                   " bytes of shared memory");
  if (const char *text = memory.readAsync(at, 16, warp.index))
    warp.fault(CUDA_ERROR_LAUNCH_FAILED, 0,
               "a factor reads 16 bytes at " + std::to_string(at) + ": " +
                   text);
  std::memcpy(to, memory.data.data() + at, 16);
  warp.openProducts.reads.push_back({at, 16});
  warp.launch->counters.shared_load_bytes += 16;
}

// Gives `sink` the line, index along k and value of all elements of `lines`
// lines from `first` on.
template <class Sink>
void readOperand(Warp &warp, const Descriptor &where, Type type, bool across,
                 uint32_t first, uint32_t lines, uint32_t depth, Sink sink) {
  const uint32_t bytes = bitsOf(type) / 8, each = 16 / bytes;
  const uint32_t outer = across ? depth : lines;
  const uint32_t chunks = (across ? lines : depth) / each;
  for (uint32_t i = 0; i < outer; ++i)
    for (uint32_t c = 0; c < chunks; ++c) {
      uint8_t data[16];
      uint32_t line = across ? i : first + i;
      uint32_t chunk = across ? first / each + c : c;
      readChunk(warp, where.address(across, line, chunk), data);
      for (uint32_t e = 0; e < each; ++e) {
        uint32_t bits = 0, inner = c * each + e;
        std::memcpy(&bits, data + size_t(e) * bytes, bytes);
        double value = elementOf(type, bits);
        across ? sink(inner, i, value) : sink(i, inner, value);
      }
    }
}

// A of registers lies as in mma.sync.
void readRegisters(const Warp &warp, const Inst &inst, const Plan &plan,
                   double sign, Factors &f) {
  const uint32_t bits = bitsOf(plan.a), per = 32 / bits;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t r = 0; r < kRegistersOfA; ++r) {
      uint32_t word = warp.values<uint32_t>(inst, inst.results + r)[lane];
      for (uint32_t j = 0; j < per; ++j)
        f.a[(lane >> 2) + 8 * (r & 1)]
           [(lane & 3) * per + (r >> 1) * 4 * per + j] =
            sign * elementOf(plan.a, word >> (bits * j));
    }
}

void readOperands(Warp &warp, const Inst &inst, const Plan &plan, Factors &f) {
  const bool registers = plan.has(kRegistersA);
  const uint32_t source = inst.results + (registers ? kRegistersOfA : 1);
  auto descriptor = [&](uint32_t i) {
    return descriptorOf(warp, warp.values<uint64_t>(inst, i)[0]);
  };
  const double signA = plan.has(kNegateA) ? -1 : 1;
  const double signB = plan.has(kNegateB) ? -1 : 1;
  if (registers)
    readRegisters(warp, inst, plan, signA, f);
  else
    readOperand(warp, descriptor(inst.results), plan.a, plan.has(kAcrossA),
                warp.index % 4 * kRows, kRows, plan.depth,
                [&](uint32_t row, uint32_t k, double value) {
                  f.a[row][k] = signA * value;
                });
  readOperand(warp, descriptor(source), plan.b, plan.has(kAcrossB), 0,
              plan.columns, plan.depth,
              [&](uint32_t column, uint32_t k, double value) {
                f.b[column / 8][k][column % 8] = signB * value;
              });
}

// Until somebody waits the sums have no value.
void keepPending(Warp &warp, const Inst &inst, const Plan &plan) {
  auto add = [](std::vector<uint32_t> &list, uint32_t id) {
    if (std::find(list.begin(), list.end(), id) == list.end())
      list.push_back(id);
  };
  Warp::Products &open = warp.openProducts;
  for (uint32_t i = 0; i < inst.results; ++i) {
    uint32_t id = warp.reg(inst, i).id;
    warp.poison[id] = kAll;
    add(open.sums, id);
  }
  for (uint32_t i = 0; plan.has(kRegistersA) && i < kRegistersOfA; ++i)
    add(open.factors, warp.reg(inst, inst.results + i).id);
}

// Sums and factors in registers are ordered by fences against other
// instructions.
void checkFence(const Warp &warp, const Inst &inst, const Plan &plan) {
  const uint32_t count =
      inst.results + (plan.has(kRegistersA) ? kRegistersOfA : 0);
  bool good = warp.fenced;
  for (uint32_t i = 0; i < count; ++i)
    good &= !warp.touched[warp.reg(inst, i).id];
  if (!good)
    warp.fault(CUDA_ERROR_LAUNCH_FAILED, 0,
               "no wgmma.fence stands between wgmma.mma_async and the start of "
               "the kernel or another use of its registers");
}

void checkSources(const Warp &warp, const Inst &inst, bool adds) {
  if (!warp.launch->options.poison)
    return;
  for (uint32_t i = 0; i < uint32_t(inst.results) + inst.sources; ++i) {
    const Reg &reg = warp.reg(inst, i);
    bool isSum = i < inst.results;
    if (!warp.poison[reg.id] || (isSum && (!adds || warp.makesLater(reg.id))))
      continue;
    warp.fault(CUDA_ERROR_LAUNCH_FAILED,
               uint32_t(std::countr_zero(warp.poison[reg.id])),
               "the value of a register that was never written is used");
  }
}

void checkLanes(const Warp &warp) {
  if (warp.mask != kAll)
    warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, 0,
               "a matrix instruction needs all 32 lanes");
  if (warp.index / 4 * 4 + 4 > warp.block->warps.size())
    warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, 0,
               "wgmma needs four whole warps, the first of which is a multiple "
               "of four");
}

void multiply(Warp &warp, const Inst &inst) {
  if (!warp.gather(kAll))
    return;
  checkLanes(warp);
  const Plan plan(inst);
  checkFence(warp, inst, plan);
  const bool adds =
      warp.predicate(inst, uint32_t(inst.results) + inst.sources - 1) & 1;
  checkSources(warp, inst, adds);
  Factors f;
  readOperands(warp, inst, plan, f);
  const uint32_t per = plan.d == Type::F16 ? 2 : 1;
  for (uint32_t block = 0; block < plan.columns / 8; ++block) {
    double sum[kRows][8] = {};
    auto each = [&](auto visit) {
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        for (uint32_t i = 0; i < 4; ++i)
          visit(warp.reg(inst, (block * 4 + i) / per), lane, i % per,
                sum[(lane >> 2) + 8 * (i >> 1)][(lane & 3) * 2 + (i & 1)]);
    };
    if (adds)
      each([&](const Reg &reg, uint32_t lane, uint32_t part, double &value) {
        value = sumOf(plan.d, warp, reg, lane, part);
      });
    for (uint32_t row = 0; row < kRows; ++row)
      multiplyRow(sum[row], f.a[row], &f.b[block][0][0], plan.depth, false);
    each([&](const Reg &reg, uint32_t lane, uint32_t part, double &value) {
      storeSum(plan.d, plan.has(kSaturate), warp, reg, lane, part, value);
    });
  }
  keepPending(warp, inst, plan);
  warp.launch->counters.matrix_multiply_adds +=
      uint64_t(kRows) * plan.columns * plan.depth;
}

void fence(Warp &warp, const Inst &) {
  if (!warp.gather(kAll))
    return;
  warp.fenced = true;
  std::fill(warp.touched.begin(), warp.touched.end(), uint8_t(0));
}

void commitGroup(Warp &warp, const Inst &) {
  if (!warp.gather(kAll))
    return;
  warp.productGroups.push_back(std::move(warp.openProducts));
  warp.openProducts = {};
}

// What a product reads must not change before somebody waits for it.
void checkReads(const Warp &warp, const Warp::Products &group) {
  for (const Warp::Copy &read : group.reads)
    if (const char *text =
            warp.block->shared.read(read.shared, read.bytes, warp.index))
      warp.fault(CUDA_ERROR_LAUNCH_FAILED, 0,
                 "a factor of a product that was not waited for changes at " +
                     std::to_string(read.shared) + ": " + text);
}

// Waits until at most inst.a of the last groups are under way.
void waitGroup(Warp &warp, const Inst &inst) {
  if (!warp.gather(kAll))
    return;
  auto &groups = warp.productGroups;
  size_t count = groups.size() > inst.a ? groups.size() - inst.a : 0;
  std::vector<Warp::Products> done(
      std::make_move_iterator(groups.begin()),
      std::make_move_iterator(groups.begin() + ptrdiff_t(count)));
  groups.erase(groups.begin(), groups.begin() + ptrdiff_t(count));
  for (const Warp::Products &group : done) {
    checkReads(warp, group);
    for (uint32_t id : group.sums)
      if (!warp.makesLater(id))
        warp.poison[id] = 0;
  }
}

// The types of factors with the sums that they may have.
bool fit(Type d, Type a, Type b) {
  switch (a) {
  case Type::F16:
    return a == b && (d == Type::F16 || d == Type::F32);
  case Type::BF16:
  case Type::TF32:
    return a == b && d == Type::F32;
  case Type::E4M3:
  case Type::E5M2:
    return (b == Type::E4M3 || b == Type::E5M2) &&
           (d == Type::F16 || d == Type::F32);
  case Type::S8:
  case Type::U8:
    return (b == Type::S8 || b == Type::U8) && d == Type::S32;
  default:
    return false;
  }
}

void takeSign(Decoder &d, size_t i, Flag negates) {
  uint64_t value = d.immediate(d.operand(i));
  if (value != 1 && value != uint64_t(-1))
    d.bad("a factor is scaled by 1 or -1");
  d.inst.c |= value == 1 ? 0 : uint32_t(negates);
}

void takeOrder(Decoder &d, size_t i, Flag across) {
  d.inst.c |= d.immediate(d.operand(i)) ? uint32_t(across) : 0;
}

void takeTypes(Decoder &d) {
  Shape shape{};
  if (!takeShape(d, shape))
    d.bad("expected a shape such as .m64n128k16");
  Type td = d.takeType(), ta = d.takeType(), tb = d.takeType();
  if (!fit(td, ta, tb))
    d.bad("wgmma does not have these types");
  bool bytes = ta == Type::S8 || ta == Type::U8;
  bool known = shape.n % 8 == 0 && shape.n >= 8 && shape.n <= kMaxColumns &&
               (!bytes || shape.n <= 24 || shape.n % 16 == 0);
  if (shape.m != 64 || shape.k != kDepthBytes * 8 / bitsOf(ta) || !known)
    d.bad("wgmma does not have this shape with these types");
  d.inst.a = uint32_t(td) | uint32_t(ta) << 8 | uint32_t(tb) << 16;
  d.inst.b = shape.n;
}

bool decodeMultiply(Decoder &d) {
  if (d.has("sp"))
    d.bad("sparse matrix products are not supported");
  takeTypes(d);
  d.inst.c = d.take("satfinite") ? uint32_t(kSaturate) : 0;
  const Plan plan(d.inst);
  const bool registers = d.operand(1).kind == Operand::Vector;
  d.inst.c |= registers ? uint32_t(kRegistersA) : 0;
  vectorOperand(d, 0, plan.columns / (plan.d == Type::F16 ? 4 : 2), Type::B32,
                true);
  if (registers)
    vectorOperand(d, 1, kRegistersOfA, Type::B32, false);
  else
    d.source(d.operand(1), Type::B64);
  d.source(d.operand(2), Type::B64);
  d.source(d.operand(3), Type::Pred);
  if (plan.d != Type::S32) {
    takeSign(d, 4, kNegateA);
    takeSign(d, 5, kNegateB);
  }
  if (bitsOf(plan.a) == 16) {
    size_t at = 6;
    if (!registers)
      takeOrder(d, at++, kAcrossA);
    takeOrder(d, at, kAcrossB);
  }
  d.inst.flags |= kOwnPoison | kProduct | kReadsAsync;
  d.finish(multiply, Class::Matrix);
  return true;
}

} // namespace

bool decodeWgmma(Decoder &d) {
  d.needs(90);
  d.ignore({"sync", "aligned"});
  if (d.take("mma_async"))
    return decodeMultiply(d);
  if (d.take("fence")) {
    d.finish(fence, Class::Control);
    return true;
  }
  if (d.take("commit_group")) {
    d.finish(commitGroup, Class::Control);
    return true;
  }
  if (d.take("wait_group")) {
    d.inst.a = uint32_t(d.immediate(d.operand(0)));
    d.finish(waitGroup, Class::Control);
    return true;
  }
  d.bad("expected .mma_async, .fence, .commit_group or .wait_group");
}

} // namespace emulator
