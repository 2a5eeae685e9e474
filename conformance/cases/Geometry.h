// SPDX-License-Identifier: Apache-2.0
//
// Geometry.h: how windows lie on the spatial axes of a tensor, for the units of
// convolutions and pools.
#ifndef BACKPLANE_CONFORMANCE_CASES_GEOMETRY_H
#define BACKPLANE_CONFORMANCE_CASES_GEOMETRY_H

#include "CaseBuilder.h"

namespace backplane::conformance {

using Sizes = std::vector<int64_t>;

struct WindowShape {
  Sizes window, strides, dilations, low, high;
};

/// What windows lie on.
struct ImageShape {
  int64_t groups = 1;
  /// Dims of the channels; 0: symbolic (groups 1 only).
  int64_t in = 0, out = 0;
  /// Sizes of batch and spatial axes; empty: symbolic.
  Sizes sizes = {};
};

struct Geometry : WindowShape, ImageShape {
  std::string name;

  Geometry(std::string name = {}, WindowShape windows = {},
           ImageShape image = {})
      : WindowShape(std::move(windows)), ImageShape(std::move(image)),
        name(std::move(name)) {}

  bool isStatic() const { return !sizes.empty(); }
  bool isDilated() const;
  bool hasUnevenPads() const { return low != high; }
};

/// The attributes of conv, and of pool with `window`.
Attributes attributesOf(const Geometry &geometry);
/// n, then the spatial axes: numbers, or the symbols n, h, w, d.
Dims axesOf(const Geometry &geometry, CaseBuilder &builder);
/// Values of these symbols: the batch, and sizes beside `size` on the spatial
/// axes, each one different; none for a static geometry.
SymbolValues symbolsOf(const Geometry &geometry, int64_t batch, int64_t size);
/// The tags that follow from dilations, pads and groups, beside `others`.
std::vector<std::string> tagsOf(const Geometry &geometry,
                                std::vector<std::string> others);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_GEOMETRY_H
