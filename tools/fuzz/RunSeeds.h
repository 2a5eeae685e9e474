// SPDX-License-Identifier: Apache-2.0
//
// RunSeeds.h: folders of runs as the target `run` reads them (Run.cpp).
#ifndef BACKPLANE_TOOLS_FUZZ_RUNSEEDS_H
#define BACKPLANE_TOOLS_FUZZ_RUNSEEDS_H

#include <string>
#include <vector>

namespace backplane::fuzz {

/// A run that is verified, and runs of which each differs from it in one place.
std::vector<std::string> runSeeds();

} // namespace backplane::fuzz

#endif // BACKPLANE_TOOLS_FUZZ_RUNSEEDS_H
