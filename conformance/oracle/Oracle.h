// SPDX-License-Identifier: Apache-2.0
//
// Oracle.h: what a graph must give, worked out independently of the compiler
// and of every backend, with a bound on the error that a right implementation
// may make.
//
// Each op is written once as a template over MidRad (MidRad.h). The bound of
// an element counts the rounding of every step in the declared precision and
// what the operands' own errors become (docs/explanation/conformance.md).
#ifndef BACKPLANE_CONFORMANCE_ORACLE_ORACLE_H
#define BACKPLANE_CONFORMANCE_ORACLE_ORACLE_H

#include "Numerics.h"
#include "Tensor.h"
#include "sdk/graph/Model.h"

namespace backplane::conformance {

/// How an output is judged.
enum class Match {
  Bits,     ///< bit for bit, NaN payloads and the sign of zero too
  Value,    ///< as Bits, but any NaN is as good as another
  Limit,    ///< |x - y| <= error, element by element
  Decision, ///< `accepts` says which indices are right
};

/// What a right implementation computes for one output.
struct Expected {
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;
  Match match = Match::Value;
  /// Elements as bits of dtype, correctly rounded (floats) or exact.
  std::vector<uint64_t> bits;
  /// Limit: the elements unrounded.
  std::vector<Real> value;
  /// Limit: the largest |x - y| of a right implementation, rounding of the
  /// output included. Infinity where anything finite or infinite is right (a
  /// sum that may overflow on the way); NaN is never right unless `value` is.
  /// NaN where anything is right: operands that may lie outside the domain.
  /// `value` may lie beyond the largest number of dtype: an infinity is right
  /// where value + error or value - error does.
  std::vector<Real> error;
  /// Limit: standard deviation of the rounding error of long sums, for the RMS
  /// and bias gates; empty when the op has none.
  std::vector<Real> sigma;
  /// Limit: operand products whose signs decide the bias gate are symmetric
  /// or the target rounds to nearest.
  bool biasGate = true;
  /// Decision: whether index `got` is right for element `index`.
  std::function<bool(size_t index, int64_t got)> accepts;
};

/// Evaluates the graph. Symbols take their values from the dims of the inputs.
/// `weights` may be null when the graph has no weight op. Fails, with the op's
/// name, on an op that the oracle does not know, and with
/// BP_STATUS_OUT_OF_RANGE and the error of the first op that sets the error
/// word (an index out of range, an integer division by zero).
Result<std::vector<Expected>> evaluate(const Graph &graph,
                                       const std::vector<Tensor> &inputs,
                                       const Declaration &declaration,
                                       const WeightPool *weights = nullptr);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_ORACLE_H
