// SPDX-License-Identifier: Apache-2.0
#include "Hunt.h"

#include "conformance/cases/Data.h"
#include "conformance/cases/Judge.h"
#include "conformance/suite/Generate.h"
#include "conformance/suite/PluginUnits.h"
#include "sdk/support/ProgramFolder.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace backplane::mutants {

using namespace conformance;

namespace {

bool shares(const std::vector<std::string> &tags, const Mutant &mutant) {
  return std::ranges::any_of(tags, [&](const std::string &tag) {
    return std::ranges::find(mutant.tags, tag) != mutant.tags.end();
  });
}

/// Multiply-adds of one case: mutants compute element by element, but
/// cheats by size leave the work to the reference backend.
uint64_t budgetFor(const Mutant &mutant) {
  bool needsSizes = std::ranges::find(mutant.tags, "size") != mutant.tags.end();
  return uint64_t(1) << (needsSizes ? 26 : 20);
}

/// Those of the ops that the mutant names first, then by its tags in their
/// order, then by a hash, so that neighbours in the list are unlike.
std::vector<Unit> unitsFor(const Mutant &mutant, const HuntOptions &options) {
  std::vector<Unit> units;
  size_t seen = 0;
  Selection selection;
  selection.depth = options.everything ? Depth::Smoke : Depth::Standard;
  selection.seed = options.seed;
  selection.budget = budgetFor(mutant);
  auto take = [&](Unit unit) {
    if (options.everything ? seen++ % options.sample == 0
                           : shares(unit.tags, mutant))
      units.push_back(std::move(unit));
  };
  generateChecks(selection, take);
  generateUnits(selection, take);
  auto rank = [&](const Unit &unit) {
    bool isOther = std::ranges::find(mutant.ops, unit.op) == mutant.ops.end();
    auto tag = std::ranges::find_if(mutant.tags, [&](std::string_view wanted) {
      return std::ranges::find(unit.tags, wanted) != unit.tags.end();
    });
    return std::tuple(isOther, tag - mutant.tags.begin(), hashText(unit.id));
  };
  std::ranges::sort(units, {}, rank);
  return units;
}

} // namespace

Hunt::Hunt(const Mutant &mutant, const HuntOptions &options,
           std::function<void(const Kill &)> onKill)
    : mutant_(mutant), options_(options), onKill_(std::move(onKill)),
      job_(jobOptions(mutant.id())), sound_(jobOptions("legal0")) {}

JobOptions Hunt::jobOptions(const std::string &id) {
  std::string device = "mutant://" + id,
              folder = programFolder().string() + "/";
  const std::vector<std::string> with = {"env", "BACKPLANE_MUTANT=" + id,
                                         "BACKPLANE_MUTANT_SEED=" +
                                             std::to_string(options_.seed)};
  JobOptions job;
  job.worker = job.compiler = job.application.launcher = with;
  for (const std::string &word :
       {folder + "bp-worker", std::string("--device"), device})
    job.worker.push_back(word);
  for (const std::string &word :
       {folder + "bp-compile-worker", std::string("--device"), device})
    job.compiler.push_back(word);
  job.application.program = folder + "bp-application";
  job.application.begin.device = device;
  job.application.seed = options_.seed;
  job.longUptime = std::chrono::seconds(6); // 102 s by the clock of m224
  job.judgement = {inputsOf, evaluate, judge, isProbe, expectsError};
  if (mutant_.compiler)
    job.judgement.evaluate = [this](const Graph &, const auto &inputs,
                                    const auto &declaration,
                                    const WeightPool *weights) {
      return evaluate(*asked_, inputs, declaration, weights);
    };
  return job;
}

double Hunt::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                       start_)
      .count();
}

bool Hunt::isDone() const {
  return (options_.until && kills_ >= options_.until) ||
         (options_.seconds > 0 && seconds() > options_.seconds);
}

void Hunt::kill(std::string id, std::string status, std::string reason) {
  ++kills_;
  onKill_({std::move(id), std::move(status), std::move(reason), seconds()});
}

/// What every run of the suite asks of its comparator first.
void Hunt::runSelfChecks() {
  auto weak = [&](const Expected &expected, const Tensor &got,
                  const Numerics &numerics) {
    return compareWeakly(expected, got, numerics, mutant_.weakness);
  };
  std::set<std::string> names;
  for (const std::string &name : failedSelfChecks(weak))
    if (names.insert(name).second)
      kill("self-check/" + name, "Fail", "the comparator answers wrongly");
}

Status Hunt::run() {
  if (mutant_.family == Family::Comparator) {
    runSelfChecks();
    return {};
  }
  return runUnits();
}

Status Hunt::runUnits() {
  for (const Unit &unit : unitsFor(mutant_, options_)) {
    if (isDone())
      return {};
    if (Status status = runUnit(unit); !status.ok())
      return status;
  }
  return {};
}

/// A compiler's mutant compiles another graph than the one that is judged.
Status Hunt::runUnit(Unit unit) {
  Graph asked = unit.graph;
  asked_ = &asked;
  if (mutant_.compiler && unit.check)
    return {};
  if (mutant_.compiler) {
    Result<Graph> broken = mutant_.compiler(unit.graph);
    if (!broken)
      return broken.status().within(unit.id);
    if (*broken == asked)
      return {};
    unit.graph = std::move(*broken);
  }
  auto records = job_.run(unit);
  if (!records)
    return records.status();
  cases_ += records->size();
  unit.graph = asked;
  return confirm(unit, *records);
}

/// A case that fails kills the mutant when it passes with nothing changed.
Status Hunt::confirm(const Unit &unit, const std::vector<Record> &records) {
  Unit again = unit;
  std::erase_if(again.cases, [&](const Case &testCase) {
    auto record = std::ranges::find(records, testCase.id, &Record::id);
    return record == records.end() || isGood(record->status);
  });
  if (again.cases.empty())
    return {};
  auto sound = sound_.run(again);
  if (!sound)
    return sound.status();
  for (const Record &record : records) {
    auto other = std::ranges::find(*sound, record.id, &Record::id);
    if (other == sound->end())
      continue;
    if (!isGood(other->status) && mutant_.family != Family::Legal)
      ++unsound_;
    else
      kill(record.id, std::string(conformance::name(record.status)),
           record.reason);
  }
  return {};
}

} // namespace backplane::mutants
