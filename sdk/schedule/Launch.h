// SPDX-License-Identifier: Apache-2.0
//
// Launch.h: what the kernel of a dispatch asks the scheduler for: the launches
// that are made of it. Sizes are dims over the symbols of the program.
#ifndef BACKPLANE_SCHEDULE_LAUNCH_H
#define BACKPLANE_SCHEDULE_LAUNCH_H

#include "sdk/graph/Dim.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace backplane {

/// One launch; those of a dispatch run in order, and their entries follow each
/// other in the executable.
struct Launch {
  /// Some bytes of a binding of the dispatch, or of memory of its own.
  struct Binding {
    uint32_t binding = 0;      ///< of the dispatch, or BP_LAUNCH_
    std::optional<Dim> offset; ///< none: 0
    std::optional<Dim> length; ///< none: the rest
  };

  std::array<Dim, 3> grid = {Dim(1), Dim(1), Dim(1)};
  std::optional<Dim> workspace; ///< none: a plain number, in its entry
  std::vector<Dim> parameters;
  std::optional<Dim> sharedBytes;
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  bool constants = false;      ///< whether it takes those of the dispatch
  std::vector<uint8_t> access; ///< BP_ACCESS_ of each binding
  std::vector<Binding> bindings;
};

} // namespace backplane

#endif // BACKPLANE_SCHEDULE_LAUNCH_H
