// SPDX-License-Identifier: Apache-2.0
#include "Commands.h"
#include "conformance/publish/Archive.h"
#include "conformance/publish/Diff.h"
#include "conformance/publish/Publish.h"
#include "conformance/publish/Verify.h"
#include "conformance/report/StrictJson.h"
#include "conformance/report/SuiteVersion.h"
#include "conformance/runner/Mustpass.h"
#include "sdk/package/AtomicFile.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace backplane::conformance {
namespace {

namespace fs = std::filesystem;

Result<PlannedRun> plan(const RunFacts &facts) {
  if (facts.suite != suiteVersion)
    return invalidArgument("the run was made by suite " + facts.suite +
                           ", this is " + std::string(suiteVersion) +
                           "; verify with the suite that made it");
  auto plan = planOf(facts);
  if (!plan)
    return plan.status();
  return PlannedRun{plan->records(facts.computeDTypes, facts.storageDTypes),
                    plan->mustpass.size(), hashOfIds(plan->mustpass)};
}

Status writeText(const std::string &path, const std::string &text) {
  return writeFileAtomically(
      path, {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

int refuse(const Status &status) {
  std::fprintf(stderr, "refused: %s\n", status.message().c_str());
  return notPassed;
}

/// The folder of a submission, unpacked when it is a file; the temporary folder
/// goes with this object.
class Submission {
public:
  Status open(const std::string &path) {
    folder_ = path;
    std::error_code code;
    if (fs::is_directory(path, code))
      return {};
    std::string pattern =
        (fs::temp_directory_path(code) / "bp-XXXXXX").string();
    if (code || !mkdtemp(pattern.data()))
      return Status(BP_STATUS_UNAVAILABLE, "cannot make a temporary folder");
    temporary_ = folder_ = pattern;
    return unpackArchive(path, folder_);
  }
  ~Submission() {
    std::error_code code;
    if (!temporary_.empty())
      fs::remove_all(temporary_, code);
  }
  const std::string &folder() const { return folder_; }

private:
  std::string folder_, temporary_;
};

/// Writes a merged run as if it had been one.
Status writeRun(const std::string &folder, StoredRun &run,
                const RunVerdict &verdict, const std::string &rawRecords) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code)
    return invalidArgument("cannot make the folder '" + folder +
                           "': " + code.message());
  if (Status s = writeText(folder + "/run.json", toJson(run.facts)); !s.ok())
    return s;
  if (Status s = writeText(folder + "/records.jsonl", rawRecords); !s.ok())
    return s;
  if (!run.waiversText.empty())
    if (Status s = writeText(folder + "/waivers.json", run.waiversText);
        !s.ok())
      return s;
  return writeReports(folder, run.facts, verdict, run.records);
}

} // namespace

int verifyCommand(const VerifyOptions &options) {
  Submission submission;
  if (Status s = submission.open(options.path); !s.ok())
    return refuse(s);
  auto verified =
      verifyFolder(submission.folder(), !options.unsealed, options.key, plan);
  if (!verified)
    return refuse(verified.status());
  const RunFacts &facts = verified->run.facts;
  printVerdict(verified->verdict, verified->run.records);
  std::printf("device %s, plug-in %s, suite %s (%s), %s\n",
              facts.device.c_str(), facts.plugin.c_str(), facts.suite.c_str(),
              facts.commit.c_str(), facts.date.c_str());
  if (!options.unsealed)
    std::printf("seal holds: %zu files, root %s, key %s\n",
                verified->seal.files, verified->seal.root.c_str(),
                verified->seal.publicKey.c_str());
  return verified->verdict.passed ? passed : notPassed;
}

int sealCommand(const SealOptions &options) {
  if (Status s = sealFolder(options.folder, options.key); !s.ok())
    return fail(s);
  if (!options.archive.empty())
    if (Status s = packArchive(options.folder, options.archive); !s.ok())
      return fail(s);
  std::printf("sealed %s\n", options.archive.empty() ? options.folder.c_str()
                                                     : options.archive.c_str());
  return passed;
}

int keygenCommand(const std::string &path) {
  if (Status s = createKey(path); !s.ok())
    return fail(s);
  std::printf("secret key in %s, public key in %s.pub\n", path.c_str(),
              path.c_str());
  return passed;
}

int mergeCommand(const std::vector<std::string> &folders,
                 const std::string &out) {
  auto run = mergeRuns(folders);
  if (!run)
    return fail(run.status());
  // In the order in which one run would have had them.
  auto planned = plan(run->facts);
  if (!planned)
    return fail(planned.status());
  std::map<std::string, size_t> place;
  for (const Record &record : planned->records)
    place.emplace(record.id, place.size());
  std::ranges::stable_sort(run->records, {}, [&](const Record &record) {
    auto at = place.find(record.id);
    return at == place.end() ? place.size() : at->second;
  });
  std::string raw;
  for (const Record &record : run->records)
    raw += toJson(record) + "\n";
  auto verdict = judgeAgain(*run, plan);
  if (!verdict)
    return fail(verdict.status());
  printVerdict(*verdict, run->records);
  if (Status s = writeRun(out, *run, *verdict, raw); !s.ok())
    return fail(s);
  std::printf("report in %s/report.html\n", out.c_str());
  return verdict->passed ? passed : notPassed;
}

int diffCommand(const std::string &before, const std::string &after) {
  Submission first, second;
  for (auto [submission, path] :
       {std::pair(&first, &before), std::pair(&second, &after)})
    if (Status s = submission->open(*path); !s.ok())
      return fail(s);
  auto a = readRuns(first.folder()), b = readRuns(second.folder());
  if (!a || !b)
    return fail(a ? b.status() : a.status());
  RunDiff diff = compareRuns(a->records, b->records);
  std::printf("%s", textOf(diff, 50).c_str());
  std::printf("%s\n", diff.worse() ? "worse" : "not worse");
  return diff.worse() ? notPassed : passed;
}

int mustpassCommand(const std::string &depth, const std::string &path) {
  RunFacts facts;
  facts.depth = depth;
  auto plan = planOf(facts);
  if (!plan)
    return fail(plan.status());
  std::string text =
      "# Backplane conformance " + std::string(suiteVersion) + ", depth " +
      depth + ": " + std::to_string(plan->mustpass.size()) +
      " cases\n# SHA-256 of the sorted ids: " + hashOfIds(plan->mustpass) +
      "\n" + mustpassText(plan->mustpass);
  if (path.empty()) {
    std::printf("%s", text.c_str());
    return passed;
  }
  // A list only grows within a minor version.
  std::error_code code;
  if (fs::exists(path, code)) {
    auto old = readTextFile(path, 64 << 20);
    auto ids = old ? parseMustpass(*old)
                   : Result<std::vector<std::string>>(old.status());
    if (!ids)
      return fail(ids.status());
    std::ranges::sort(plan->mustpass);
    for (const std::string &id : *ids)
      if (!std::ranges::binary_search(plan->mustpass, id))
        return fail(invalidArgument("'" + id + "' of '" + path +
                                    "' has vanished; lists only grow, remove "
                                    "the file to start a new minor version"));
  }
  Status status = writeText(path, text);
  return status.ok() ? passed : fail(status);
}

} // namespace backplane::conformance
