// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the folder of a run and its seal: parts separated by the byte
// 0x1E, in the order of `Part`. The byte 0x1D separates the shards of a run
// that has several, each with parts of its own. An empty part is no file, but
// an empty signature and an empty manifest are made right, and so are the
// reports without a summary, and the hash of the waivers where run.json asks
// for it.
#include "File.h"
#include "conformance/publish/Publish.h"
#include "conformance/publish/Seal.h"
#include "conformance/publish/Verify.h"
#include "conformance/runner/RecordLog.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sodium.h>

using namespace backplane;
using namespace backplane::conformance;
namespace fs = std::filesystem;

namespace {

enum Part {
  Run,       ///< run.json
  Records,   ///< records.jsonl
  Waivers,   ///< waivers.json
  Summary,   ///< summary.json
  Manifest,  ///< manifest.json
  Signature, ///< manifest.sig, which is read as a file of known keys too
  Planned,   ///< records as the suite plans them; empty: those of the run
  More,      ///< names below the whole folder, see `makeEntry`
  List,      ///< mustpass.txt
  Keys,      ///< a file of known keys; empty: the right one
  partCount
};
using Parts = std::array<std::string, partCount>;

std::vector<std::string> split(std::string_view text, char by, size_t most) {
  std::vector<std::string> parts;
  while (parts.size() < most) {
    size_t end = text.find(by);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos)
      break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

std::string hexOf(std::span<const uint8_t> bytes) {
  std::string text(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

/// As whoever forges a manifest would sign it.
std::string signatureOf(std::string_view manifest) {
  std::array<uint8_t, crypto_sign_SEEDBYTES> seed = {};
  std::array<uint8_t, crypto_sign_PUBLICKEYBYTES> key;
  std::array<uint8_t, crypto_sign_SECRETKEYBYTES> secret;
  std::array<uint8_t, crypto_sign_BYTES> signature;
  crypto_sign_seed_keypair(key.data(), secret.data(), seed.data());
  crypto_sign_detached(signature.data(), nullptr,
                       reinterpret_cast<const uint8_t *>(manifest.data()),
                       manifest.size(), secret.data());
  return hexOf(key) + "\n" + hexOf(signature) + "\n";
}

void writeFile(const std::string &path, const std::string &text) {
  if (!text.empty())
    std::ofstream(path, std::ios::binary) << text;
}

/// "a/b" is an empty file, "a/" a folder and "@a" a link, below the folder.
void makeEntry(const fs::path &folder, std::string name) {
  const bool link = name.starts_with('@');
  name = fs::path(name.substr(link)).lexically_normal().string();
  std::error_code code;
  if (name.empty() || name.size() > 128 || name.front() == '/' ||
      name.starts_with("..") || name.find('\0') != name.npos)
    return;
  const fs::path path = folder / name;
  fs::create_directories(path.parent_path(), code);
  if (link)
    fs::create_symlink("run.json", path, code);
  else if (!fs::exists(path, code))
    std::ofstream(path, std::ios::binary);
}

void fixHash(std::string &run, const std::string &waivers) {
  constexpr std::string_view asked = "made right";
  std::array<uint8_t, crypto_hash_sha256_BYTES> hash;
  size_t at = run.find(asked);
  if (at == std::string::npos)
    return;
  crypto_hash_sha256(hash.data(),
                     reinterpret_cast<const uint8_t *>(waivers.data()),
                     waivers.size());
  run.replace(at, asked.size(), hexOf(hash));
}

/// A run as an input describes it, in `run()`, and what verifies it.
class Case {
public:
  Case() {
    if (sodium_init() < 0 || !createKey(key()).ok())
      std::abort();
  }
  std::string run() const { return folder_.path() + "/run"; }
  std::string key() const { return keys_.path() + "/key"; }
  std::string publicKey() const { return key() + ".pub"; }
  std::string knownKeys() const { return keys_.path() + "/known"; }

  void make(std::string_view text) {
    std::error_code code;
    fs::remove_all(run(), code);
    fs::create_directory(run(), code);
    shards_.clear();
    for (const std::string &shard : split(text, '\x1D', 4)) {
      Parts &parts = shards_.emplace_back();
      std::ranges::move(split(shard, '\x1E', partCount), parts.begin());
    }
    for (size_t i = 0; i < shards_.size(); ++i)
      put(shards_.size() == 1 ? run() : run() + "/" + std::to_string(i + 1),
          shards_[i]);
    std::string owner;
    std::getline(std::ifstream(publicKey()), owner);
    const std::string &known = shards_[0][Keys];
    fs::remove(knownKeys(), code);
    writeFile(knownKeys(), known.empty() ? "builder " + owner + "\n" : known);
  }

  void seal() const {
    const Parts &parts = shards_[0];
    if (!parts[Manifest].empty())
      writeFile(run() + "/manifest.json", parts[Manifest]);
    else if (sealFolder(run(), key()).ok() && !checkSeal(run(), publicKey()))
      __builtin_trap();
    if (!parts[Signature].empty())
      writeFile(run() + "/manifest.sig", parts[Signature]);
    else if (!parts[Manifest].empty())
      writeFile(run() + "/manifest.sig", signatureOf(parts[Manifest]));
  }

  /// The records of the part `Planned` are those of another suite's list.
  Result<PlannedRun> plan(const RunFacts &facts) const {
    const bool own = shards_[0][Planned].empty();
    PlannedRun plan{.cases = facts.cases,
                    .mustpass = own ? facts.mustpass : "list",
                    .list = shards_[0][List]};
    for (size_t i = 0; i < shards_.size(); ++i) {
      if (facts.shards > 1 && i + 1 != facts.shard)
        continue;
      for (const std::string &line :
           split(shards_[i][own ? Records : Planned], '\n', 64)) {
        if (line.empty())
          continue;
        auto record = parseRecord(line);
        if (!record)
          return record.status();
        plan.records.push_back(std::move(*record));
      }
    }
    return plan;
  }

private:
  void put(const std::string &folder, Parts &parts) const {
    std::error_code code;
    fs::create_directory(folder, code);
    fixHash(parts[Run], parts[Waivers]);
    writeFile(folder + "/run.json", parts[Run]);
    writeFile(folder + "/records.jsonl", parts[Records]);
    writeFile(folder + "/waivers.json", parts[Waivers]);
    writeFile(folder + "/mustpass.txt", parts[List]);
    for (const std::string &name : split(parts[More], '\n', 16))
      makeEntry(run(), name);
    if (parts[Summary].empty())
      makeReports(folder);
    else
      writeFile(folder + "/summary.json", parts[Summary]);
  }

  void makeReports(const std::string &folder) const {
    auto run = readRun(folder);
    if (!run)
      return;
    auto verdict =
        judgeAgain(*run, [this](const RunFacts &facts) { return plan(facts); });
    if (verdict)
      (void)writeReports(folder, run->facts, *verdict, run->records);
  }

  const fuzz::Folder folder_, keys_;
  std::vector<Parts> shards_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Case made;
  made.make({reinterpret_cast<const char *>(data), size});
  const std::string run = made.run(), log = run + "/records.jsonl";
  auto planner = [](const RunFacts &facts) { return made.plan(facts); };
  (void)verifyFolder(run, {.sealed = false}, planner);
  made.seal();
  for (const std::string &key :
       {made.publicKey(), run + "/manifest.sig", run + "/absent"})
    (void)checkSeal(run, key);
  (void)verifyFolder(run, {.sealed = true, .keys = {.any = true}}, planner);
  (void)verifyFolder(
      run, {.keys = {.publicKey = made.publicKey()}, .challenge = ""}, planner);
  auto verified = verifyFolder(run,
                               {.keys = {.knownKeys = made.knownKeys()},
                                .today = parseDate("2026-11-22")},
                               planner);
  if (auto known = readKnownKeys(run + "/manifest.sig"))
    for (const auto &[publicKey, owner] : *known)
      (void)fingerprint(publicKey);
  (void)mergeRuns({run, run});
  // A second one at once is refused.
  if (auto first = RecordLog::open(log, true))
    if (RecordLog::open(log, true))
      __builtin_trap();
  if (RecordLog::open(run, true) || RecordLog::open(log + "/absent", true))
    __builtin_trap();
  // No file of a sealed run can change.
  if (!verified)
    return 0;
  std::ofstream(run + "/more", std::ios::app) << "x";
  if (checkSeal(run, ""))
    __builtin_trap();
  return 0;
}
