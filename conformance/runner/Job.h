// SPDX-License-Identifier: Apache-2.0
//
// Job.h: runs the cases of one unit after another, with a compile worker and a
// worker of its own. What a case does to a worker is charged to that case: one
// run is in flight at a time, a worker that crashed or hangs is replaced, and
// the rest goes on.
#ifndef BACKPLANE_CONFORMANCE_RUNNER_JOB_H
#define BACKPLANE_CONFORMANCE_RUNNER_JOB_H

#include "ApplicationJob.h"
#include "Shares.h"
#include "conformance/oracle/Oracle.h"
#include "conformance/report/Record.h"
#include "hal/worker/Process.h"

namespace backplane::conformance {

/// How cases get their data and are judged: the functions of Case.h, Oracle.h
/// and Judge.h, or those of a test.
struct Judgement {
  std::function<std::vector<Tensor>(const Unit &, const Case &)> inputsOf;
  std::function<Result<std::vector<Expected>>(
      const Graph &, const std::vector<Tensor> &, const Declaration &,
      const WeightPool *)>
      evaluate;
  std::function<std::vector<Verdict>(
      const Unit &, const Case &, const std::vector<Expected> &,
      const std::vector<Tensor> &, const Declaration &)>
      judge;
  std::function<bool(const Unit &)> isProbe;
  std::function<bool(const Case &)> expectsError;
};

/// Everything that one run of a case gave, for who looks closely.
struct Observation {
  const Unit &unit;
  const Case &testCase;
  const std::vector<Tensor> &inputs, &outputs; ///< outputs: none on an error
  const std::vector<Expected> &expected;       ///< none for probes
  const Declaration &declaration;
};

struct JobOptions {
  std::vector<std::string> worker;   ///< command of bp-worker, with arguments
  std::vector<std::string> compiler; ///< command of bp-compile-worker
  /// How applications are started (Disguise.h); without a program, workers
  /// take their place, and cases that need one are not supported.
  ApplicationOptions application;
  /// All graphs are compiled and run in applications, one for each job.
  bool disguise = false;
  std::chrono::milliseconds timeout{30000}; ///< of one case or compilation
  Judgement judgement;
  /// What the plug-in's files must be, as the workers name them when they
  /// start; a worker with others ends the run. Empty: nobody asks.
  std::vector<worker::WireFile> runFiles, compileFiles;
  /// Age of the process in which cases of LongUptime are judged.
  std::chrono::seconds longUptime{102};
  /// The workers may use other devices than the first one; their part is
  /// charged (Shares.h).
  bool helped = false;
  /// Runs on after faults of one cause (Faults.h), where a run and the cases of
  /// a unit otherwise end.
  bool keepGoing = true;
  /// Each run of a graph with variables is the first one of its session.
  bool freshVariables = false;
  /// Functions are held to the strict limits, and every case runs twice.
  bool strict = false;
  /// Called for each run of a case that the oracle answered; may be empty.
  std::function<void(const Observation &)> observe;
};

/// The declaration in a HELLO.
Declaration declarationOf(const worker::Hello &hello);
/// Why a target does not take a unit, from the dtypes that it computes with and
/// those that it can hold; empty: it does.
std::string notSupported(const Unit &unit, uint64_t computeDTypes,
                         uint64_t storageDTypes);
std::string notSupported(const Unit &unit, const worker::Hello &hello);

/// A record with all that is known before the case runs.
Record plannedRecord(const Unit &unit, const Case &testCase);

/// Puts the verdicts of all outputs into a record: the worst element of them,
/// and Pass, Fail or QualityWarning.
void fold(const std::vector<Verdict> &verdicts, Record &record);

/// Puts what a record says of the inputs; magnitudes are the largest of all
/// runs.
void noteInputs(const std::vector<Tensor> &inputs, Record &record);

/// Whether a worker has the files that it must have, `all` or some of them;
/// none expected: any.
Status checkFiles(const std::vector<worker::WireFile> &expected,
                  const worker::Hello &hello, bool all = true);

/// Not thread-safe.
class Job {
public:
  explicit Job(JobOptions options) : options_(std::move(options)) {}

  /// Starts the compile worker when there is none and returns its greeting. A
  /// failure means that no case can run.
  Result<worker::Hello> hello();
  /// The same for the worker that runs.
  Result<worker::Hello> runHello();
  /// One record per case of the unit, in order; the last ones are missing where
  /// faults ended it. A crash or hang of the compiler
  /// is charged to the first case; the others fail for the same reason, as one
  /// compilation serves them all. Fails only when workers cannot be started.
  Result<std::vector<Record>> run(const Unit &unit);
  /// The same for units of LongUptime, which share the time that it takes.
  Result<std::vector<std::vector<Record>>>
  runLong(const std::vector<Unit> &units);

private:
  Result<std::vector<Record>> runAll(const Unit &unit);
  Status start(std::unique_ptr<worker::Process> &process,
               const std::vector<std::string> &command,
               const std::vector<worker::WireFile> &files, bool all = true);
  Status startWorker();
  Status startWorkerFor(const Unit &unit);
  Status startCompiler();
  Status checkApplication(const worker::Hello &hello) const;
  Status startDisguised(std::unique_ptr<worker::Process> &process);
  ApplicationJob &applied();
  std::string missingFor(const Unit &unit);
  Result<worker::Frame> ask(std::unique_ptr<worker::Process> &process,
                            worker::FrameType type,
                            std::vector<uint8_t> payload);
  Answer compile(const Unit &unit);
  Answer runOnce(const std::vector<Tensor> &inputs);
  Declaration declaration() const;
  Status runCase(const Unit &unit, const Case &testCase, Record &record);
  Status repeat(const Unit &unit, const Case &testCase,
                const std::vector<Tensor> &inputs, Record &record);
  Status runOtherData(const Unit &unit, Record &record);
  void judge(const Unit &unit, const Case &testCase,
             const std::vector<Tensor> &inputs, const Answer &answer,
             Record &record);
  bool expect(const Unit &unit, const Case &testCase,
              const std::vector<Tensor> &inputs, const Answer &answer,
              const Declaration &declaration, std::vector<Expected> &expected,
              Record &record);

  Status startChecker();
  Status compileAgain(const Unit &unit);
  Status sendArtifacts();
  void check(const Case &testCase, Record &record);
  Status runCheck(const Case &testCase, Record &record);
  Status runChecks(const Unit &unit, std::vector<Record> &records);

  JobOptions options_;
  std::vector<std::unique_ptr<Application>> kept_; ///< folders of applications
  uint64_t applications_ = 0;                      ///< started so far
  std::unique_ptr<worker::Process> worker_, compiler_;
  std::unique_ptr<worker::Process> checker_; ///< runs checks
  std::unique_ptr<ApplicationJob> applied_;  ///< runs units under circumstances
  worker::ArtifactMessage artifact_;         ///< of the unit
  Shares shares_;       ///< of it, where other devices may help
  bool loaded_ = false; ///< the worker has it
  uint64_t runs_ = 0;   ///< of it in this worker
  std::chrono::steady_clock::time_point started_; ///< the worker
  worker::ArtifactMessage again_; ///< the same, compiled once more
  bool artifactsSent_ = false;    ///< the checker has both
};

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_RUNNER_JOB_H
