// SPDX-License-Identifier: Apache-2.0
//
// Locate.h: where two devices part. A model is taken in windows of neighbouring
// ops, as a compiler fuses them; each window gets the first device's values, so
// that errors do not add up over the model and limits stay narrow.
#ifndef BACKPLANE_CONFORMANCE_REPRO_LOCATE_H
#define BACKPLANE_CONFORMANCE_REPRO_LOCATE_H

#include "Repro.h"

namespace backplane::conformance {

struct Location {
  Repro repro;          ///< minimised
  Examination found;    ///< what the device that is wrong gave
  bool isFirst = false; ///< the first device is the wrong one
  size_t window = 0;    ///< number of the first op of the window
  std::string origin;   ///< where its ops come from, for people
};

/// Ops in a window, and how far the next one starts: half of them are in two,
/// so that fused neighbours are seen together.
inline constexpr size_t windowOps = 8, windowStep = 4;

/// How a repro does on a device.
using Examine = std::function<Result<Examination>(const Repro &)>;

/// The first window in which a device computes other values than its limits
/// allow, made smaller; none where both are right in all windows and as a
/// whole. `observe` runs the first device and need not judge. `progress` is
/// called before each window. Fails when the first device cannot run the model.
Result<std::optional<Location>>
locate(const Repro &model, const Examine &observe, const Examine &first,
       const Examine &second,
       const std::function<void(size_t window, size_t windows)> &progress);

/// Inputs with seeded values: floats in [-1, 1), integers in [0, 10), as many
/// elements as `symbols` say, 1 where they say nothing.
Result<std::vector<Tensor>>
seededInputs(const Graph &graph, const SymbolValues &symbols, uint64_t seed);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPRO_LOCATE_H
