// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the files of a run and of its seal, separated by the byte 0x1E:
// run.json, records.jsonl, waivers.json, summary.json, manifest.json,
// manifest.sig, which is read as a file of known keys too. An empty part is no
// file. An empty signature is made right, an empty manifest too, and the hash
// of the waivers where run.json asks for it.
#include "File.h"
#include "conformance/publish/Seal.h"
#include "conformance/publish/Verify.h"
#include "conformance/runner/RecordLog.h"

#include <array>
#include <fstream>
#include <sodium.h>

using namespace backplane;
using namespace backplane::conformance;

namespace {

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

constexpr std::array names = {"run.json",     "records.jsonl", "waivers.json",
                              "summary.json", "manifest.json", "manifest.sig"};

void writeFile(const std::string &path, const std::string &text) {
  if (text.empty())
    unlink(path.c_str());
  else
    std::ofstream(path, std::ios::binary) << text;
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

void writeFiles(const std::string &folder, const std::string &key,
                std::string_view text) {
  std::array<std::string, names.size()> parts;
  for (std::string &part : parts) {
    size_t end = std::min(text.find('\x1E'), text.size());
    part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  fixHash(parts[0], parts[2]);
  bool seal = parts[4].empty();
  if (parts[5].empty())
    parts[5] = signatureOf(parts[4]);
  for (size_t i = 0; i < names.size(); ++i)
    writeFile(folder + "/" + names[i], parts[i]);
  if (seal)
    (void)sealFolder(folder, key);
}

/// The plan that the records of the run would be right for.
Result<PlannedRun> planOf(const std::string &folder, const RunFacts &facts) {
  PlannedRun plan;
  if (auto run = readRuns(folder))
    plan.records = std::move(run->records);
  plan.cases = facts.cases;
  plan.mustpass = facts.mustpass;
  return plan;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder, keys;
  static const std::string key = keys.path() + "/key";
  static const bool ready = sodium_init() >= 0 && createKey(key).ok();
  if (!ready)
    std::abort();
  std::string run = folder.path() + "/run";
  std::filesystem::create_directory(run);
  writeFiles(run, key, {reinterpret_cast<const char *>(data), size});
  auto planner = [&](const RunFacts &facts) { return planOf(run, facts); };
  (void)checkSeal(run, key + ".pub");
  VerifyRules any{.sealed = true, .keys = {.any = true}};
  (void)verifyFolder(run, any, planner);
  (void)verifyFolder(run, {.sealed = false}, planner);
  if (auto known = readKnownKeys(run + "/manifest.sig"))
    for (const auto &[publicKey, owner] : *known)
      (void)fingerprint(publicKey);
  (void)readRuns(folder.path());
  (void)mergeRuns({run, run});
  (void)RecordLog::open(run + "/records.jsonl", true);
  return 0;
}
