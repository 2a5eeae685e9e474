// SPDX-License-Identifier: Apache-2.0
#include "Commands.h"
#include "conformance/publish/Archive.h"
#include "conformance/publish/Diff.h"
#include "conformance/publish/Publish.h"
#include "conformance/publish/Verify.h"
#include "conformance/report/StrictJson.h"
#include "conformance/report/SuiteVersion.h"
#include "conformance/runner/Mustpass.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/ReadableText.h"
#include "sdk/support/TemporaryFolder.h"
#include "sdk/support/TextViews.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

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
                    plan->mustpass.size(), hashOfIds(plan->mustpass),
                    mustpassText(plan->mustpass)};
}

int refuse(const Status &status) {
  std::fprintf(stderr, "refused: %s\n",
               readableMessage(status.message()).c_str());
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
    folder_ = temporary_.emplace().path();
    if (folder_.empty())
      return Status(BP_STATUS_UNAVAILABLE, "cannot make a temporary folder");
    return unpackArchive(path, folder_);
  }
  const std::string &folder() const { return folder_; }

private:
  std::string folder_;
  std::optional<TemporaryFolder> temporary_;
};

/// Writes a merged run as if it had been one.
Status writeRun(const std::string &folder, StoredRun &run,
                const RunVerdict &verdict, const std::string &rawRecords,
                const std::string &list) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code)
    return invalidArgument("cannot make the folder '" + folder +
                           "': " + code.message());
  const std::string facts = toJson(run.facts);
  std::vector<std::pair<std::string, std::string_view>> files = {
      {"run.json", facts},
      {"records.jsonl", rawRecords},
      {"mustpass.txt", list}};
  if (!run.waiversText.empty())
    files.emplace_back("waivers.json", run.waiversText);
  for (const auto &[name, text] : files)
    if (Status s = writeFileAtomically(folder + "/" + name, asBytes(text));
        !s.ok())
      return s;
  return writeReports(folder, run.facts, verdict, run.records);
}

} // namespace

/// Who made it, of what, and what a reader should know of it.
static void printOrigin(const Verified &verified, bool sealed) {
  const RunFacts &facts = verified.run.facts;
  std::printf("device %s, plug-in %s, suite %s (%s), %s, seed %llu%s%s\n",
              facts.device.c_str(), facts.plugin.c_str(), facts.suite.c_str(),
              facts.commit.c_str(), facts.date.c_str(),
              static_cast<unsigned long long>(facts.seed),
              facts.challenge.empty() ? "" : ", challenge ",
              facts.challenge.c_str());
  for (const auto &[name, hash] : facts.pluginFiles)
    std::printf("plug-in file %s, SHA-256 %s\n", name.c_str(), hash.c_str());
  if (facts.commit.ends_with("-dirty"))
    std::printf("note: the source of the suite had been changed\n");
  auto today = *parseDate(now());
  for (const Waiver &waiver : verified.run.waivers)
    if (today >= waiver.expires)
      std::printf("note: waiver '%s' has expired since the run\n",
                  waiver.id.c_str());
  if (sealed)
    std::printf("seal holds: %zu files, root %s, key %s of %s\n",
                verified.seal.files, verified.seal.root.c_str(),
                fingerprint(verified.seal.publicKey).c_str(),
                verified.seal.owner.empty() ? "an unknown owner (--any-key)"
                                            : verified.seal.owner.c_str());
}

int verifyCommand(VerifyOptions &options) {
  Submission submission;
  if (Status s = submission.open(options.path); !s.ok())
    return refuse(s);
  VerifyRules rules{!options.unsealed, options.keys, options.challenge,
                    parseDate(now())};
  auto verified = verifyFolder(submission.folder(), rules, plan);
  if (!verified)
    return refuse(verified.status());
  printVerdict(verified->verdict, verified->run.records);
  printOrigin(*verified, !options.unsealed);
  bool holds = true;
  if (!options.rerun.empty()) {
    auto result = rerun(verified->run, options.run, options.rerun);
    if (!result)
      return fail(result.status());
    holds = *result;
  }
  return verified->verdict.passed && holds ? passed : notPassed;
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
  auto text = readTextFile(path + ".pub", 1 << 10);
  std::printf("secret key in %s, public key in %s.pub, fingerprint %s\n",
              path.c_str(), path.c_str(),
              text ? fingerprint(text->substr(0, 64)).c_str() : "unknown");
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
  if (Status s = writeRun(out, *run, *verdict, raw, planned->list); !s.ok())
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

/// Refuses to lose a case that the list in `path` has.
static Status checkGrows(const std::string &path,
                         std::vector<std::string> planned) {
  std::error_code code;
  if (!fs::exists(path, code))
    return {};
  auto old = readTextFile(path, 64 << 20);
  if (!old)
    return old.status();
  auto ids = parseMustpass(*old);
  if (!ids)
    return ids.status();
  std::ranges::sort(planned);
  for (const std::string &id : *ids)
    if (!std::ranges::binary_search(planned, id))
      return invalidArgument("'" + id + "' of '" + path +
                             "' has vanished; lists only grow, --anew starts "
                             "those of a new minor version");
  return {};
}

static Status writeList(const std::string &depth, const std::string &path,
                        bool anew) {
  RunFacts facts;
  facts.depth = depth;
  auto plan = planOf(facts);
  if (!plan)
    return plan.status();
  std::string text =
      "# Backplane conformance " + std::string(suiteVersion) + ", depth " +
      depth + ": " + std::to_string(plan->mustpass.size()) +
      " cases\n# SHA-256 of the sorted ids: " + hashOfIds(plan->mustpass) +
      "\n" + mustpassText(plan->mustpass);
  if (path.empty()) {
    std::printf("%s", text.c_str());
    return {};
  }
  if (!anew)
    if (Status s = checkGrows(path, std::move(plan->mustpass)); !s.ok())
      return s;
  return writeFileAtomically(path, asBytes(text));
}

int mustpassCommand(const std::string &depth, const std::string &path,
                    bool anew) {
  if (depth != "all") {
    Status status = writeList(depth, path, anew);
    return status.ok() ? passed : fail(status);
  }
  const std::string folder = path + "/" + std::string(suiteMinor);
  std::error_code code;
  fs::create_directories(folder, code);
  for (const char *one : {"smoke", "standard"})
    if (Status s = writeList(one, folder + "/" + one + ".txt", anew); !s.ok())
      return fail(s);
  return passed;
}

} // namespace backplane::conformance
