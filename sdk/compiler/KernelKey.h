// SPDX-License-Identifier: Apache-2.0
//
// KernelKey.h: the key of a kernel in the cache: a hash of all that it depends
// on.
#ifndef BACKPLANE_COMPILER_KERNELKEY_H
#define BACKPLANE_COMPILER_KERNELKEY_H

#include "sdk/compiler/Target.h"
#include "sdk/compiler/WeightInputs.h"

namespace backplane {

/// Of a dispatch without names, for a target.
std::string kernelKey(const Target &target, const Graph &dispatch);

/// Of one for which `more` counts, too.
std::string kernelKey(const std::string &base, const std::string &more);

/// Of one that depends on weights, too. `base` is the key without them.
std::string kernelKey(const std::string &base, const WeightInputs &weights,
                      const WeightQuestions &questions);

} // namespace backplane

#endif // BACKPLANE_COMPILER_KERNELKEY_H
