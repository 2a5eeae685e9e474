// SPDX-License-Identifier: Apache-2.0
//
// Wmma.cpp: wmma.load, wmma.mma and wmma.store. The ISA leaves open which lane
// has which element of a fragment. Here the slots of all lanes, one after
// another, have the elements in the order of rows; where there are more slots
// than elements, they come again.
#include "Access.h"
#include "Lanes.h"
#include "Matrix.h"

namespace emulator {
namespace {

struct Part {
  uint32_t rows, columns;
  uint32_t registers; // of a lane
  Type type;
  uint32_t perRegister() const {
    uint32_t bytes = bytesOf(type);
    return bytes && bytes < 4 ? 4 / bytes : 1;
  }
  uint32_t slots() const { return registers * perRegister(); }
};

// 'a', 'b' or 'c'. Throws for shapes and types that the ISA lacks.
Part partOf(Decoder &d, char which, const Shape &s, Type type) {
  bool sixteen =
      s.k == 16 && s.m * s.n == 256 && (s.m == 16 || s.m == 32 || s.m == 8);
  bool isTf32 = s.m == 16 && s.n == 16 && s.k == 8;
  bool isDouble = s.m == 8 && s.n == 8 && s.k == 4;
  Part part{which == 'b' ? s.k : s.m, which == 'a' ? s.k : s.n, 0, type};
  uint32_t elements = part.rows * part.columns;
  bool good = false;
  if (which == 'c') {
    good = isDouble ? type == Type::F64
           : isTf32 ? type == Type::F32
           : sixteen
               ? type == Type::F32 || type == Type::F16 || type == Type::S32
               : false;
    part.registers = elements / kLanes / part.perRegister();
  } else if (type == Type::F16) {
    good = sixteen;
    // 8 registers in every shape.
    part.registers = 8;
  } else {
    good = (sixteen &&
            (type == Type::BF16 || type == Type::S8 || type == Type::U8)) ||
           (isTf32 && type == Type::TF32) || (isDouble && type == Type::F64);
    part.registers = std::max(1u, elements / kLanes / part.perRegister());
  }
  if (!good)
    d.bad("wmma does not have this shape with this type");
  return part;
}

uint64_t readSlot(const Warp &warp, const Inst &inst, uint32_t first,
                  const Part &part, uint32_t lane, uint32_t slot) {
  const Reg &reg = warp.reg(inst, first + slot / part.perRegister());
  uint32_t bytes = bytesOf(part.type);
  uint64_t bits = 0;
  std::memcpy(&bits,
              warp.at<uint8_t>(reg) + size_t(lane) * reg.width +
                  size_t(slot % part.perRegister()) * bytes,
              bytes);
  return bits;
}

void writeSlot(Warp &warp, const Inst &inst, uint32_t first, const Part &part,
               uint32_t lane, uint32_t slot, uint64_t bits) {
  const Reg &reg = warp.reg(inst, first + slot / part.perRegister());
  uint32_t bytes = bytesOf(part.type);
  std::memcpy(warp.at<uint8_t>(reg) + size_t(lane) * reg.width +
                  size_t(slot % part.perRegister()) * bytes,
              &bits, bytes);
}

uint64_t bitsOfValue(Type type, double value, bool saturates) {
  switch (type) {
  case Type::F16:
    return roundTo(kHalf, value, Rounding::Nearest);
  case Type::F32:
    return isNan(value) ? 0x7fffffff : std::bit_cast<uint32_t>(float(value));
  case Type::F64:
    return std::bit_cast<uint64_t>(value);
  default:
    if (saturates)
      value = std::min(std::max(value, -2147483648.0), 2147483647.0);
    return uint32_t(int64_t(value));
  }
}

uint32_t pack(const Part &part) {
  return part.rows | part.columns << 8 | part.registers << 16 |
         uint32_t(part.type) << 24;
}
Part unpack(uint32_t bits) {
  return {bits & 0xff, bits >> 8 & 0xff, bits >> 16 & 0xff, Type(bits >> 24)};
}

// inst.a: the part; inst.b: 1 for columns one after another. Memory operands
// are the address and the stride, `first` is the first register of the
// fragment.
template <bool Loads> void move(Warp &warp, const Inst &inst) {
  if (!allLanes(warp))
    return;
  const Part part = unpack(inst.a);
  const uint32_t registers = part.registers;
  const uint32_t addressAt = Loads ? inst.results : 0;
  const uint32_t first = Loads ? 0 : 2;
  const uint32_t bytes = bytesOf(part.type);
  const uint32_t elements = part.rows * part.columns;
  const Reg &base = warp.reg(inst, addressAt);
  const uint32_t *stride = warp.values<uint32_t>(inst, addressAt + 1);
  for (uint32_t slot = 0; slot < registers * part.perRegister(); ++slot) {
    uint64_t addresses[kLanes];
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      uint32_t element = (lane * part.slots() + slot) % elements;
      uint32_t row = element / part.columns, column = element % part.columns;
      uint64_t at = inst.b ? uint64_t(column) * stride[lane] + row
                           : uint64_t(row) * stride[lane] + column;
      uint64_t from = base.width == 8 ? warp.at<uint64_t>(base)[lane]
                                      : warp.at<uint32_t>(base)[lane];
      addresses[lane] = from + uint64_t(inst.offset) + at * bytes;
    }
    Access access(warp, inst.space, addresses, bytes,
                  Loads ? Use::Read : Use::Write);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      uint64_t bits = 0;
      if constexpr (Loads) {
        std::memcpy(&bits, access.pointer[lane], bytes);
        writeSlot(warp, inst, first, part, lane, slot, bits);
      } else {
        bits = readSlot(warp, inst, first, part, lane, slot);
        std::memcpy(access.pointer[lane], &bits, bytes);
      }
    }
  }
}

struct Whole {
  double values[32][32];
};

void collect(const Warp &warp, const Inst &inst, uint32_t first,
             const Part &part, Whole &whole) {
  const uint32_t elements = part.rows * part.columns;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t slot = 0; slot < part.slots(); ++slot) {
      uint32_t element = (lane * part.slots() + slot) % elements;
      whole.values[element / part.columns][element % part.columns] =
          elementOf(part.type, readSlot(warp, inst, first, part, lane, slot));
    }
}

// inst.a, b, c: A, B, C; offset: the type of D, and .satfinite.
void product(Warp &warp, const Inst &inst) {
  if (!allLanes(warp))
    return;
  const Part a = unpack(inst.a), b = unpack(inst.b), c = unpack(inst.c);
  const Part d = {c.rows, c.columns, inst.results, Type(inst.offset & 0xff)};
  auto left = std::make_unique<Whole>(), right = std::make_unique<Whole>(),
       sum = std::make_unique<Whole>();
  uint32_t first = inst.results;
  collect(warp, inst, first, a, *left);
  collect(warp, inst, first + a.registers, b, *right);
  collect(warp, inst, first + a.registers + b.registers, c, *sum);
  for (uint32_t row = 0; row < c.rows; ++row)
    for (uint32_t k = 0; k < a.columns; ++k)
      for (uint32_t column = 0; column < c.columns; ++column) {
        double &to = sum->values[row][column];
        double x = left->values[row][k], y = right->values[k][column];
        to = d.type == Type::F64 ? std::fma(x, y, to) : to + x * y;
      }
  const uint32_t elements = c.rows * c.columns;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t slot = 0; slot < d.slots(); ++slot) {
      uint32_t element = (lane * d.slots() + slot) % elements;
      double value = sum->values[element / c.columns][element % c.columns];
      writeSlot(warp, inst, 0, d, lane, slot,
                bitsOfValue(d.type, value, inst.offset & 0x100));
    }
  warp.launch->counters.matrix_multiply_adds +=
      uint64_t(c.rows) * c.columns * a.columns;
}

void fragment(Decoder &d, const Operand &operand, const Part &part,
              bool result) {
  Type type = part.type == Type::F64 ? Type::F64 : Type::B32;
  if (operand.kind != Operand::Vector ? part.registers != 1
                                      : operand.parts.size() != part.registers)
    d.bad("expected a fragment of " + std::to_string(part.registers) +
          " registers");
  auto one = [&](const Operand &o) {
    result ? d.result(o, type) : d.source(o, type);
  };
  if (operand.kind == Operand::Vector)
    for (const Operand &o : operand.parts)
      one(o);
  else
    one(operand);
}

void decodeMove(Decoder &d, bool loads, const Shape &shape) {
  char which = d.take("a") ? 'a' : d.take("b") ? 'b' : 'c';
  if (which == 'c' && !d.take("c") && !d.take("d"))
    d.bad("expected .a, .b, .c or .d");
  d.inst.b = d.take("col");
  d.take("row");
  Space space = d.takeSpace(Space::Generic);
  Part part = partOf(d, which, shape, d.takeType());
  if (loads)
    fragment(d, d.operand(0), part, true);
  d.address(d.operand(loads ? 1 : 0), space);
  Decoder &last = d;
  if (last.count() > 2)
    d.source(d.operand(2), Type::U32);
  else
    d.sourceReg(d.builder.constant(d.inst.b ? part.rows : part.columns, 4));
  if (!loads)
    fragment(d, d.operand(1), part, false);
  d.inst.a = pack(part);
  d.inst.bytes = uint8_t(bytesOf(part.type));
  d.finish(loads ? move<true> : move<false>, Class::Memory);
}

void decodeProduct(Decoder &d, const Shape &shape) {
  // The layouts were those of the loads.
  d.ignore({"row", "row", "col", "col"});
  bool saturates = d.take("satfinite");
  Type first = d.takeType(), second = d.takeType();
  Type ta = Type::F16, tb = Type::F16, td = first, tc = second;
  if (Type third = d.takeType(); third != Type::None) {
    ta = second, tb = third;
    tc = d.takeType();
  }
  Part a = partOf(d, 'a', shape, ta), b = partOf(d, 'b', shape, tb),
       c = partOf(d, 'c', shape, tc), to = partOf(d, 'c', shape, td);
  fragment(d, d.operand(0), to, true);
  fragment(d, d.operand(1), a, false);
  fragment(d, d.operand(2), b, false);
  fragment(d, d.operand(3), c, false);
  d.inst.a = pack(a);
  d.inst.b = pack(b);
  d.inst.c = pack(c);
  d.inst.offset = int64_t(td) | (saturates ? 0x100 : 0);
  d.finish(product, Class::Matrix);
}

} // namespace

bool decodeWmma(Decoder &d) {
  bool loads = d.take("load"), stores = d.take("store");
  if (!loads && !stores && !d.take("mma"))
    d.bad("expected .load, .mma or .store");
  d.ignore({"sync", "aligned"});
  Shape shape{};
  if (!takeShape(d, shape))
    d.bad("expected a shape such as .m16n16k16");
  d.inst.flags |= kSink;
  if (loads || stores)
    decodeMove(d, loads, shape);
  else
    decodeProduct(d, shape);
  return true;
}

} // namespace emulator
