// SPDX-License-Identifier: Apache-2.0
//
// Requirements.h: what a variant asks of the runtime that reads it. A runtime
// that lacks some of it passes the variant over and takes another one; the rest
// of the artifact stays of use to it.
#ifndef BACKPLANE_PACKAGE_REQUIREMENTS_H
#define BACKPLANE_PACKAGE_REQUIREMENTS_H

#include "sdk/program/Variant.h"

namespace backplane {

/// Expressions of the variant use truncdiv or select.
inline constexpr std::string_view dimSelectRequirement = "dims.select";
/// A command reads a symbol from data.
inline constexpr std::string_view dimReadRequirement = "dims.read";
/// Entries have bytes for their driver.
inline constexpr std::string_view driverDataRequirement = "launch.driver_data";
/// Entries ask for a subgroup size.
inline constexpr std::string_view subgroupSizeRequirement =
    "launch.subgroup_size";
/// Entries take parameters of 64 bits.
inline constexpr std::string_view parametersRequirement = "launch.parameters";
/// Dispatches have dynamic shared memory.
inline constexpr std::string_view sharedBytesRequirement =
    "launch.shared_bytes";
/// Dispatches have clusters of work-groups.
inline constexpr std::string_view clusterRequirement = "launch.cluster";
/// Executables are functions that plug-ins resolve where the program runs.
inline constexpr std::string_view nativeRequirement = "launch.native";

/// What it says that it requires, and what follows from what is in it.
std::vector<std::string> requirementsOf(const VariantInfo &variant);

/// The first that this runtime does not know; empty: it knows all.
std::string unknownRequirement(const std::vector<std::string> &requirements);

} // namespace backplane

#endif // BACKPLANE_PACKAGE_REQUIREMENTS_H
