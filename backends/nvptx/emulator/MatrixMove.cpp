// SPDX-License-Identifier: Apache-2.0
//
// MatrixMove.cpp: ldmatrix, stmatrix and movmatrix: 8 x 8 matrices of 16 bits.
// Lane i of the first eight gives the address of row i of the first matrix, and
// so on. In registers, row r and columns 2c, 2c + 1 are in lane 4r + c.
#include "Access.h"
#include "Matrix.h"

namespace emulator {

bool allLanes(Warp &warp) {
  if (!warp.gather(kAll))
    return false;
  if (warp.mask != kAll)
    warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, 0,
               "a matrix instruction needs all 32 lanes");
  return true;
}

namespace {

// The 32 bits of a lane, of a matrix of 8 rows of 8 halves.
uint32_t pick(const uint16_t (*rows)[8], uint32_t lane, bool transposed) {
  uint32_t row = lane >> 2, column = (lane & 3) * 2;
  uint16_t low = transposed ? rows[column][row] : rows[row][column];
  uint16_t high = transposed ? rows[column + 1][row] : rows[row][column + 1];
  return low | uint32_t(high) << 16;
}

// The access of the lanes that give addresses of `count` matrices.
Access accessRows(Warp &warp, const Inst &inst, uint32_t operand,
                  uint32_t count, Use use) {
  warp.mask = count == 4 ? kAll : (1u << (8 * count)) - 1;
  Access access(warp, inst, operand, 16, use);
  warp.mask = kAll;
  return access;
}

void loadMatrix(Warp &warp, const Inst &inst) {
  if (!allLanes(warp))
    return;
  const uint32_t count = inst.results;
  Access access = accessRows(warp, inst, count, count, Use::Read);
  for (uint32_t m = 0; m < count; ++m) {
    uint16_t rows[8][8];
    for (uint32_t row = 0; row < 8; ++row)
      std::memcpy(rows[row], access.pointer[8 * m + row], 16);
    uint32_t *to = warp.values<uint32_t>(inst, m);
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      to[lane] = pick(rows, lane, inst.a);
  }
}

void storeMatrix(Warp &warp, const Inst &inst) {
  if (!allLanes(warp))
    return;
  const uint32_t count = inst.sources - 1u;
  Access access = accessRows(warp, inst, 0, count, Use::Write);
  for (uint32_t m = 0; m < count; ++m) {
    const uint32_t *from = warp.values<uint32_t>(inst, 1 + m);
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t k = 0; k < 2; ++k) {
        auto value = uint16_t(from[lane] >> (16 * k));
        uint32_t row = lane >> 2, column = (lane & 3) * 2 + k;
        if (inst.a)
          std::swap(row, column);
        std::memcpy(access.pointer[8 * m + row] + size_t(column) * 2, &value,
                    2);
      }
  }
}

void transpose(Warp &warp, const Inst &inst) {
  if (!allLanes(warp))
    return;
  const uint32_t *from = warp.values<uint32_t>(inst, 1);
  uint16_t rows[8][8];
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    std::memcpy(&rows[lane >> 2][(lane & 3) * 2], &from[lane], 4);
  uint32_t *to = warp.values<uint32_t>(inst, 0);
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    to[lane] = pick(rows, lane, true);
}

} // namespace

bool decodeMatrixMove(Decoder &d) {
  d.ignore({"sync", "aligned"});
  if (!d.take("m8n8"))
    d.bad("expected .m8n8");
  uint32_t count = d.take("x4") ? 4 : d.take("x2") ? 2 : (d.take("x1"), 1);
  d.inst.a = d.take("trans");
  d.inst.flags |= kSink;
  if (d.is("movmatrix")) {
    d.take("b16");
    d.result(d.operand(0), Type::B32);
    d.source(d.operand(1), Type::B32);
    d.finish(transpose, Class::Matrix);
    return true;
  }
  bool loads = d.is("ldmatrix");
  if (!loads)
    d.needs(90);
  Space space = d.takeSpace(Space::Generic);
  if (!d.take("b16"))
    d.bad("only elements of .b16 are supported");
  const Operand &registers = d.operand(loads ? 0 : 1);
  if (registers.kind == Operand::Vector ? registers.parts.size() != count
                                        : count != 1)
    d.bad("expected a vector of " + std::to_string(count));
  if (!loads)
    d.address(d.operand(0), space);
  auto one = [&](const Operand &operand) {
    loads ? d.result(operand, Type::B32) : d.source(operand, Type::B32);
  };
  if (registers.kind == Operand::Vector)
    for (const Operand &part : registers.parts)
      one(part);
  else
    one(registers);
  if (loads)
    d.address(d.operand(1), space);
  d.inst.bytes = 16;
  d.finish(loads ? loadMatrix : storeMatrix, Class::Memory);
  return true;
}

} // namespace emulator
