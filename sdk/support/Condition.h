// SPDX-License-Identifier: Apache-2.0
//
// Condition.h: what a variant requires of a device: the name of a feature, or
// a comparison of a number that the device reports, "subgroup_size>=8".
#ifndef BACKPLANE_SUPPORT_CONDITION_H
#define BACKPLANE_SUPPORT_CONDITION_H

#include "sdk/support/Property.h"

namespace backplane {

/// A comparison. Its text has no spaces and no leading zeros.
struct Condition {
  enum class Op : uint8_t { AtLeast, AtMost, Equal, NotEqual, Above, Below };
  std::string key;
  Op op;
  int64_t number;

  static Result<Condition> parse(std::string_view text);
  bool holds(int64_t value) const;
  std::string str() const;
};

/// Whether a text is meant as a comparison, be it well formed or not.
bool isComparison(std::string_view text);

/// Refuses what is neither a comparison nor the name of a feature.
Status checkRequirement(std::string_view text);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_CONDITION_H
