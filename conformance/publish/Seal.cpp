// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Seal.h"

#include "conformance/publish/Archive.h"
#include "conformance/report/StrictJson.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TextViews.h"

#include <nlohmann/json.hpp>
#include <sodium.h>

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sstream>
#include <unistd.h>
#include <vector>

using namespace backplane;
using namespace backplane::conformance;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char *manifestName = "manifest.json";
constexpr const char *signatureName = "manifest.sig";
/// A manifest is read whole; a run has a handful of files.
constexpr uintmax_t maxSmallFile = 1 << 20;

using PublicKey = std::array<uint8_t, crypto_sign_PUBLICKEYBYTES>;
using SecretKey = std::array<uint8_t, crypto_sign_SECRETKEYBYTES>;
using Signature = std::array<uint8_t, crypto_sign_BYTES>;

Status startSodium() {
  if (sodium_init() < 0)
    return internalError("libsodium does not start");
  return {};
}

std::string hex(const uint8_t *data, size_t size) {
  std::string text(size * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), data, size);
  text.pop_back();
  return text;
}

template <size_t N>
Result<std::array<uint8_t, N>> unhex(std::string_view text,
                                     const std::string &where) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  std::array<uint8_t, N> data;
  size_t size = 0;
  const char *end = nullptr;
  if (text.size() != 2 * N ||
      sodium_hex2bin(data.data(), N, text.data(), text.size(), nullptr, &size,
                     &end) != 0 ||
      size != N || end != text.data() + text.size())
    return dataLoss(where + ": not " + std::to_string(2 * N) +
                    " hexadecimal digits");
  return data;
}

Result<std::string> readSmall(const fs::path &path) {
  return readTextFile(path.string(), maxSmallFile);
}

/// Relative path to SHA-256, for all files but the seal itself.
using Hashes = std::map<std::string, std::string>;

Result<Hashes> hashFolder(const std::string &folder) {
  Hashes hashes;
  std::error_code code;
  for (fs::recursive_directory_iterator at(folder, code), end;
       !code && at != end; at.increment(code)) {
    std::string name = at->path().lexically_relative(folder).generic_string();
    if (name == manifestName || name == signatureName)
      continue;
    if (at->is_symlink(code) ||
        (!at->is_directory(code) && !at->is_regular_file(code)))
      return dataLoss("'" + at->path().string() +
                      "' is neither a file nor a folder; remove it");
    if (at->is_directory(code))
      continue;
    if (uintmax_t bytes = at->file_size(code); !code && bytes > maxArchiveBytes)
      return dataLoss("'" + at->path().string() + "' has " +
                      std::to_string(bytes) + " bytes, a file of a run has " +
                      std::to_string(maxArchiveBytes) + " or less; remove it");
    auto hash = sha256OfFile(at->path().string());
    if (!hash)
      return hash.status();
    hashes[name] = *hash;
  }
  if (code)
    return notFound("cannot list '" + folder + "': " + code.message());
  return hashes;
}

std::string rootOf(const Hashes &hashes) {
  std::string lines;
  for (const auto &[name, hash] : hashes)
    lines += hash + "  " + name + "\n";
  uint8_t digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(digest, reinterpret_cast<const uint8_t *>(lines.data()),
                     lines.size());
  return hex(digest, sizeof digest);
}

/// Creates a file that must not exist, with these permissions; one that cannot
/// be written whole is removed.
Status writeNew(const std::string &path, const std::string &text, int mode) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0)
    return invalidArgument("cannot create '" + path +
                           "': " + std::generic_category().message(errno) +
                           "; keys are never overwritten");
  ssize_t written = write(fd, text.data(), text.size());
  bool good = written == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  std::string why = std::generic_category().message(errno);
  close(fd);
  if (good)
    return {};
  unlink(path.c_str());
  return dataLoss("cannot write all of '" + path + "': " + why);
}

Result<Hashes> parseManifest(const std::string &text, std::string &root) {
  auto json = parseStrictJson(text);
  if (!json)
    return json.status().within(manifestName);
  ObjectReader reader(*json, manifestName);
  uint64_t version = 0;
  std::vector<std::pair<std::string, std::string>> files;
  reader.read("version", version);
  reader.read("root", root);
  reader.read("files", files);
  if (version != 1)
    reader.fail("not a manifest of version 1");
  if (Status s = reader.finish(); !s.ok())
    return s;
  return Hashes(files.begin(), files.end());
}

/// Refuses files whose names a manifest cannot hold.
Status checkNames(const Hashes &hashes, const std::string &manifest) {
  std::string root;
  auto listed = parseManifest(manifest, root);
  if (!listed)
    return listed.status();
  for (const auto &[name, hash] : hashes)
    if (!listed->contains(name))
      return dataLoss("the name of '" + name +
                      "' is not UTF-8; rename or remove the file");
  return {};
}

/// The first difference between what is listed and what is there.
Status compareHashes(const Hashes &listed, const Hashes &found) {
  for (const auto &[name, hash] : listed) {
    auto at = found.find(name);
    if (at == found.end())
      return dataLoss("'" + name + "' is listed in the manifest and missing");
    if (at->second != hash)
      return dataLoss("'" + name + "' was changed: SHA-256 " + at->second +
                      ", the manifest says " + hash);
  }
  for (const auto &[name, hash] : found)
    if (!listed.count(name))
      return dataLoss("'" + name + "' is not listed in the manifest");
  return {};
}

struct SignatureFile {
  PublicKey key;
  Signature signature;
};

Result<SignatureFile> readSignature(const std::string &folder) {
  auto text = readSmall(fs::path(folder) / signatureName);
  if (!text)
    return text.status();
  size_t line = text->find('\n');
  if (line == std::string::npos)
    return dataLoss(std::string(signatureName) + ": two lines are needed");
  auto key = unhex<crypto_sign_PUBLICKEYBYTES>(
      std::string_view(*text).substr(0, line), signatureName);
  if (!key)
    return key.status();
  auto signature = unhex<crypto_sign_BYTES>(
      std::string_view(*text).substr(line + 1), signatureName);
  if (!signature)
    return signature.status();
  return SignatureFile{*key, *signature};
}

Status checkKey(const PublicKey &key, const std::string &publicKeyPath) {
  if (publicKeyPath.empty())
    return {};
  auto text = readSmall(publicKeyPath);
  if (!text)
    return text.status();
  auto wanted = unhex<crypto_sign_PUBLICKEYBYTES>(*text, publicKeyPath);
  if (!wanted)
    return wanted.status();
  if (*wanted != key)
    return dataLoss("signed with the key " + hex(key.data(), key.size()) +
                    ", not with that of '" + publicKeyPath + "'");
  return {};
}

} // namespace

Status conformance::createKey(const std::string &path) {
  if (auto status = startSodium(); !status.ok())
    return status;
  PublicKey publicKey;
  SecretKey secretKey;
  crypto_sign_keypair(publicKey.data(), secretKey.data());
  std::string secret = hex(secretKey.data(), secretKey.size()) + "\n";
  if (auto status = writeNew(path, secret, 0600); !status.ok())
    return status;
  Status status = writeNew(
      path + ".pub", hex(publicKey.data(), publicKey.size()) + "\n", 0644);
  if (!status.ok()) // a secret key is nothing without it
    unlink(path.c_str());
  return status;
}

Status conformance::sealFolder(const std::string &folder,
                               const std::string &keyPath) {
  if (auto status = startSodium(); !status.ok())
    return status;
  auto keyText = readSmall(keyPath);
  if (!keyText)
    return keyText.status();
  auto key = unhex<crypto_sign_SECRETKEYBYTES>(*keyText, keyPath);
  if (!key)
    return key.status();
  auto hashes = hashFolder(folder);
  if (!hashes)
    return hashes.status();
  Json json = {{"version", 1}, {"root", rootOf(*hashes)}, {"files", *hashes}};
  std::string text =
      json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (auto status = checkNames(*hashes, text); !status.ok())
    return status;
  Signature signature;
  crypto_sign_detached(signature.data(), nullptr,
                       reinterpret_cast<const uint8_t *>(text.data()),
                       text.size(), key->data());
  PublicKey publicKey;
  crypto_sign_ed25519_sk_to_pk(publicKey.data(), key->data());
  if (auto status =
          writeFileAtomically(fs::path(folder) / manifestName, asBytes(text));
      !status.ok())
    return status;
  return writeFileAtomically(
      fs::path(folder) / signatureName,
      asBytes(hex(publicKey.data(), publicKey.size()) + "\n" +
              hex(signature.data(), signature.size()) + "\n"));
}

Result<Seal> conformance::checkSeal(const std::string &folder,
                                    const std::string &publicKeyPath) {
  if (auto status = startSodium(); !status.ok())
    return status;
  auto text = readSmall(fs::path(folder) / manifestName);
  if (!text)
    return text.status().within("'" + folder + "' is not sealed");
  auto signature = readSignature(folder);
  if (!signature)
    return signature.status();
  if (crypto_sign_verify_detached(
          signature->signature.data(),
          reinterpret_cast<const uint8_t *>(text->data()), text->size(),
          signature->key.data()) != 0)
    return dataLoss("the signature does not belong to the manifest");
  if (auto status = checkKey(signature->key, publicKeyPath); !status.ok())
    return status;
  Seal seal{.publicKey = hex(signature->key.data(), signature->key.size())};
  auto listed = parseManifest(*text, seal.root);
  if (!listed)
    return listed.status();
  auto found = hashFolder(folder);
  if (!found)
    return found.status();
  if (auto status = compareHashes(*listed, *found); !status.ok())
    return status;
  if (rootOf(*listed) != seal.root)
    return dataLoss("the root of the manifest is not that of its files");
  seal.files = listed->size();
  return seal;
}

std::string conformance::fingerprint(const std::string &publicKey) {
  uint8_t digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(digest,
                     reinterpret_cast<const uint8_t *>(publicKey.data()),
                     publicKey.size());
  std::string text = hex(digest, 16);
  for (size_t at = 28; at > 0; at -= 4)
    text.insert(at, ":");
  return text;
}

Result<std::map<std::string, std::string>>
conformance::readKnownKeys(const std::string &path) {
  auto text = readSmall(path);
  if (!text)
    return text.status();
  std::map<std::string, std::string> names;
  std::istringstream lines(*text);
  std::string line;
  for (size_t number = 1; std::getline(lines, line); ++number) {
    const std::string where = path + ":" + std::to_string(number);
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name, digits, more;
    if (!(words >> name))
      continue;
    words >> digits;
    if (words >> more)
      return dataLoss(where + ": not of the form NAME KEY");
    auto key = unhex<crypto_sign_PUBLICKEYBYTES>(digits, where);
    if (!key)
      return key.status();
    if (!names.emplace(hex(key->data(), key->size()), name).second)
      return dataLoss(where + ": the key stands twice");
  }
  return names;
}

std::string conformance::defaultKnownKeys() {
  const char *config = std::getenv("XDG_CONFIG_HOME");
  const char *home = std::getenv("HOME");
  fs::path folder = config && *config ? fs::path(config)
                                      : fs::path(home ? home : "") / ".config";
  return (folder / "backplane" / "known_keys").string();
}

Status conformance::trust(Seal &seal, const KeyRules &rules) {
  // checkSeal has compared it.
  if (!rules.publicKey.empty()) {
    seal.owner = "owner of '" + rules.publicKey + "'";
    return {};
  }
  const std::string path =
      rules.knownKeys.empty() ? defaultKnownKeys() : rules.knownKeys;
  std::error_code code;
  if (!rules.knownKeys.empty() || fs::exists(path, code)) {
    auto names = readKnownKeys(path);
    if (!names)
      return names.status();
    if (auto at = names->find(seal.publicKey); at != names->end())
      seal.owner = at->second;
  }
  if (!seal.owner.empty() || rules.any)
    return {};
  return dataLoss("sealed with the key " + fingerprint(seal.publicKey) +
                  ", which '" + path +
                  "' does not list; give --key or --known-keys, or --any-key "
                  "to take any");
}
