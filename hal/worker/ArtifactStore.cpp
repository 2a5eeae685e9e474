// SPDX-License-Identifier: Apache-2.0
#include "ArtifactStore.h"
#include "Messages.h"
#include "sdk/package/AtomicFile.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace backplane::worker {

namespace fs = std::filesystem;

namespace {

constexpr const char *extension = ".bpx";

/// A hash is part of a path: nothing else may be.
bool isHash(const std::string &text) {
  return text.size() == 32 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// The hash of a file's contents, empty when it cannot be read.
std::string hashOfFile(const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0)
    return {};
  struct stat facts = {};
  std::string hash;
  if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
    auto size = size_t(facts.st_size);
    void *mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping != MAP_FAILED) {
      hash = hashOf({static_cast<const uint8_t *>(mapping), size});
      munmap(mapping, size);
    }
  }
  close(fd);
  return hash;
}

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

ArtifactStore::ArtifactStore(std::string folder) : folder_(std::move(folder)) {
  if (!folder_.empty())
    removeStaleFiles(folder_);
}

std::string ArtifactStore::find(const std::string &hash) const {
  if (folder_.empty() || !isHash(hash))
    return {};
  std::string path = folder_ + "/" + hash + extension;
  std::error_code code;
  if (!fs::exists(path, code))
    return {};
  if (hashOfFile(path) != hash) {
    fs::remove(path, code);
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
    if (all <= mostBytes)
      return;
    fs::remove(entry.path, code);
    all -= entry.bytes;
  }
}

Result<std::string> ArtifactStore::put(const std::string &hash,
                                       std::span<const uint8_t> bytes) const {
  if (folder_.empty() || bytes.size() < leastBytes || !isHash(hash))
    return std::string();
  std::error_code code;
  fs::create_directories(folder_, code);
  if (code)
    return Status(BP_STATUS_UNAVAILABLE,
                  "cannot create '" + folder_ + "': " + code.message());
  makeRoom(bytes.size());
  std::string path = folder_ + "/" + hash + extension;
  if (Status s = writeFileAtomically(path, bytes); !s.ok())
    return s;
  return path;
}

} // namespace backplane::worker
