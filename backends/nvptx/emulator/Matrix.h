// SPDX-License-Identifier: Apache-2.0
//
// Matrix.h: the parts of the family of matrix instructions.
#pragma once

#include "Decoder.h"

namespace emulator {

// sum[0..8) += a[0..k) * b[0..k)[0..8), in the order of k.
void multiplyRow(double *sum, const double *a, const double *b, uint32_t k,
                 bool fused);

struct Shape {
  uint32_t m, n, k;
};
// Takes the first modifier that is a shape, such as m16n8k16; false without
// one.
bool takeShape(Decoder &d, Shape &shape);

// wmma.load, wmma.mma, wmma.store.
bool decodeWmma(Decoder &d);
// ldmatrix, stmatrix, movmatrix.
bool decodeMatrixMove(Decoder &d);

} // namespace emulator
