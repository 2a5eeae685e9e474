// SPDX-License-Identifier: Apache-2.0
//
// UlpTable.h: how many units in the last place each function may be off.
#ifndef BACKPLANE_CONFORMANCE_ORACLE_ULPTABLE_H
#define BACKPLANE_CONFORMANCE_ORACLE_ULPTABLE_H

#include "Tensor.h"

namespace backplane::conformance {

/// The limits of one op for f32 and f64. Base is OpenCL's full profile where it
/// defines one.
struct UlpEntry {
  std::string_view op;
  Real base;
  Real strict;
};

inline constexpr UlpEntry ulpTable[] = {
    {"div", 2.5L, 0.5L}, {"sqrt", 3, 0.5L}, {"recip", 2.5L, 1},
    {"rsqrt", 2, 2},     {"exp", 3, 2},     {"exp2", 3, 2},
    {"expm1", 3, 2},     {"log", 3, 2},     {"log2", 3, 2},
    {"log10", 3, 2},     {"log1p", 2, 2},   {"sin", 4, 2},
    {"cos", 4, 2},       {"tan", 5, 3},     {"asin", 4, 3},
    {"acos", 4, 3},      {"atan", 5, 2},    {"atan2", 6, 4},
    {"sinh", 4, 3},      {"cosh", 4, 3},    {"tanh", 5, 2},
    {"asinh", 4, 3},     {"acosh", 4, 3},   {"atanh", 5, 3},
    {"erf", 16, 4},      {"erfc", 16, 4},   {"pow", 16, 4},
    {"sigmoid", 6, 4},
};

/// The limit of an op on a dtype: f16 and bf16 are computed in f32 and rounded
/// once, f8 likewise. 16 for an op that the table lacks.
inline Real ulpsOf(std::string_view op, DType dtype, bool strict) {
  if (bitWidth(dtype) == 8)
    return strict ? 0.5L : 1;
  if (bitWidth(dtype) == 16)
    return strict ? 1 : 2;
  for (const UlpEntry &entry : ulpTable)
    if (entry.op == op)
      return strict ? entry.strict : entry.base;
  return 16;
}

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_ULPTABLE_H
