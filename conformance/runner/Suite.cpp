// SPDX-License-Identifier: Apache-2.0
#include "conformance/runner/Suite.h"

#include "conformance/runner/RecordLog.h"
#include "sdk/package/AtomicFile.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fnmatch.h>
#include <fstream>
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
      if (fnmatch(globs_[i].c_str(), id.c_str(), 0) == 0)
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
Status checkFolder(const SuiteOptions &options,
                   const std::string &description) {
  const std::string path = options.folder + "/run.json";
  std::error_code code;
  fs::create_directories(options.folder, code);
  if (code)
    return invalidArgument("cannot make the folder '" + options.folder +
                           "': " + code.message());
  if (options.resume && fs::exists(path)) {
    std::ifstream file(path);
    std::string found((std::istreambuf_iterator<char>(file)), {});
    if (found != description + "\n")
      return invalidArgument("'" + options.folder + "' is of another run, " +
                             found.substr(0, 300) + "asked for " + description +
                             "; give the same options or another folder");
  }
  std::string text = description + "\n";
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

Result<std::vector<Unit>>
conformance::chooseUnits(const SuiteOptions &options) {
  Globs filters(options.filters), excludes(options.excludes);
  std::vector<Unit> units;
  size_t index = 0;
  generateUnits(options.selection, [&](Unit unit) {
    std::erase_if(unit.cases, [&](const Case &testCase) {
      bool taken = options.filters.empty() || filters.match(testCase.id);
      return excludes.match(testCase.id) || !taken ||
             testCase.depth > options.selection.depth;
    });
    bool mine = index++ % options.shards == options.shard - 1;
    if (mine && !unit.cases.empty())
      units.push_back(std::move(unit));
    return true;
  });
  if (auto status = filters.checkUsed("--filter"); !status.ok())
    return status;
  if (auto status = excludes.checkUsed("--exclude"); !status.ok())
    return status;
  if (units.empty())
    return invalidArgument("no case is left to run");
  return units;
}

Result<std::vector<Record>>
conformance::runSuite(const SuiteOptions &options,
                      const std::vector<Unit> &units,
                      const std::string &description) {
  if (auto status = checkFolder(options, description); !status.ok())
    return status;
  auto log = RecordLog::open(options.folder + "/records.jsonl", options.resume);
  if (!log)
    return log.status();
  Shared shared{options, units, **log};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.jobs; ++i)
    threads.emplace_back(work, std::ref(shared));
  for (std::thread &thread : threads)
    thread.join();
  if (!shared.failure.ok())
    return shared.failure;
  std::vector<std::string> order;
  for (const Unit &unit : units)
    for (const Case &testCase : unit.cases)
      order.push_back(testCase.id);
  if (auto status = (*log)->finish(order); !status.ok())
    return status;
  std::vector<Record> records;
  for (const std::string &id : order)
    records.push_back((*log)->all().at(id));
  return records;
}
