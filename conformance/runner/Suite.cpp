// SPDX-License-Identifier: Apache-2.0
#include "conformance/runner/Suite.h"

#include "conformance/cases/Data.h"
#include "conformance/report/Faults.h"
#include "conformance/report/Profiles.h"
#include "conformance/report/StrictJson.h"
#include "conformance/runner/RecordLog.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/Glob.h"
#include "sdk/support/TextViews.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <numeric>
#include <thread>

using namespace backplane;
using namespace backplane::conformance;
namespace fs = std::filesystem;

namespace {

/// Globs that remember whether they have matched anything.
class Globs {
public:
  explicit Globs(const std::vector<std::string> &globs)
      : globs_(globs), used_(globs.size()) {}

  bool match(const std::string &id) {
    bool any = false;
    for (size_t i = 0; i < globs_.size(); ++i)
      if (matchesGlob(globs_[i], id))
        any = used_[i] = true;
    return any;
  }
  /// The first one that never matched.
  Status checkUsed(const char *option) const {
    for (size_t i = 0; i < globs_.size(); ++i)
      if (!used_[i])
        return invalidArgument(std::string(option) + " '" + globs_[i] +
                               "' matches no case; see --list");
    return {};
  }

private:
  const std::vector<std::string> &globs_;
  std::vector<bool> used_;
};

/// Refuses to mix the records of two runs.
Status checkFolder(const SuiteOptions &options, RunFacts &facts) {
  const std::string path = options.folder + "/run.json";
  std::error_code code;
  fs::create_directories(options.folder, code);
  if (code)
    return invalidArgument("cannot make the folder '" + options.folder +
                           "': " + code.message());
  if (options.resume && fs::exists(path)) {
    auto text = readTextFile(path, 1 << 20);
    if (!text)
      return text.status();
    auto found = parseFacts(*text);
    if (!found)
      return found.status().within("'" + options.folder + "'");
    std::string difference = differenceOf(*found, facts);
    if (found->shard != facts.shard)
      difference = "another shard";
    if (!difference.empty())
      return invalidArgument("'" + options.folder + "' is of another run (" +
                             difference +
                             "); give the same options or another folder");
    facts.date = found->date;
  }
  std::string text = toJson(facts);
  return writeFileAtomically(path, asBytes(text));
}

/// What the jobs share.
struct Shared {
  const SuiteOptions &options;
  const std::vector<Unit> &units;
  RecordLog &log;
  std::vector<size_t> order; ///< of the units
  std::atomic<size_t> next = 0;
  std::mutex mutex; ///< of all below
  size_t done = 0, bad = 0;
  Faults faults;
  Status failure;

  void fail(Status status) {
    std::lock_guard lock(mutex);
    if (failure.ok())
      failure = std::move(status);
    next = units.size();
  }
};

bool recorded(const RecordLog &log, const Unit &unit) {
  return std::ranges::all_of(
      unit.cases, [&](const Case &testCase) { return log.has(testCase.id); });
}

/// Keeps the records of a unit, none where it has them already; false when the
/// run is to end.
bool finish(Shared &shared, const std::vector<Record> &records) {
  if (auto status = checkRoom(records); !status.ok()) {
    shared.fail(std::move(status));
    return false;
  }
  if (auto status = shared.log.append(records); !status.ok()) {
    shared.fail(std::move(status));
    return false;
  }
  std::lock_guard lock(shared.mutex);
  bool isHopeless = false;
  for (const Record &record : records) {
    shared.bad += isBad(record.status);
    isHopeless |= shared.faults.add(record);
  }
  ++shared.done;
  if (shared.options.progress)
    shared.options.progress(shared.done, shared.units.size(), shared.bad);
  if (isHopeless && !shared.options.job.keepGoing)
    shared.next = shared.units.size();
  return true;
}

bool isLong(const Unit &unit) {
  return unit.circumstance == Circumstance::LongUptime;
}

void work(Shared &shared) {
  Job job(shared.options.job);
  for (;;) {
    size_t index = shared.next++;
    if (index >= shared.units.size())
      return;
    const Unit &unit = shared.units[shared.order[index]];
    if (isLong(unit))
      continue;
    std::vector<Record> records;
    if (!recorded(shared.log, unit)) {
      auto made = job.run(unit);
      if (!made)
        return shared.fail(made.status());
      records = std::move(*made);
    }
    if (!finish(shared, records))
      return;
  }
}

/// Units that need a process of some age have it to themselves, from the start
/// of the run on.
void workLong(Shared &shared) {
  std::vector<Unit> units;
  for (const Unit &unit : shared.units)
    if (isLong(unit) && !recorded(shared.log, unit))
      units.push_back(unit);
    else if (isLong(unit) && !finish(shared, {}))
      return;
  Job job(shared.options.job);
  auto records = job.runLong(units);
  if (!records)
    return shared.fail(records.status());
  for (const std::vector<Record> &some : *records)
    if (!finish(shared, some))
      return;
}

bool isOf(const Profile &profile, const Unit &unit) {
  std::vector<DType> dtypes = unit.dtypes;
  dtypes.insert(dtypes.end(), unit.stored.begin(), unit.stored.end());
  return profile.admits(unit.graph, dtypes);
}

/// The order in which units run: as they are made; in disguise, any.
std::vector<size_t> orderOf(const SuiteOptions &options,
                            const std::vector<Unit> &units) {
  std::vector<size_t> order(units.size());
  std::iota(order.begin(), order.end(), size_t(0));
  if (options.job.disguise)
    std::ranges::sort(order, {}, [&](size_t index) {
      return randomBits(hashText(units[index].id), options.selection.seed);
    });
  return order;
}

} // namespace

std::vector<std::string> Plan::ids() const {
  std::vector<std::string> all;
  for (const Unit &unit : units)
    for (const Case &testCase : unit.cases)
      all.push_back(testCase.id);
  return all;
}

std::vector<Record> Plan::records(uint64_t computeDTypes,
                                  uint64_t storageDTypes) const {
  std::vector<Record> all;
  for (const Unit &unit : units)
    for (const Case &testCase : unit.cases) {
      all.push_back(plannedRecord(unit, testCase));
      if (!notSupported(unit, computeDTypes, storageDTypes).empty())
        all.back().status = CaseStatus::NotSupported;
    }
  return all;
}

Result<Plan> conformance::planSuite(const SuiteOptions &options) {
  Globs filters(options.filters), excludes(options.excludes);
  Plan plan;
  size_t index = 0;
  bool isListed = true;
  const Profile *profile = findProfile(options.profile);
  auto take = [&](Unit unit) {
    bool isAlone = unit.check || unit.circumstance != Circumstance::Usual;
    if ((profile && !isOf(*profile, unit)) || (options.helped && isAlone))
      return;
    std::erase_if(unit.cases, [&](const Case &testCase) {
      if (testCase.depth > options.selection.depth)
        return true;
      if (isListed)
        plan.mustpass.push_back(testCase.id);
      bool taken = options.filters.empty() || filters.match(testCase.id);
      return excludes.match(testCase.id) || !taken;
    });
    bool mine = index++ % options.shards == options.shard - 1;
    if (mine && !unit.cases.empty())
      plan.units.push_back(std::move(unit));
  };
  for (const Generator &generate : options.generators)
    generate(options.selection, take);
  isListed = false;
  for (const auto *units : {&options.models, &options.kernels})
    for (const Unit &unit : *units)
      take(unit);
  if (auto status = filters.checkUsed("--filter"); !status.ok())
    return status;
  if (auto status = excludes.checkUsed("--exclude"); !status.ok())
    return status;
  if (plan.units.empty())
    return invalidArgument("no case is left to run");
  return plan;
}

/// Where the system gives fewer threads than jobs, those that there are do all.
static void workInThreads(Shared &shared, bool hasLong) {
  std::vector<std::jthread> threads;
  auto start = [&](void (*body)(Shared &)) {
    try {
      threads.emplace_back(body, std::ref(shared));
      return true;
    } catch (const std::system_error &) {
      return false;
    }
  };
  bool isLater = hasLong && !start(workLong);
  for (unsigned i = 1; i < shared.options.jobs && start(work); ++i)
    ;
  work(shared);
  if (isLater)
    workLong(shared);
}

Result<std::vector<Record>> conformance::runSuite(const SuiteOptions &options,
                                                  const Plan &plan,
                                                  RunFacts &facts) {
  if (auto status = checkFolder(options, facts); !status.ok())
    return status;
  auto log = RecordLog::open(options.folder + "/records.jsonl", options.resume);
  if (!log)
    return log.status();
  Shared shared{options, plan.units, **log, orderOf(options, plan.units)};
  workInThreads(shared, std::ranges::any_of(plan.units, isLong));
  if (!shared.failure.ok())
    return shared.failure;
  std::vector<std::string> order = plan.ids();
  bool isCut = !options.job.keepGoing && !shared.faults.text().empty();
  if (isCut)
    std::erase_if(order,
                  [&](const std::string &id) { return !(*log)->has(id); });
  if (auto status = (*log)->finish(order); !status.ok())
    return status;
  std::vector<Record> records;
  // As who reads the file has them: text of a device may be any bytes.
  for (const std::string &id : order) {
    auto record = parseRecord(toJson((*log)->all().at(id)));
    if (!record)
      return record.status();
    records.push_back(std::move(*record));
  }
  return records;
}
