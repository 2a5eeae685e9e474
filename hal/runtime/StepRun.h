// SPDX-License-Identifier: Apache-2.0
//
// StepRun.h: runs the steps of a part on their devices, each as soon as those
// that it follows are done, so that transfers and the work of several devices
// overlap. A queue works in order, so what follows a step of the same queue is
// handed over as soon as that has started. After a failure no further step
// starts.
#ifndef BACKPLANE_RUNTIME_STEPRUN_H
#define BACKPLANE_RUNTIME_STEPRUN_H

#include "ProgramPlan.h"

#include <condition_variable>

namespace backplane::rt {

/// Thread-safe.
class StepRun : public std::enable_shared_from_this<StepRun> {
public:
  /// Starts the steps. `sides`, `part` and `tables` stay as they are until the
  /// run is done.
  static std::shared_ptr<StepRun> start(const std::vector<DeviceState> &sides,
                                        const Part &part, const Tables &tables);

  bool done() const;
  /// Waits, helping with the work of the host, and gives the first failure.
  Status wait();

private:
  StepRun(const std::vector<DeviceState> &sides, const Part &part,
          const Tables &tables);
  void post(std::function<void()> job);
  void launch(uint32_t step);
  void launchNow(uint32_t step);
  bool isDone() const { return left_ == 0 && launching_ == 0; }
  void note(const Status &status);
  void release(std::vector<uint32_t> &waiting);
  void finished(uint32_t step, const Status &status);
  Status startCommands(uint32_t step);
  Status transfer(const PlanStep &step) const;

  const std::vector<DeviceState> &sides_;
  const Part &part_;
  const Tables &tables_;
  /// Steps that wait until each one has started, as they are behind it on its
  /// queue, and steps that wait until it is done.
  std::vector<std::vector<uint32_t>> behind_, followers_;
  std::unique_ptr<Pending[]> pending_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<size_t> missing_; ///< steps that each one still waits for
  size_t left_;
  /// Threads inside of a driver's call: its work may be done before the call
  /// returns, and until then queue and commands are in use.
  size_t launching_ = 0;
  uint64_t posted_ = 0; ///< jobs so far, for those who help
  Status failure_;
};

/// Runs a part and waits for it.
Status runPart(const std::vector<DeviceState> &sides, const Part &part,
               const Tables &tables);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_STEPRUN_H
