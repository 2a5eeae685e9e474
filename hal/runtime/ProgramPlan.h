// SPDX-License-Identifier: Apache-2.0
//
// ProgramPlan.h: a program of an artifact for one tuple of symbol values, as
// recorded commands with the decisions of the host between them.
#ifndef BACKPLANE_RUNTIME_PROGRAMPLAN_H
#define BACKPLANE_RUNTIME_PROGRAMPLAN_H

#include "StagePorts.h"

#include <unordered_map>

namespace backplane::rt {

/// Recorded commands of one device, or a transfer to it. It starts when the
/// steps that it names are done.
struct PlanStep {
  uint32_t device = 0;
  std::shared_ptr<CommandBuffer> commands; ///< null: a transfer
  uint32_t from = 0;                       ///< device of the source
  Binding source, target;
  std::vector<uint32_t> after; ///< steps before it in the list
};

/// What runs between two decisions.
using Part = std::vector<PlanStep>;

struct ProgramPlan {
  std::vector<uint64_t> arenaBytes; ///< per device
  /// One more than there are controls: what runs before each, and behind the
  /// last one. Without controls on one device the only part has one step.
  std::vector<Part> parts;
  std::vector<ResolvedControl> controls;
  /// What the last part ends with; then planRest makes what follows.
  std::optional<ResolvedRead> read;
  std::vector<SlotPlace> places; ///< while there is a read
  StagedOffsets stagedOffsets;   ///< likewise

  /// Whether the host has nothing to decide in it.
  bool isOnePart() const { return controls.empty() && !read; }
};

/// Resolves, stages ports and records. Steps of two devices depend on each
/// other only where a transfer reads or writes what they write or use.
Result<ProgramPlan> planProgram(const Program &program, Evaluator &evaluator,
                                const ResolveContext &context,
                                const StagedPorts &ports = {});

/// The plan of what follows the read of `plan`, whose symbol `evaluator` has.
Result<ProgramPlan> planRest(const Program &program, Evaluator &evaluator,
                             const ResolveContext &context,
                             const StagedPorts &ports, const ProgramPlan &plan);

/// What follows reads, by command and the values that were read.
using RestPlans = std::map<std::pair<size_t, std::vector<int64_t>>,
                           std::shared_ptr<const ProgramPlan>>;

/// A program of a region.
struct RegionPlan {
  std::vector<uint64_t> inputBytes, outputBytes;
  ProgramPlan program;
};

/// The number of a region and the values of the symbols that count iterations.
struct RegionKey {
  uint32_t region = 0;
  std::vector<int64_t> values;

  bool operator==(const RegionKey &) const = default;
  struct Hash {
    size_t operator()(const RegionKey &key) const {
      size_t hash = key.region;
      for (int64_t value : key.values)
        hash = hash * 0x9E3779B97F4A7C15 + size_t(value);
      return hash;
    }
  };
};

/// The regions of a call's shapes that have been entered.
using RegionPlans =
    std::unordered_map<RegionKey, std::shared_ptr<const RegionPlan>,
                       RegionKey::Hash>;

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_PROGRAMPLAN_H
