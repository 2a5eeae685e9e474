// SPDX-License-Identifier: Apache-2.0
//
// Profiles.h: named parts of the op set, for devices that do not do everything.
// A run for a profile has the cases whose ops and dtypes are all of the
// profile, and those of the driver; its badge names the profile.
#ifndef BACKPLANE_CONFORMANCE_REPORT_PROFILES_H
#define BACKPLANE_CONFORMANCE_REPORT_PROFILES_H

#include "sdk/graph/Graph.h"

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace backplane::conformance {

using NameSet = std::set<std::string, std::less<>>;

struct Profile {
  std::string_view name;     ///< "transformer"
  std::string_view summary;  ///< a few words for people
  NameSet ops;               ///< without those that programs run by themselves
  std::vector<DType> dtypes; ///< that the target must compute with
  std::vector<DType> optional; ///< in its cases where the target declares them

  /// Whether a graph has no op and no dtype beyond the profile's.
  bool admits(const Graph &graph, std::span<const DType> dtypes) const;
};

/// The name of a run over all ops and dtypes.
constexpr std::string_view wholeProfile = "whole";

/// In the order in which they are listed.
const std::vector<Profile> &profiles();
/// Null: there is none of this name.
const Profile *findProfile(std::string_view name);

/// Whether programs run an op by themselves, or other ops' cases have it in
/// their graphs: control flow, state, constants. No duty of a backend.
bool isStructural(std::string_view op);

/// A table of all profiles in Markdown, as docs/reference has it.
std::string profilesText();

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_PROFILES_H
