// SPDX-License-Identifier: Apache-2.0
//
// Hunt.h: runs one mutant through the cases that should find it.
#ifndef BACKPLANE_CONFORMANCE_MUTANTS_HUNT_H
#define BACKPLANE_CONFORMANCE_MUTANTS_HUNT_H

#include "Mutant.h"

#include "conformance/runner/Job.h"

#include <chrono>

namespace backplane::mutants {

struct HuntOptions {
  size_t until = 2;   ///< kills after which to stop; 0: never
  double seconds = 0; ///< after which to stop; 0: never
  /// All units of the smoke depth and all checks, whatever their tags.
  bool everything = false;
  size_t sample = 1; ///< every n-th unit of `everything`
  uint64_t seed = 0; ///< of the mutant's thresholds and of the cases
};

/// What one case or check came to that found the mutant.
struct Kill {
  std::string id, status, reason;
  double seconds; ///< since the start of the hunt
};

class Hunt {
public:
  /// `onKill` is called at once. The environment must name the mutant already.
  Hunt(const Mutant &mutant, const HuntOptions &options,
       std::function<void(const Kill &)> onKill);

  /// Fails when workers do not start.
  Status run();
  size_t kills() const { return kills_; }
  size_t cases() const { return cases_; }
  /// Cases that fail on the plug-in with nothing changed too; no kills.
  size_t unsound() const { return unsound_; }
  double seconds() const;

private:
  conformance::JobOptions jobOptions(const std::string &id);
  Status runUnits();
  Status runUnit(conformance::Unit unit);
  Status confirm(const conformance::Unit &unit,
                 const std::vector<conformance::Record> &records);
  void runSelfChecks();
  bool isDone() const;
  void kill(std::string id, std::string status, std::string reason);

  const Mutant &mutant_;
  const HuntOptions &options_;
  std::function<void(const Kill &)> onKill_;
  conformance::Job job_;
  conformance::Job sound_;       ///< of the plug-in with nothing changed
  const Graph *asked_ = nullptr; ///< by the unit that runs
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
  size_t kills_ = 0, cases_ = 0, unsound_ = 0;
};

} // namespace backplane::mutants

#endif // BACKPLANE_CONFORMANCE_MUTANTS_HUNT_H
