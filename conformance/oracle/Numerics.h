// SPDX-License-Identifier: Apache-2.0
//
// Numerics.h: what a target declares about its arithmetic. Limits are derived
// from it, and the suite probes that it is true.
#ifndef BACKPLANE_CONFORMANCE_ORACLE_NUMERICS_H
#define BACKPLANE_CONFORMANCE_ORACLE_NUMERICS_H

#include "sdk/graph/Graph.h"

namespace backplane::conformance {

/// Declared numerics of one op class and dtype (bp_numerics_t).
struct Numerics {
  int accumulatorBits = 0; ///< significand bits of sums, 0: as the dtype has
  int operandBits = 0; ///< to which factors are rounded first, 0: not at all
  bool roundsToZero = false;
  bool flushesInput = false;
  bool flushesOutput = false;
  bool contracts = true;
  bool deterministic = true;

  bool operator==(const Numerics &) const = default;
};

/// All that one target declares.
class Declaration {
public:
  void set(std::string opClass, DType dtype, Numerics numerics);
  /// What was declared, or else the least that a badge asks for: sums of f16
  /// and bf16 in 24 bits, others in the precision of the dtype, rounding to
  /// nearest, no flushing.
  Numerics of(std::string_view opClass, DType dtype) const;
  const std::map<std::pair<std::string, DType>, Numerics> &all() const {
    return all_;
  }
  /// Functions are held to the strict limits of UlpTable.h.
  bool strict = false;

private:
  std::map<std::pair<std::string, DType>, Numerics> all_;
};

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_NUMERICS_H
