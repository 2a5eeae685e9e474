// SPDX-License-Identifier: Apache-2.0
#include "Cache.h"
#include "AtomicFile.h"
#include "Hash.h"
#include "TextViews.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace backplane {
namespace {

/// In front of the bytes of an entry.
struct EntryHeader {
  char magic[8];
  char hash[32]; ///< of key and bytes
};
constexpr uint64_t maxBytes = uint64_t(1) << 30; ///< of an entry
constexpr char entryMagic[8] = {'B', 'P', 'C', 'A', 'C', 'H', 'E', '1'};

std::string entryHash(std::string_view key, std::span<const uint8_t> data) {
  return hashBytes(asBytes(std::string(key) + "/" + hashBytes(data)));
}

/// What tells one state of a file from another without reading it.
std::string identity(const struct stat &info) {
  return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) + ":" +
         std::to_string(info.st_size) + ":" +
         std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec) + ":" +
         std::to_string(info.st_ctim.tv_sec) + "." +
         std::to_string(info.st_ctim.tv_nsec);
}

/// A file that has just changed may change again within one tick of the file
/// system's clock.
bool settled(const struct stat &info) {
  return time(nullptr) - info.st_ctim.tv_sec > 2;
}

} // namespace

CacheKey &CacheKey::add(std::string_view part) {
  parts_ += std::to_string(part.size());
  parts_ += ':';
  parts_ += part;
  return *this;
}

std::string CacheKey::str() const { return hashBytes(asBytes(parts_)); }

void Cache::warn(const Status &status) const {
  if (warn_)
    warn_(status);
}

bool Cache::enabled() const {
  std::call_once(looked_, [this] {
    if (folder_.empty())
      return;
    Status status = makePrivateFolders(folder_);
    if (status.ok())
      status = trust_.checkFolder(folder_, "cache folder");
    usable_ = status.ok();
    if (!usable_)
      warn(status);
  });
  return usable_;
}

Result<std::string> Cache::path(std::string_view kind,
                                std::string_view key) const {
  std::string folder = folder_ + "/" + std::string(kind);
  Status status = makePrivateFolders(folder);
  if (status.ok())
    status = trust_.checkFolder(folder, "cache folder");
  if (!status.ok())
    return status;
  return name(kind, key);
}

void Cache::drop(const std::string &path) const {
  std::error_code error; // what cannot be removed is found again next time
  std::filesystem::remove_all(path, error);
}

Result<TrustedFile> Cache::open(std::string_view kind,
                                std::string_view key) const {
  Result<TrustedFile> file =
      trust_.open(name(kind, key), "cache entry", FileTrust::Links::Refuse);
  if (!file || file->links() <= 1)
    return file;
  return invalidArgument("cache entry '" + file->path() + "' has " +
                         std::to_string(file->links()) +
                         " names, which no entry has");
}

std::optional<Bytes> Cache::get(std::string_view kind,
                                std::string_view key) const {
  if (!enabled())
    return std::nullopt;
  std::string path = name(kind, key);
  Result<TrustedFile> file = open(kind, key);
  if (!file && file.code() == BP_STATUS_NOT_FOUND)
    return std::nullopt;
  Result<Bytes> bytes = file ? file->read(maxBytes) : file.status();
  if (!bytes) {
    warn(bytes.status());
    drop(path);
    return std::nullopt;
  }
  EntryHeader header;
  if (bytes->size() >= sizeof(header)) {
    std::memcpy(&header, bytes->data(), sizeof(header));
    std::span<const uint8_t> data = std::span(*bytes).subspan(sizeof(header));
    if (std::memcmp(header.magic, entryMagic, sizeof(entryMagic)) == 0 &&
        entryHash(key, data) == std::string_view(header.hash, 32))
      return Bytes(data.begin(), data.end());
  }
  drop(path);
  return std::nullopt;
}

Status Cache::put(std::string_view kind, std::string_view key,
                  std::span<const uint8_t> data) const {
  if (!enabled())
    return {};
  Result<std::string> where = path(kind, key);
  if (!where)
    return where.status();
  EntryHeader header;
  std::memcpy(header.magic, entryMagic, sizeof(entryMagic));
  std::memcpy(header.hash, entryHash(key, data).data(), sizeof(header.hash));
  Result<AtomicFile> file =
      AtomicFile::create(*where, AtomicFile::Over::Anything);
  if (!file)
    return file.status();
  if (Status s = file->write(&header, sizeof(header)); !s.ok())
    return s;
  if (Status s = file->write(data.data(), data.size()); !s.ok())
    return s;
  return file->commitUnsynced(); // get compares the hash
}

void Cache::tidy() const {
  std::error_code error;
  std::filesystem::directory_iterator kinds(folder_, error), end;
  for (; !error && kinds != end; kinds.increment(error))
    removeStaleFiles(kinds->path().string());
}

Result<std::string> Cache::fileHash(const std::string &path) const {
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    return notFound(path + ": cannot read it: " + strerror(errno));
  std::string known = identity(info), key = hashBytes(asBytes(path));
  if (std::optional<Bytes> entry = get("files", key)) {
    std::string text(entry->begin(), entry->end());
    if (text.size() > 33 && text.substr(33) == known)
      return text.substr(0, 32);
  }
  Result<std::string> hash = xxhOfFile(path);
  if (!hash || !settled(info))
    return hash;
  std::string text = *hash + " " + known;
  // Without the note the file is read again next time; nothing else is lost.
  (void)put("files", key, asBytes(text));
  return hash;
}

} // namespace backplane
