// SPDX-License-Identifier: Apache-2.0
//
// Matrix.h: the parts of the family of matrix instructions.
#pragma once

#include "Decoder.h"

namespace emulator {

// sum[0..8) += a[0..k) * b[0..k)[0..8), in the order of k.
void multiplyRow(double *sum, const double *a, const double *b, uint32_t k,
                 bool fused);

// Bits of an element in memory or in a register.
uint32_t bitsOf(Type type);
// The value of an element of a matrix; its bits are the lowest, others are
// ignored.
double elementOf(Type type, uint64_t bits);
// Of the element `part` of a register of sums. Integers wrap, unless a store
// `saturates`.
double sumOf(Type type, const Warp &warp, const Reg &reg, uint32_t lane,
             uint32_t part);
void storeSum(Type type, bool saturates, Warp &warp, const Reg &reg,
              uint32_t lane, uint32_t part, double value);
// `count` registers in braces; one may stand alone.
void vectorOperand(Decoder &d, size_t i, uint32_t count, Type type,
                   bool result);

struct Shape {
  uint32_t m, n, k;
};
// Takes the first modifier that is a shape, such as m16n8k16; false without
// one.
bool takeShape(Decoder &d, Shape &shape);

// Whether all 32 lanes are here, as the instructions need, and a fault where
// some never come; otherwise the handler must return.
bool allLanes(Warp &warp);

// wmma.load, wmma.mma, wmma.store.
bool decodeWmma(Decoder &d);
// wgmma.mma_async and what it is waited for with.
bool decodeWgmma(Decoder &d);
// ldmatrix, stmatrix, movmatrix.
bool decodeMatrixMove(Decoder &d);

} // namespace emulator
