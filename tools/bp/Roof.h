// SPDX-License-Identifier: Apache-2.0
//
// Roof.h: what this machine can do at most, measured.
#ifndef BACKPLANE_TOOLS_BP_ROOF_H
#define BACKPLANE_TOOLS_BP_ROOF_H

#include <cstdint>

namespace backplane {

/// Of the CPUs, with so many threads at once.
struct Roof {
  unsigned threads = 0;
  double flopsPerNs = 0; ///< f32 multiply-adds in registers, two FLOPs each
  double bytesPerNs = 0; ///< read and written by a copy in main memory

  /// The least time for this work.
  double ns(double flops, double bytes) const;
};

/// Takes about a fifth of a second and at least 16 MiB for each thread.
Roof measureRoof(unsigned threads);

} // namespace backplane

#endif // BACKPLANE_TOOLS_BP_ROOF_H
