// SPDX-License-Identifier: Apache-2.0
#include "hal/core/DriverCache.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TextViews.h"

#include <array>
#include <cstring>

namespace backplane {

namespace {

constexpr uint64_t maxBytes = 1u << 30;
constexpr std::array<char, 8> entryMagic = {'B', 'P', 'D', 'R',
                                            'I', 'V', 'E', '2'};

/// In front of the bytes of an entry.
struct EntryHeader {
  std::array<char, 8> magic;
  uint64_t size;
  Hash128 hash; ///< of the bytes, then the key
};

EntryHeader headerOf(std::string_view key, std::span<const uint8_t> bytes) {
  return {entryMagic, bytes.size(), hash128(bytes, asBytes(key))};
}

Status writeFile(const std::string &path, const EntryHeader &header,
                 std::span<const uint8_t> bytes) {
  Result<AtomicFile> file =
      AtomicFile::create(path, AtomicFile::Over::Anything);
  if (!file)
    return file.status();
  Status status = file->write(&header, sizeof(header));
  if (status.ok())
    status = file->write(bytes.data(), bytes.size());
  return status.ok() ? file->commit() : status;
}

} // namespace

bp_status_t DriverCache::told(const Status &status) const {
  if (status.code() == BP_STATUS_PERMISSION_DENIED && warn_ &&
      !warned_.exchange(true))
    warn_(status);
  return status.code();
}

DriverCache::DriverCache(std::string folder, FileTrust trust, Warn warn)
    : folder_(std::move(folder)), trust_(std::move(trust)),
      warn_(std::move(warn)) {
  table_.self = this;
  table_.load = [](void *self, bp_string_t key,
                   const bp_bytes_sink_t *sink) -> bp_status_t {
    auto *cache = static_cast<DriverCache *>(self);
    auto bytes = cache->load(view(key));
    if (!bytes)
      return cache->told(bytes.status());
    return sink->put(sink->context, {bytes->data(), bytes->size()});
  };
  table_.store = [](void *self, bp_string_t key,
                    bp_bytes_t bytes) -> bp_status_t {
    auto *cache = static_cast<DriverCache *>(self);
    return cache->told(cache->store(
        view(key), {static_cast<const uint8_t *>(bytes.data), bytes.size}));
  };
}

Result<std::string> DriverCache::pathOf(std::string_view key) const {
  constexpr size_t longest = 128;
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789"
                                       "_-";
  if (folder_.empty())
    return notFound("there is no cache folder");
  if (key.empty() || key.size() > longest ||
      key.find_first_not_of(letters) != std::string_view::npos)
    return invalidArgument("a key of the cache has 1 to 128 of a-z, 0-9, _, -");
  return folder_ + "/" + std::string(key);
}

Result<std::vector<uint8_t>> DriverCache::load(std::string_view key) const {
  Result<std::string> path = pathOf(key);
  if (!path)
    return path.status();
  Result<TrustedFile> file =
      trust_.open(*path, "cache entry", FileTrust::Links::Refuse);
  if (!file)
    return file.status();
  Result<std::vector<uint8_t>> whole =
      file->read(maxBytes + sizeof(EntryHeader));
  EntryHeader header;
  if (!whole || file->links() > 1 || whole->size() < sizeof(header))
    return notFound(*path + ": it is damaged");
  std::memcpy(&header, whole->data(), sizeof(header));
  std::span<const uint8_t> bytes = std::span(*whole).subspan(sizeof(header));
  EntryHeader right = headerOf(key, bytes);
  if (header.magic != entryMagic || header.size != bytes.size() ||
      right.hash != header.hash)
    return notFound(*path + ": it is damaged");
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

Status DriverCache::store(std::string_view key,
                          std::span<const uint8_t> bytes) const {
  Result<std::string> path = pathOf(key);
  if (!path)
    return path.status();
  if (bytes.size() > maxBytes)
    return invalidArgument("an entry of the cache has at most 1 GiB");
  Status status = makePrivateFolders(folder_);
  if (status.ok())
    status = trust_.checkFolder(folder_, "cache folder");
  if (!status.ok())
    return status;
  return writeFile(*path, headerOf(key, bytes), bytes);
}

} // namespace backplane
