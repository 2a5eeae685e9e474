// SPDX-License-Identifier: Apache-2.0
#include "SaveFailures.h"

#include "Minimize.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace backplane::conformance {

namespace {

using Clock = std::chrono::steady_clock;
/// For all graphs of a run: on a device that hangs each try takes a timeout.
constexpr std::chrono::minutes longest{3};

bool isWorth(const Record &record) {
  return record.layer >= 4 && record.layer <= 6 &&
         (record.status == CaseStatus::Fail ||
          record.status == CaseStatus::Flaky ||
          record.status == CaseStatus::Crash);
}

/// Removes what an earlier run left in the same folder.
Status removeOld(const std::string &folder) {
  namespace fs = std::filesystem;
  std::vector<fs::path> old;
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code))
    if (fs::exists(at->path() / "graph.bpg", code))
      old.push_back(at->path());
  for (const fs::path &path : old)
    if (fs::remove_all(path, code); code)
      return invalidArgument("cannot remove '" + path.string() +
                             "': " + code.message());
  fs::remove(folder, code); // only when it is empty
  return {};
}

/// One case, small where it fails for the examiner too and there is time.
Status saveOne(const Repro &whole, const Record &record, Examiner &examiner,
               const std::string &folder, const std::string &device,
               Clock::time_point deadline) {
  Fails fails = [&](const Repro &repro) {
    if (Clock::now() > deadline)
      return false;
    auto found = examiner.examine(repro);
    return found && (found->status == CaseStatus::Fail ||
                     found->status == CaseStatus::Flaky ||
                     found->status == CaseStatus::Crash);
  };
  // A crash starts a worker anew each time.
  size_t budget = record.status == CaseStatus::Crash ? 60 : 150;
  Repro small = fails(whole) ? minimize(whole, fails, budget).repro : whole;
  auto found = examiner.examine(small);
  if (!found)
    return found.status();
  return saveRepro(folder + "/failures/" + folderNameOf(record.id), small,
                   *found, device,
                   record.id +
                       "\n\nThe whole case: `bp conformance "
                       "--device '" +
                       device + "' --repro '" + record.id + "'`");
}

} // namespace

Result<size_t> saveFailures(const std::vector<Unit> &units,
                            const std::vector<Record> &records,
                            const JobOptions &job, const std::string &folder,
                            const std::string &device) {
  if (Status s = removeOld(folder + "/failures"); !s.ok())
    return s;
  Examiner examiner(job);
  const Clock::time_point deadline = Clock::now() + longest;
  size_t saved = 0;
  for (const Unit &unit : units) {
    // Real models are too large to be made small; `bp compare` cuts them. At
    // the sizes of models the oracle is too slow. What fails in an application
    // may not fail where this looks.
    if (!unit.given.empty() || unit.large ||
        unit.circumstance != Circumstance::Usual)
      continue;
    auto record = std::ranges::find_if(records, [&](const Record &candidate) {
      return candidate.unit == unit.id && isWorth(candidate);
    });
    if (record == records.end() || saved == savedFailures)
      continue;
    auto testCase = std::ranges::find(unit.cases, record->id, &Case::id);
    if (testCase == unit.cases.end())
      continue;
    Repro whole{unit.graph, unit.weights, inputsOf(unit, *testCase)};
    if (Status s = saveOne(whole, *record, examiner, folder, device, deadline);
        !s.ok())
      return s;
    ++saved;
  }
  return saved;
}

} // namespace backplane::conformance
