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

/// What it says that it requires, and what its expressions do.
std::vector<std::string> requirementsOf(const VariantInfo &variant);

/// The first that this runtime does not know; empty: it knows all.
std::string unknownRequirement(const std::vector<std::string> &requirements);

} // namespace backplane

#endif // BACKPLANE_PACKAGE_REQUIREMENTS_H
