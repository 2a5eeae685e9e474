// SPDX-License-Identifier: Apache-2.0
//
// FusionRules.h: which groups the BP_FUSE_ bits of a target let become one.
#ifndef BACKPLANE_FUSION_FUSIONRULES_H
#define BACKPLANE_FUSION_FUSIONRULES_H

#include "sdk/fusion/Fusion.h"

namespace bp {

/// Why two groups stay apart; empty: they need not.
using Reason = std::string;

class FusionRules {
public:
  /// `bits`: those of the target.
  explicit FusionRules(uint32_t bits) : bits_(bits) {}

  /// Of group `a` and `op` of group `b`, which reads it: at once if `direct`,
  /// else behind a broadcast or reshape.
  Reason apart(const Group &a, const Group &b, bool direct,
               mlir::Operation *op) const;

private:
  bool allowed(uint32_t bit) const { return bits_ & bit; }
  bool fusesOver(const Group &group) const;
  bool movesInPlace(const Group &group) const;
  Reason elementwiseInto(const Group &a, bool direct, const Group &b) const;

  uint32_t bits_;
};

} // namespace bp

#endif // BACKPLANE_FUSION_FUSIONRULES_H
