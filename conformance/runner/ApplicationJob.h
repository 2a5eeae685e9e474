// SPDX-License-Identifier: Apache-2.0
//
// ApplicationJob.h: runs units under circumstances (Circumstances.h), each in
// an application of its own that compiles and runs, or where none can be
// started (on another machine) in a worker of its own.
#ifndef BACKPLANE_CONFORMANCE_RUNNER_APPLICATIONJOB_H
#define BACKPLANE_CONFORMANCE_RUNNER_APPLICATIONJOB_H

#include "Disguise.h"
#include "conformance/cases/Circumstances.h"
#include "conformance/report/Record.h"

namespace backplane::conformance {

/// What one request came to: outputs, or a status with a reason.
struct Answer {
  std::optional<CaseStatus> bad; ///< none: `result` holds
  std::string reason;
  int32_t code = BP_STATUS_OK; ///< of a failure that the worker reported
  worker::ResultMessage result;
  double milliseconds = 0;
};

/// What a failed request to a worker is charged as.
CaseStatus chargeOf(bp_status_t code, bool workerLost);
/// The same of a compilation: BP_STATUS_UNIMPLEMENTED is a refusal.
CaseStatus chargeOfCompile(bp_status_t code, bool workerLost);
/// Tensors as they travel.
std::vector<worker::WireTensor> toWire(const std::vector<Tensor> &tensors);
/// What a compile worker is asked for. Nothing says which unit it is; in
/// disguise, the graph has the names of an exported one.
worker::CompileMessage compileMessage(const Unit &unit, bool disguise = false);

/// What a job asks the one that it belongs to.
struct CaseRules {
  std::function<std::vector<Tensor>(const Unit &, const Case &)> inputsOf;
  std::function<void(const Unit &, const Case &, const std::vector<Tensor> &,
                     const Answer &, Record &)>
      judge;
  /// Compiles where a worker cannot, which runs only.
  std::function<Result<worker::CompiledMessage>(const Unit &)> compile;
  /// Whether a process has the plug-in that the run is about.
  std::function<Status(const worker::Hello &)> check;
  /// Whether the target declares that equal calls give equal bits.
  std::function<bool(const Unit &)> isDeterministic;
};

/// Not thread-safe.
class ApplicationJob {
public:
  /// `worker` is its command; used when the options have no program.
  ApplicationJob(ApplicationOptions options, std::vector<std::string> worker,
                 CaseRules rules)
      : options_(std::move(options)), command_(std::move(worker)),
        rules_(std::move(rules)) {}

  /// Why no unit can run under a circumstance; empty: it can.
  std::string missingFor(Circumstance circumstance) const;

  /// Fills the records of the unit's cases. Fails only when no application can
  /// be started.
  Status run(const Unit &unit, std::vector<Record> &records);
  /// The same for units of LongUptime: all of them run at once, one every few
  /// seconds until the application has that age, and then all again.
  Status runLong(const std::vector<Unit> &units, std::chrono::seconds age,
                 std::vector<std::vector<Record>> &records);

private:
  struct Loaded {
    std::string artifact; ///< hash
    std::vector<uint64_t> sessions;
    double compileMs = 0;
  };
  struct Call {
    Case testCase; ///< with the seed of its data
    std::vector<Tensor> inputs;
    uint64_t session;
  };

  bool isRunning() const { return application_ || worker_; }
  void end();
  Status start(const Course &course);
  Status startApplication(const Course &course);
  Status startWorker(const Course &course);
  Result<worker::CompiledMessage> compile(const Unit &unit);
  Result<worker::Frame> ask(worker::FrameType type,
                            std::vector<uint8_t> payload,
                            worker::FrameType wanted);
  Result<Loaded> load(const Unit &unit);
  Result<Loaded> load(const Unit &unit, worker::CompiledMessage compiled);
  Status open(Loaded &loaded, unsigned count);
  Status close(Loaded &loaded, size_t index);
  void charge(const Status &status, Record &record);
  void chargeLoad(const Status &status, Record &record);
  Status surround(const worker::SurroundMessage &message);
  std::vector<Call> callsOf(const Unit &unit, const Case &testCase,
                            const Loaded &loaded, unsigned count,
                            uint64_t salt) const;
  Result<worker::BatchedMessage> batch(const std::vector<Call> &calls,
                                       const Loaded &loaded, uint32_t rounds,
                                       uint64_t spareMemory);
  bool judge(const Unit &unit, const Call &call, const Answer &answer,
             Record &record) const;
  bool runCalls(const Unit &unit, const Loaded &loaded,
                const std::vector<Call> &calls, uint32_t rounds, Record &record,
                uint64_t spareMemory = 0);
  void runCase(const Unit &unit, const Case &testCase, Loaded &loaded,
               Record &record);
  bool runOften(const Unit &unit, const Case &testCase, const Loaded &loaded,
                Record &record);
  bool runWithLittle(const Unit &unit, const Case &testCase,
                     const Loaded &loaded, Record &record);
  bool replaceSession(Loaded &loaded, Record &record);
  void runAged(const Unit &unit, Loaded &loaded, std::vector<Record> &records,
               uint64_t salt);

  ApplicationOptions options_;
  std::vector<std::string> command_; ///< of a worker
  CaseRules rules_;
  /// One of them, or neither.
  std::unique_ptr<Application> application_;
  std::unique_ptr<worker::Process> worker_;
  Circumstance circumstance_ = Circumstance::Usual; ///< of the process
  uint64_t runs_ = 0;                               ///< in the process
  uint64_t started_ = 0;                            ///< applications so far
  std::chrono::steady_clock::time_point since_;     ///< start of the process
};

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_RUNNER_APPLICATIONJOB_H
