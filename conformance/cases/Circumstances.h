// SPDX-License-Identifier: Apache-2.0
//
// Circumstances.h: units of layer 7 that run in states that products have: a
// sample of the units of other layers, judged as they are, while something
// about the process, its age or its surroundings is not as in the rest of the
// suite. Their ids are those of the units with "L7" and the circumstance in
// front: "L7/many-runs/matmul/f32/nn".
#ifndef BACKPLANE_CONFORMANCE_CASES_CIRCUMSTANCES_H
#define BACKPLANE_CONFORMANCE_CASES_CIRCUMSTANCES_H

#include "Case.h"

#include <span>

namespace backplane::conformance {

/// How the cases of a circumstance run.
struct Course {
  Circumstance circumstance = Circumstance::Usual;
  std::string_view name; ///< in ids
  unsigned units = 0;    ///< how many are taken
  uint32_t threads = 0;  ///< of the application's pool, 0: one per core
  unsigned sessions = 1; ///< of the artifact
  unsigned calls = 1;    ///< of one case, each with data of its own
  unsigned rounds = 1;   ///< how often all of them run
};

/// All but Usual.
std::span<const Course> courses();
/// The course of a circumstance other than Usual.
const Course &courseOf(Circumstance circumstance);

/// Looks at units as they are made and keeps those that are taken; which ones
/// depends on their ids alone.
class CircumstanceSample {
public:
  explicit CircumstanceSample(const Selection &selection)
      : selection_(selection) {}

  void look(const Unit &unit);
  /// Puts the units of all circumstances.
  void give(const std::function<void(Unit)> &put) const;

private:
  Unit under(const Course &course, const Unit &unit) const;

  const Selection &selection_;
  std::map<std::string, Unit> byOp_; ///< the one that is taken of each op
};

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_CIRCUMSTANCES_H
