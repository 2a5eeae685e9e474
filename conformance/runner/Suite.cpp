// SPDX-License-Identifier: Apache-2.0
#include "conformance/runner/Suite.h"

#include "conformance/report/Glob.h"
#include "conformance/report/StrictJson.h"
#include "conformance/runner/RecordLog.h"
#include "sdk/package/AtomicFile.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
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
  return writeFileAtomically(
      path, {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

/// What the jobs share.
struct Shared {
  const SuiteOptions &options;
  const std::vector<Unit> &units;
  RecordLog &log;
  std::atomic<size_t> next = 0;
  std::mutex mutex; ///< of all below
  size_t done = 0, bad = 0;
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

void work(Shared &shared) {
  Job job(shared.options.job);
  for (;;) {
    size_t index = shared.next++;
    if (index >= shared.units.size())
      return;
    const Unit &unit = shared.units[index];
    size_t bad = 0;
    if (!recorded(shared.log, unit)) {
      auto records = job.run(unit);
      if (!records)
        return shared.fail(records.status());
      if (auto status = shared.log.append(*records); !status.ok())
        return shared.fail(std::move(status));
      for (const Record &record : *records)
        bad += !isGood(record.status);
    }
    std::lock_guard lock(shared.mutex);
    shared.bad += bad;
    ++shared.done;
    if (shared.options.progress)
      shared.options.progress(shared.done, shared.units.size(), shared.bad);
  }
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
  auto take = [&](Unit unit) {
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
    return true;
  };
  for (const Generator &generate : options.generators)
    generate(options.selection, take);
  isListed = false;
  for (const Unit &unit : options.models)
    take(unit);
  if (auto status = filters.checkUsed("--filter"); !status.ok())
    return status;
  if (auto status = excludes.checkUsed("--exclude"); !status.ok())
    return status;
  if (plan.units.empty())
    return invalidArgument("no case is left to run");
  return plan;
}

Result<std::vector<Record>> conformance::runSuite(const SuiteOptions &options,
                                                  const Plan &plan,
                                                  RunFacts &facts) {
  if (auto status = checkFolder(options, facts); !status.ok())
    return status;
  auto log = RecordLog::open(options.folder + "/records.jsonl", options.resume);
  if (!log)
    return log.status();
  Shared shared{options, plan.units, **log};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.jobs; ++i)
    threads.emplace_back(work, std::ref(shared));
  for (std::thread &thread : threads)
    thread.join();
  if (!shared.failure.ok())
    return shared.failure;
  const std::vector<std::string> order = plan.ids();
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
