// SPDX-License-Identifier: Apache-2.0
//
// OnnxInteger.h: what the contractions of 8-bit integers share.
#ifndef BACKPLANE_IMPORT_ONNXINTEGER_H
#define BACKPLANE_IMPORT_ONNXINTEGER_H

#include "Node.h"

namespace backplane::frontend {

/// A zero point with rank 0, or with rank 1 and this size; 0 when the input is
/// left out.
ValueId zeroPoint(Node &node, size_t input, DType type, const Dim &size);

/// Where the scales of a quantised contraction stand among the inputs, and the
/// axes of the result that scales of rank 1 go along.
struct Scales {
  size_t a, b, result, resultZero;
  int64_t aAxis, bAxis;
};

/// An i32 sum as the quantised result: times the scales of the operands, over
/// that of the result, rounded to even, plus its zero point, saturated.
ValueId requantise(Node &node, ValueId sum, const Scales &scales);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_ONNXINTEGER_H
