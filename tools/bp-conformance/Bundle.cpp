// SPDX-License-Identifier: Apache-2.0
//
// Bundle.cpp: cases for a machine without a connection. Packing runs the job
// with a worker that writes down what it is asked; judging runs it again with
// one that answers from the results. So both ask for exactly the same runs.
#include "hal/worker/Bundle.h"
#include "Commands.h"
#include "conformance/cases/Judge.h"
#include "conformance/report/Faults.h"
#include "sdk/support/ProgramFolder.h"
#include "sdk/support/TemporaryFolder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace backplane::conformance {
namespace {

namespace fs = std::filesystem;

/// Everything passes: what counts is what is asked.
Judgement noJudgement() {
  Judgement rules;
  rules.inputsOf = inputsOf;
  rules.evaluate = [](const Graph &, const std::vector<Tensor> &,
                      const Declaration &,
                      const WeightPool *) -> Result<std::vector<Expected>> {
    return std::vector<Expected>();
  };
  rules.judge = [](const Unit &, const Case &, const std::vector<Expected> &,
                   const std::vector<Tensor> &, const Declaration &) {
    Verdict verdict;
    verdict.pass = true;
    verdict.elements = 1;
    return std::vector<Verdict>{verdict};
  };
  rules.isProbe = [](const Unit &) { return false; };
  rules.expectsError = [](const Case &) { return false; };
  return rules;
}

/// The chosen cases and checks, registered kernels of the target among them,
/// without those that are about the process that runs them.
Result<Plan> planOf(RunOptions &options, Job &job) {
  if (Status s = readChoice(options); !s.ok())
    return s;
  auto compiles = job.hello();
  if (!compiles)
    return compiles.status();
  if (Status s = addKernelUnits(kernelsOf(*compiles), options.suite); !s.ok())
    return s;
  auto plan = planSuite(options.suite);
  if (plan)
    std::erase_if(plan->units, [](const Unit &unit) {
      return unit.circumstance != Circumstance::Usual;
    });
  return plan;
}

/// How the cases were chosen, as a bundle keeps it.
std::vector<std::string> factsOf(const RunOptions &options) {
  std::vector<std::string> facts = {
      "depth=" + options.depth,
      "seed=" + std::to_string(options.suite.selection.seed),
      "budget=" + std::to_string(options.suite.selection.budget)};
  for (const std::string &filter : options.suite.filters)
    facts.push_back("filter=" + filter);
  for (const std::string &exclude : options.suite.excludes)
    facts.push_back("exclude=" + exclude);
  return facts;
}

/// The other way round; refuses what factsOf does not write.
Result<RunOptions> optionsOf(const std::vector<std::string> &facts) {
  RunOptions options;
  for (const std::string &fact : facts) {
    std::string key = fact.substr(0, fact.find('='));
    std::string value = fact.substr(std::min(key.size() + 1, fact.size()));
    bool isDepth = value == "smoke" || value == "standard" || value == "full";
    if (key == "depth" && isDepth)
      options.depth = value;
    else if (key == "seed")
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    else if (key == "budget")
      options.suite.selection.budget =
          std::strtoull(value.c_str(), nullptr, 10);
    else if (key == "filter")
      options.suite.filters.push_back(value);
    else if (key == "exclude")
      options.suite.excludes.push_back(value);
    else
      return dataLoss("a bundle says '" + fact.substr(0, 64) +
                      "' of its cases, which means nothing");
  }
  return options;
}

std::vector<std::string> compilerFor(const std::string &target) {
  return {programFolder() / "bp-compile-worker", "--target", target};
}

using Statuses = std::map<CaseStatus, size_t>;

/// Runs all units of the plan; prints cases that are bad.
Result<Statuses> runUnits(Job &job, const Plan &plan) {
  Statuses statuses;
  for (const Unit &unit : plan.units) {
    auto records = job.run(unit);
    if (!records)
      return records.status();
    if (Status s = checkRoom(*records); !s.ok())
      return s;
    for (const Record &record : *records) {
      ++statuses[record.status];
      if (!isGood(record.status))
        std::printf("%s %s: %s\n", std::string(name(record.status)).c_str(),
                    record.id.c_str(), record.reason.c_str());
    }
  }
  return statuses;
}

} // namespace

int bundleCommand(RunOptions &options, const std::string &target,
                  const std::string &path) {
  TemporaryFolder scratch;
  const std::string recording = scratch.path() + "/recording";
  if (scratch.path().empty())
    return fail(Status(BP_STATUS_UNAVAILABLE, "cannot make a temporary file"));
  JobOptions how;
  how.worker = {programFolder() / "bp-worker", "--record", recording};
  how.compiler = compilerFor(target);
  how.timeout = std::chrono::seconds(options.timeoutSeconds);
  how.judgement = noJudgement();
  Job job(how);
  auto plan = planOf(options, job);
  if (!plan)
    return fail(plan.status());
  auto statuses = runUnits(job, *plan);
  if (!statuses)
    return fail(statuses.status());
  worker::BundleMessage head{"cases",        productVersion(), target,
                             options.device, factsOf(options), ""};
  if (Status s = worker::packRecording(recording, head, path); !s.ok())
    return fail(s);
  std::printf("%s: %zu cases; run it with 'bp-worker run %s -o RESULTS'\n",
              path.c_str(), (*statuses)[CaseStatus::Pass], path.c_str());
  return passed;
}

int judgeCommand(const std::string &bundlePath, const std::string &results) {
  auto bundle = worker::readBundle(bundlePath);
  if (!bundle)
    return fail(bundle.status());
  if (bundle->head.version != productVersion())
    return fail(invalidArgument("'" + bundlePath + "' is of release " +
                                bundle->head.version + ", this is " +
                                productVersion()));
  auto told = worker::readResults(results, *bundle);
  if (!told)
    return fail(told.status());
  auto options = optionsOf(bundle->head.facts);
  if (!options)
    return fail(options.status());
  JobOptions how;
  how.worker = {programFolder() / "bp-worker", "--replay", bundlePath, results};
  how.compiler = compilerFor(bundle->head.target);
  how.timeout = std::chrono::seconds(options->timeoutSeconds);
  how.judgement = {inputsOf, evaluate, judge, isProbe, expectsError};
  Job job(how);
  auto plan = planOf(*options, job);
  if (!plan)
    return fail(plan.status());
  auto statuses = runUnits(job, *plan);
  if (!statuses)
    return fail(statuses.status());
  bool good = true;
  for (const auto &[status, count] : *statuses) {
    std::printf("%zu %s\n", count, std::string(name(status)).c_str());
    good &= isGood(status) || status == CaseStatus::NotSupported;
  }
  std::printf("run by %s %s on %s: %s\n", told->hello.device.c_str(),
              told->hello.version.c_str(), told->hello.machine.c_str(),
              good ? "passed" : "not passed");
  return good ? passed : notPassed;
}

} // namespace backplane::conformance
