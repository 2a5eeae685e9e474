// SPDX-License-Identifier: Apache-2.0
//
// NearestName.h: what somebody may have meant who wrote a name that is not
// there, for "did you mean".
#ifndef BACKPLANE_SUPPORT_NEARESTNAME_H
#define BACKPLANE_SUPPORT_NEARESTNAME_H

#include <string>
#include <string_view>
#include <vector>

namespace backplane {

/// The name that differs in the fewest letters, empty when none is near.
std::string nearestName(std::string_view wanted,
                        const std::vector<std::string> &names);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_NEARESTNAME_H
