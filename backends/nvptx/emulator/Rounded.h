// SPDX-License-Identifier: Apache-2.0
//
// Rounded.h: IEEE arithmetic in a stated rounding mode, by that of the
// processor.
#pragma once

#include "Types.h"

namespace emulator {

enum class Arithmetic { Add, Sub, Mul, Fma, Div, Sqrt };

// One operation, correctly rounded; unused operands are ignored.
float rounded(Arithmetic operation, Rounding mode, float a, float b, float c);
double rounded(Arithmetic operation, Rounding mode, double a, double b,
               double c);
float narrowed(Rounding mode, double value);
float floatOf(Rounding mode, int64_t value);
float floatOf(Rounding mode, uint64_t value);
double doubleOf(Rounding mode, int64_t value);
double doubleOf(Rounding mode, uint64_t value);

} // namespace emulator
