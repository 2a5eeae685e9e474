// SPDX-License-Identifier: Apache-2.0
//
// Session.h: one variant of an artifact, loaded on its devices and ready to
// run, with its own variables. A call whose shapes were seen before replays
// recorded commands; nothing is evaluated, planned or allocated for it.
#ifndef BACKPLANE_RUNTIME_SESSION_H
#define BACKPLANE_RUNTIME_SESSION_H

#include "AnySession.h"
#include "ControlRunner.h"
#include "LoadedArtifact.h"
#include "Select.h"
#include "StepRun.h"

namespace backplane::rt {

/// Everything about one tuple of input shapes.
struct Plan {
  std::vector<int64_t> key; ///< dims of all inputs
  std::vector<uint64_t> inputBytes, outputBytes;
  std::vector<std::vector<int64_t>> outputDims;
  /// Ports whose memory is the device's; empty where that does not matter.
  std::vector<bool> onDevice;
  SymbolValues symbols;
  ProgramPlan program;
  RegionPlans regions; ///< those that calls have entered
  RestPlans rests;     ///< those that calls have come to

  /// Whether these inputs have the types and shapes of this plan.
  bool fits(const Signature &signature,
            std::span<const bp_tensor_t> inputs) const;
};

class Session;

/// A call in flight. Made by Session::submit, ended by wait.
class Call final : public AnyCall {
public:
  ~Call() override;

  bool done() const override { return run_ ? run_->done() : pending_.done(); }
  Status finish(std::unique_ptr<AnyCall> self) override;

private:
  friend class Session;
  Call() = default;

  std::shared_ptr<Session> session_; ///< set while in flight
  std::shared_ptr<Plan> plan_;
  std::vector<std::shared_ptr<Buffer>> arenas_;
  std::vector<std::vector<PortMemory>> memory_; ///< inputs, then outputs
  Tables tables_;
  std::shared_ptr<StepRun> run_; ///< of a split variant
  Pending pending_;              ///< last: its end waits for the work
};

/// submit, outputShapes and reset are thread-safe.
class Session final : public AnySession,
                      public std::enable_shared_from_this<Session> {
public:
  /// Loads one candidate; `budget` limits device memory, 0: no limit.
  static Result<std::shared_ptr<Session>>
  load(std::shared_ptr<const LoadedArtifact> artifact,
       const Candidate &candidate, uint64_t budget);

  /// Sets all variables to their initial values, after calls in flight.
  Status reset() override;
  Trace *trace() const override { return artifact_->registry->host().trace(); }
  uint64_t dispatchCount() const override { return dispatchCount_; }
  const Signature &signature() const override { return artifact_->signature; }
  ValueMemory *values() override { return values_.get(); }

  /// Shapes of all outputs for inputs of these types and shapes; their data is
  /// not looked at.
  Result<std::vector<std::vector<int64_t>>>
  outputShapes(std::span<const bp_tensor_t> inputs) const override;
  Result<std::vector<std::vector<int64_t>>>
  outputBounds(std::span<const bp_tensor_t> inputs) const override;
  /// Starts a call. A caller that is going to wait at once says so: the work
  /// may then be done on its thread. A program with control flow is done when
  /// this returns: the host makes its decisions. A variant on several devices
  /// waits here for the call before.
  Result<std::unique_ptr<Call>> submit(const CallTensors &tensors,
                                       bool callerWaits = false);
  Result<std::unique_ptr<AnyCall>> begin(const CallTensors &tensors,
                                         bool callerWaits) override;
  /// Waits for a call and gives its outcome.
  static Status wait(std::unique_ptr<Call> call);

private:
  Session() = default;
  const VariantInfo &variant() const;
  Status load(const Candidate &candidate);
  Status openDevices(const Candidate &candidate);
  Status openDevice(std::shared_ptr<Device> device);
  void findUsedPorts();
  Status loadExecutables();
  Result<std::shared_ptr<Executable>> loadExecutable(const ExecutableInfo &info,
                                                     bool isReplaced);
  Status loadVariables();
  Status loadWeights();
  Status allocateConstants(const Program &init);
  Status runInit();
  Status writeInitialValues();
  Result<Binding> placeOf(const Slot &slot, const Plan *plan) const;
  Status measure(Plan &plan, std::span<const bp_tensor_t> inputs,
                 const SymbolValues &symbols) const;
  StagedPorts stagedPorts(const Plan &plan) const;
  Result<std::shared_ptr<Plan>> makePlan(std::span<const bp_tensor_t> inputs,
                                         std::vector<bool> onDevice);
  Result<std::shared_ptr<Plan>> findPlan(const CallTensors &tensors);
  Status growArena(DeviceState &side, uint64_t bytes);
  Status checkOutputs(const Plan &plan,
                      std::span<const bp_tensor_t> outputs) const;
  Status bindPorts(Call &call, const CallTensors &tensors);
  Status bindPorts(Call &call, size_t device, const CallTensors &tensors);
  std::unique_ptr<Call> takeCall();
  void releaseMemory(Call &call);
  Status drain();
  Status start(Plan &plan, Call &call, const std::shared_ptr<Timeline> &ready,
               bool callerWaits);
  Status writeShapes(const Plan &plan, Call &call,
                     std::span<const bp_tensor_t> outputs);

  std::shared_ptr<const LoadedArtifact> artifact_;
  std::vector<DeviceState> sides_; ///< by the numbers of the variant
  std::shared_ptr<Budget> budget_;
  std::unique_ptr<ValueMemory> values_; ///< null with several devices
  bool discrete_ = false; ///< kernels of a device must not use host memory
  uint32_t variant_ = 0;
  uint64_t dispatchCount_ = 0;
  std::vector<std::shared_ptr<Executable>> executables_; ///< null: absent
  /// Symbols that count iterations, by region.
  std::vector<std::vector<std::string>> iterationsUsed_;
  std::mutex mutex_; ///< guards everything below
  Evaluator evaluator_;
  std::vector<std::shared_ptr<Plan>> plans_; ///< latest use first
  std::shared_ptr<StepRun> latest_; ///< the latest run of a split variant
  std::vector<std::unique_ptr<Call>> idleCalls_;
};

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_SESSION_H
