// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Verify.h"

#include "conformance/publish/RunFiles.h"
#include "conformance/report/StrictJson.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TextViews.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <unordered_map>

using namespace backplane;
using namespace backplane::conformance;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t maxSmallFile = 1 << 20;
constexpr uint64_t maxRecordsFile = uint64_t(1) << 28;
constexpr size_t maxLine = 1 << 16;

/// Statuses that a verdict gives; no runner writes them.
bool isDerived(CaseStatus status) {
  return status == CaseStatus::Waived || status == CaseStatus::XFail ||
         status == CaseStatus::XPass;
}

Result<std::vector<Record>> readRecords(const std::string &path) {
  std::error_code code;
  uint64_t size = fs::file_size(path, code);
  if (code || size > maxRecordsFile)
    return dataLoss("'" + path + "': " +
                    (code ? code.message() : "more than a run can write"));
  std::ifstream file(path, std::ios::binary);
  std::vector<Record> records;
  std::string line;
  while (std::getline(file, line)) {
    const std::string where = path + ":" + std::to_string(records.size() + 1);
    if (line.size() > maxLine)
      return dataLoss(where + ": the line is too long");
    auto record = parseRecord(line);
    if (!record)
      return record.status().within(where);
    if (toJson(*record) != line)
      return dataLoss(where + ": not written as a run writes it");
    if (isDerived(record->status))
      return dataLoss(where + ": a raw record has the status " +
                      std::string(name(record->status)));
    records.push_back(std::move(*record));
  }
  if (!file.eof())
    return dataLoss("cannot read all of '" + path + "'");
  return records;
}

Status readWaivers(const std::string &folder, StoredRun &run) {
  if (run.facts.waiversHash.empty())
    return {};
  auto text = readTextFile(folder + "/waivers.json", maxSmallFile);
  if (!text)
    return text.status();
  if (sha256(asBytes(*text)) != run.facts.waiversHash)
    return dataLoss("'" + folder + "/waivers.json' is not the file of the run");
  auto day = parseDate(run.facts.date);
  if (!day)
    return dataLoss("run.json: 'date' is no date");
  auto waivers = parseWaivers(*text, *day);
  if (!waivers)
    return waivers.status();
  run.waivers = std::move(*waivers);
  run.waiversText = std::move(*text);
  return {};
}

bool isTime(double value) { return std::isfinite(value) && value >= 0; }

/// What a case that was not asked cannot have.
bool hasResults(const Record &record) {
  return record.elements || !record.outputHash.empty() || record.tested.runs;
}

/// Why a record is none that a run writes; empty: nothing speaks against it.
std::string implausible(const Record &planned, const Record &found) {
  if (!isTime(found.compileMs) || !isTime(found.runMs) ||
      !isTime(found.cpuMs) || !isTime(found.tested.seconds) ||
      !isTime(found.tested.magnitude))
    return "has a time or magnitude that is none";
  if (found.tested.elements != planned.tested.elements ||
      found.tested.rank != planned.tested.rank ||
      found.tested.macs != planned.tested.macs)
    return "claims another size than the case has";
  if ((found.status == CaseStatus::NotSupported ||
       found.status == CaseStatus::Refused) &&
      hasResults(found))
    return "has results although it did not run";
  if (found.status != CaseStatus::Pass &&
      found.status != CaseStatus::QualityWarning)
    return {};
  if (!(found.limitUsed >= 0 && found.limitUsed <= 1))
    return "passes with more than its limit used";
  if (found.status == CaseStatus::QualityWarning && found.limitUsed <= 0.5)
    return "warns of less than half of a limit";
  // Checks and cases that must fail have no results.
  bool computes = planned.tested.elements &&
                  !found.dataSet.starts_with("errors") && planned.layer >= 3 &&
                  planned.layer != 7;
  if (computes && (!isHash(found.inputHash) || !isHash(found.outputHash) ||
                   !found.tested.runs))
    return "passes without results";
  return {};
}

/// What differs between a record and its plan; empty: nothing.
std::string differenceFrom(const Record &planned, const Record &found) {
  if (found.unit != planned.unit || found.layer != planned.layer ||
      found.op != planned.op || found.dtype != planned.dtype ||
      found.dataSet != planned.dataSet || found.sizes != planned.sizes ||
      found.seed != planned.seed || found.tags != planned.tags)
    return "does not describe the case that the suite has";
  bool asked = planned.status != CaseStatus::NotSupported;
  if (!asked && found.status != CaseStatus::NotSupported)
    return "ran although the declaration excludes it";
  // Checks of the plug-in find out themselves what there is to check; a set of
  // kernels says on which devices it has a function.
  bool finds = planned.layer <= 2 || planned.layer == 7 || planned.layer == 8;
  if (asked && !finds && found.status == CaseStatus::NotSupported)
    return "was left out although the declaration includes it";
  return implausible(planned, found);
}

Status checkRecords(const std::vector<Record> &planned,
                    const std::vector<Record> &found) {
  std::unordered_map<std::string_view, const Record *> open;
  for (const Record &record : planned)
    open.emplace(record.id, &record);
  std::set<std::string_view> seen;
  for (const Record &record : found) {
    auto at = open.find(record.id);
    if (at == open.end())
      return dataLoss("a record of '" + record.id +
                      "', which the run does not have");
    if (!seen.insert(record.id).second)
      return dataLoss("two records of '" + record.id + "'");
    if (std::string why = differenceFrom(*at->second, record); !why.empty())
      return dataLoss("the record of '" + record.id + "' " + why);
  }
  for (const Record &record : planned)
    if (!seen.contains(record.id))
      return dataLoss("no record of '" + record.id + "'");
  return {};
}

/// Folders below `folder` that hold a run.
std::vector<std::string> shardFolders(const std::string &folder) {
  std::vector<std::string> folders;
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code))
    if (fs::exists(at->path() / "run.json", code))
      folders.push_back(at->path().string());
  std::ranges::sort(folders);
  return folders;
}

} // namespace

Result<StoredRun> conformance::readRun(const std::string &folder) {
  auto text = readTextFile(folder + "/run.json", maxSmallFile);
  if (!text)
    return text.status();
  auto facts = parseFacts(*text);
  if (!facts)
    return facts.status().within("'" + folder + "'");
  if (toJson(*facts) != *text)
    return dataLoss("'" + folder +
                    "/run.json' is not written as a run "
                    "writes it");
  auto records = readRecords(folder + "/records.jsonl");
  if (!records)
    return records.status();
  StoredRun run{std::move(*facts), std::move(*records), {}, {}};
  if (Status s = readWaivers(folder, run); !s.ok())
    return s;
  return run;
}

Result<StoredRun>
conformance::mergeRuns(const std::vector<std::string> &folders) {
  std::optional<StoredRun> all;
  std::set<uint32_t> shards;
  for (const std::string &folder : folders) {
    auto run = readRun(folder);
    if (!run)
      return run;
    if (!shards.insert(run->facts.shard).second)
      return dataLoss("shard " + std::to_string(run->facts.shard) +
                      " is there twice: '" + folder + "'");
    if (!all) {
      all = std::move(*run);
      continue;
    }
    std::string difference = differenceOf(all->facts, run->facts);
    if (!difference.empty())
      return dataLoss("'" + folder + "' is of another run: " + difference);
    all->facts.date = std::min(all->facts.date, run->facts.date);
    for (Record &record : run->records)
      all->records.push_back(std::move(record));
  }
  if (!all)
    return notFound("there is no run.json");
  if (shards.size() != all->facts.shards)
    return dataLoss(std::to_string(shards.size()) + " of " +
                    std::to_string(all->facts.shards) + " shards are there");
  if (all->facts.shards > 1)
    all->facts.environment.emplace_back(
        "merged from", std::to_string(shards.size()) + " shards");
  all->facts.shard = all->facts.shards = 1;
  return std::move(*all);
}

Result<StoredRun> conformance::readRuns(const std::string &folder) {
  std::error_code code;
  if (fs::exists(folder + "/run.json", code))
    return readRun(folder);
  std::vector<std::string> folders = shardFolders(folder);
  if (folders.empty())
    return notFound("'" + folder +
                    "' has neither run.json nor folders of "
                    "shards with one");
  return mergeRuns(folders);
}

static Result<RunVerdict> judgePlanned(StoredRun &run, const PlannedRun &plan) {
  if (plan.mustpass != run.facts.mustpass || plan.cases != run.facts.cases)
    return dataLoss("the run has other cases than this suite: " +
                    std::to_string(run.facts.cases) + ", list " +
                    run.facts.mustpass.substr(0, 16) + ", not " +
                    std::to_string(plan.cases) + ", list " +
                    plan.mustpass.substr(0, 16) +
                    "; verify with the suite that made it");
  if (Status s = checkRecords(plan.records, run.records); !s.ok())
    return s;
  std::vector<std::string> ids;
  for (const Record &record : plan.records)
    ids.push_back(record.id);
  return judgeRun(run.facts, run.records, ids, run.waivers);
}

Result<RunVerdict> conformance::judgeAgain(StoredRun &run,
                                           const Planner &planner) {
  auto plan = planner(run.facts);
  if (!plan)
    return plan.status();
  return judgePlanned(run, *plan);
}

/// Checks the folder of one run or shard against its own records.
static Result<RunVerdict> verifyRun(const std::string &folder, bool sealed,
                                    StoredRun &run, const Planner &planner) {
  auto plan = planner(run.facts);
  if (!plan)
    return plan.status();
  std::set<std::string> failing;
  for (const Record &record : run.records)
    if (isBad(record.status))
      failing.insert(record.id);
  auto verdict = judgePlanned(run, *plan);
  if (!verdict)
    return verdict;
  if (Status s = checkRunFiles({folder, sealed, run.facts, *verdict,
                                run.records, failing, plan->list});
      !s.ok())
    return s;
  return verdict;
}

static Status verifyShards(const std::string &folder, bool sealed,
                           const Planner &planner) {
  const std::vector<std::string> folders = shardFolders(folder);
  if (Status s = checkShardFiles(folder, sealed, folders); !s.ok())
    return s;
  for (const std::string &shard : folders) {
    auto run = readRun(shard);
    if (!run)
      return run.status();
    auto verdict = verifyRun(shard, false, *run, planner);
    if (!verdict)
      return verdict.status();
  }
  return {};
}

static Status checkFacts(const RunFacts &facts, const VerifyRules &rules) {
  if (rules.challenge && *rules.challenge != facts.challenge)
    return dataLoss("the run took the challenge '" + facts.challenge +
                    "', not '" + *rules.challenge + "'");
  auto day = parseDate(facts.date);
  if (rules.today && day && *day > *rules.today + std::chrono::days(1))
    return dataLoss("the run has the date " + facts.date +
                    ", which is to come");
  return {};
}

Result<Verified> conformance::verifyFolder(const std::string &folder,
                                           const VerifyRules &rules,
                                           const Planner &planner) {
  Verified result;
  if (rules.sealed) {
    auto seal = checkSeal(folder, rules.keys.publicKey);
    if (!seal)
      return seal.status();
    result.seal = std::move(*seal);
    if (Status s = trust(result.seal, rules.keys); !s.ok())
      return s;
  }
  auto run = readRuns(folder);
  if (!run)
    return run.status();
  result.run = std::move(*run);
  if (Status s = checkFacts(result.run.facts, rules); !s.ok())
    return s;
  std::error_code code;
  bool whole = fs::exists(folder + "/run.json", code);
  if (!whole)
    if (Status s = verifyShards(folder, rules.sealed, planner); !s.ok())
      return s;
  auto verdict = whole ? verifyRun(folder, rules.sealed, result.run, planner)
                       : judgeAgain(result.run, planner);
  if (!verdict)
    return verdict.status();
  result.verdict = std::move(*verdict);
  return result;
}
