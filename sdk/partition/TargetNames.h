// SPDX-License-Identifier: Apache-2.0
//
// TargetNames.h: "npu+host", the targets of one variant in the order of
// preference. Names of targets may hold a plus of their own ("aarch64+sve"), so
// that only who knows them can tell them apart.
#ifndef BACKPLANE_PARTITION_TARGETNAMES_H
#define BACKPLANE_PARTITION_TARGETNAMES_H

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

/// The names in `joined`, each one that `known` accepts, the longest first;
/// none when there is no such way to read it.
std::vector<std::string>
splitTargets(std::string_view joined,
             const std::function<bool(std::string_view)> &known);

} // namespace backplane

#endif // BACKPLANE_PARTITION_TARGETNAMES_H
