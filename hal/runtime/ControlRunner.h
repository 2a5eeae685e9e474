// SPDX-License-Identifier: Apache-2.0
//
// ControlRunner.h: runs a program whose way only its data decide. The host
// waits for what was recorded, reads a predicate, and enters the regions.
//
// A region at depth d uses the memory of level d; while it runs, nothing else
// does. What a loop carries goes to and fro between the memory of its results
// and a scratch of the level of its region.
#ifndef BACKPLANE_RUNTIME_CONTROLRUNNER_H
#define BACKPLANE_RUNTIME_CONTROLRUNNER_H

#include "ProgramPlan.h"

#include <deque>

namespace backplane::rt {

/// What a run works with; all of it outlives the run.
struct ControlContext {
  std::vector<DeviceState> &sides;
  const std::shared_ptr<Budget> &budget;
  const VariantInfo &variant;
  const std::vector<std::shared_ptr<Executable>> &executables;
  /// Symbols that count iterations, by region: RegionUse.h.
  const std::vector<std::vector<std::string>> &iterationsUsed;
  /// Places of weights, variables and constants.
  std::function<Result<Binding>(const Slot &)> resident;
  Evaluator &evaluator; ///< has the symbols of the call
  RegionPlans &plans;   ///< of the call's shapes
  RestPlans &rests;     ///< likewise
  const Signature &signature;
  StagedPorts ports; ///< of the call
};

/// The bytes that a binding names.
SlotBinding memoryOf(const Binding &binding,
                     std::span<const SlotBinding> table);

class ControlRunner {
public:
  explicit ControlRunner(ControlContext context)
      : context_(std::move(context)) {}

  /// Runs a whole program and waits for it. `tables` have the entries that its
  /// places name. A failure names the op, and those with the regions around it.
  /// A size that data decide becomes a symbol of the evaluator.
  Status run(const ProgramPlan &plan, const Program &program,
             const Tables &tables);

private:
  /// Values, in buffers that the run keeps alive.
  using Memories = std::vector<SlotBinding>;
  struct Loop;

  Status runProgram(const ProgramPlan &plan, const Program &program,
                    const Tables &tables, size_t depth);
  Status define(const ResolvedRead &read, const Tables &tables);
  Result<std::shared_ptr<const ProgramPlan>> restOf(const ProgramPlan &plan,
                                                    const Program &program);
  Status runControl(const ResolvedControl &control,
                    std::span<const SlotBinding> table, size_t depth);
  Status runIf(const program::Control &control, const Memories &operands,
               const Memories &results, size_t depth);
  Status runWhile(const program::Control &control, const Memories &operands,
                  const Memories &results, size_t depth);
  Status prepare(Loop &loop, const Memories &operands, const Memories &results,
                 size_t depth);
  Status turn(Loop &loop, const Memories &results, bool &going, size_t depth);
  Status iterate(Loop &loop, const Memories &results, size_t depth);
  Status finish(Loop &loop, const Memories &results);
  Status enter(uint32_t region, const Memories &inputs, const Memories &outputs,
               size_t depth);
  Result<std::shared_ptr<const RegionPlan>> planOf(uint32_t region);
  Result<std::shared_ptr<const RegionPlan>> makePlan(uint32_t region);
  Status checkRegion(const RegionInfo &region);
  Result<uint64_t> bytesOf(const Dim &dim);
  Result<bool> predicate(const SlotBinding &memory);
  Status copy(const SlotBinding &source, const SlotBinding &target);
  Status grow(std::shared_ptr<Buffer> &buffer, uint64_t bytes);
  Level &level(size_t depth);
  SlotBinding entry(const SlotBinding &memory) const;
  uint64_t alignment() const;
  DeviceState &side() { return context_.sides[device_]; }
  const DeviceState &side() const { return context_.sides[device_]; }

  ControlContext context_;
  uint32_t device_ = 0;       ///< that runs the regions which are entered
  RegionKey key_;             ///< of the region that was entered last
  std::deque<Tables> tables_; ///< of the regions that run, by depth
};

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_CONTROLRUNNER_H
