// SPDX-License-Identifier: Apache-2.0
#include "ArtifactStore.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/Hash.h"
#include "sdk/support/ReadableText.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace backplane::worker {

namespace fs = std::filesystem;

namespace {

constexpr const char *extension = ".bpx";

struct Entry {
  fs::path path;
  fs::file_time_type used;
  uint64_t bytes;
};

std::vector<Entry> entriesOf(const std::string &folder) {
  std::vector<Entry> entries;
  std::error_code code;
  for (const fs::directory_entry &file : fs::directory_iterator(folder, code))
    if (file.path().extension() == extension)
      entries.push_back(
          {file.path(), file.last_write_time(code), file.file_size(code)});
  std::ranges::sort(entries, {}, &Entry::used);
  return entries;
}

} // namespace

ArtifactStore::ArtifactStore(std::string folder, FileTrust trust)
    : folder_(std::move(folder)), trust_(std::move(trust)) {
  if (!folder_.empty())
    removeStaleFiles(folder_);
}

std::string ArtifactStore::find(const std::string &hash) const {
  if (folder_.empty() || !isHash(hash))
    return {};
  std::string path = folder_ + "/" + hash + extension;
  std::error_code code;
  Result<TrustedFile> file =
      trust_.open(path, "kept artifact", FileTrust::Links::Refuse);
  if (!file && file.code() == BP_STATUS_NOT_FOUND)
    return {};
  Result<std::string> found =
      file && file->links() <= 1 ? xxhOfFile(path) : notFound(path);
  if (!found || *found != hash) {
    std::string what = file ? path + " is damaged" : file.message();
    std::fprintf(stderr, "worker: %s; it is removed\n",
                 readableMessage(what).c_str());
    fs::remove_all(path, code);
    return {};
  }
  fs::last_write_time(path, fs::file_time_type::clock::now(), code);
  return path;
}

void ArtifactStore::makeRoom(uint64_t bytes) const {
  std::vector<Entry> entries = entriesOf(folder_);
  uint64_t all = bytes;
  for (const Entry &entry : entries)
    all += entry.bytes;
  std::error_code code;
  for (const Entry &entry : entries) {
    if (all <= maxBytes)
      return;
    fs::remove(entry.path, code);
    all -= entry.bytes;
  }
}

Result<std::string> ArtifactStore::put(const std::string &hash,
                                       std::span<const uint8_t> bytes) const {
  if (folder_.empty() || bytes.size() < minBytes || !isHash(hash))
    return std::string();
  Status status = makePrivateFolders(folder_);
  if (status.ok())
    status = trust_.checkFolder(folder_, "cache folder");
  if (!status.ok())
    return status;
  makeRoom(bytes.size());
  std::string path = folder_ + "/" + hash + extension;
  if (Status s = writeFileAtomically(path, bytes, AtomicFile::Over::Anything);
      !s.ok())
    return s;
  return path;
}

} // namespace backplane::worker
