// SPDX-License-Identifier: Apache-2.0
#include "Geometry.h"

#include <algorithm>

namespace backplane::conformance {

namespace {

/// Names of the batch and of the spatial axes.
constexpr const char *axisNames[] = {"n", "h", "w", "d"};

} // namespace

bool Geometry::isDilated() const {
  return std::any_of(dilations.begin(), dilations.end(),
                     [](int64_t dilation) { return dilation > 1; });
}

Attributes attributesOf(const Geometry &geometry) {
  return {{"strides", geometry.strides},
          {"dilations", geometry.dilations},
          {"low", geometry.low},
          {"high", geometry.high}};
}

Dims axesOf(const Geometry &geometry, CaseBuilder &builder) {
  if (geometry.isStatic())
    return {geometry.sizes.begin(), geometry.sizes.end()};
  Dims dims;
  for (size_t axis = 0; axis <= geometry.window.size(); ++axis)
    dims.push_back(builder.symbol(axisNames[axis]));
  return dims;
}

SymbolValues symbolsOf(const Geometry &geometry, int64_t batch, int64_t size) {
  SymbolValues symbols;
  if (geometry.isStatic())
    return symbols;
  symbols[axisNames[0]] = batch;
  for (size_t axis = 0; axis < geometry.window.size(); ++axis)
    symbols[axisNames[axis + 1]] = size + static_cast<int64_t>(axis);
  return symbols;
}

std::vector<std::string> tagsOf(const Geometry &geometry,
                                std::vector<std::string> others) {
  if (geometry.isDilated())
    others.emplace_back("dilation");
  if (geometry.hasUnevenPads())
    others.emplace_back("pads");
  if (geometry.groups > 1)
    others.emplace_back("groups");
  return others;
}

} // namespace backplane::conformance
