// SPDX-License-Identifier: Apache-2.0
//
// ManifestSeeds.h: manifests of plug-ins that fuzzing starts from.
#ifndef BACKPLANE_TOOLS_FUZZ_MANIFESTSEEDS_H
#define BACKPLANE_TOOLS_FUZZ_MANIFESTSEEDS_H

#include <string>
#include <vector>

namespace backplane::fuzz {

/// Good ones, and what is wrong with one member of each.
std::vector<std::string> manifestSeeds();

} // namespace backplane::fuzz

#endif // BACKPLANE_TOOLS_FUZZ_MANIFESTSEEDS_H
