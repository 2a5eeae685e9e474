// SPDX-License-Identifier: Apache-2.0
//
// RegionUse.h: which symbols that count iterations, or that data decide, the
// commands of a region depend on. Without any, one plan of the region serves
// all iterations and all calls of the same shapes.
#ifndef BACKPLANE_RUNTIME_REGIONUSE_H
#define BACKPLANE_RUNTIME_REGIONUSE_H

#include "sdk/program/Variant.h"

namespace backplane::rt {

/// By number of the region, in the order of the names. Regions that a region
/// runs have plans of their own, so that they do not count here.
std::vector<std::vector<std::string>>
iterationsUsed(const VariantInfo &variant);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_REGIONUSE_H
