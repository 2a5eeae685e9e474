// SPDX-License-Identifier: Apache-2.0
//
// Rounded.h: IEEE arithmetic in a stated rounding mode, by that of the
// processor.
#pragma once

#include "Types.h"

namespace emulator {

enum class Arithmetic { Add, Sub, Mul, Fma, Div, Sqrt };

// One operation of each of 32 lanes that `mask` has, correctly rounded. Unused
// operands are ignored; results may be operands.
void rounded(Arithmetic operation, Rounding mode, uint32_t mask, float *to,
             const float *a, const float *b, const float *c);
void rounded(Arithmetic operation, Rounding mode, uint32_t mask, double *to,
             const double *a, const double *b, const double *c);
float narrowed(Rounding mode, double value);
float floatOf(Rounding mode, int64_t value);
float floatOf(Rounding mode, uint64_t value);
double doubleOf(Rounding mode, int64_t value);
double doubleOf(Rounding mode, uint64_t value);

} // namespace emulator
