// SPDX-License-Identifier: Apache-2.0
#include "hal/core/DriverCache.h"
#include "hal/core/Error.h"
#include "sdk/package/AtomicFile.h"

#include <array>
#include <filesystem>
#include <fstream>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace backplane {

namespace {

constexpr uint64_t mostBytes = 1u << 30;
constexpr std::array<char, 8> entryMagic = {'B', 'P', 'D', 'R',
                                            'I', 'V', 'E', '1'};

/// In front of the bytes of an entry.
struct EntryHeader {
  std::array<char, 8> magic;
  uint64_t size;
  XXH128_hash_t hash; ///< of the bytes, then the key
};

EntryHeader headerOf(std::string_view key, std::span<const uint8_t> bytes) {
  XXH128_hash_t ofBytes = XXH3_128bits(bytes.data(), bytes.size());
  return {entryMagic, bytes.size(),
          XXH3_128bits_withSeed(key.data(), key.size(),
                                ofBytes.low64 ^ ofBytes.high64)};
}

Status writeFile(const std::string &path, const EntryHeader &header,
                 std::span<const uint8_t> bytes) {
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  Status status = file->write(&header, sizeof(header));
  if (status.ok())
    status = file->write(bytes.data(), bytes.size());
  return status.ok() ? file->commit() : status;
}

} // namespace

DriverCache::DriverCache(std::string folder) : folder_(std::move(folder)) {
  table_.self = this;
  table_.load = [](void *self, bp_string_t key,
                   const bp_bytes_sink_t *sink) -> bp_status_t {
    auto bytes = static_cast<DriverCache *>(self)->load(view(key));
    if (!bytes)
      return bytes.status().code();
    return sink->put(sink->context, {bytes->data(), bytes->size()});
  };
  table_.store = [](void *self, bp_string_t key,
                    bp_bytes_t bytes) -> bp_status_t {
    return static_cast<DriverCache *>(self)
        ->store(view(key),
                {static_cast<const uint8_t *>(bytes.data), bytes.size})
        .code();
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
  std::ifstream in(*path, std::ios::binary);
  EntryHeader header;
  if (!in.read(reinterpret_cast<char *>(&header), sizeof(header)) ||
      header.magic != entryMagic || header.size > mostBytes)
    return notFound(*path + ": nothing is kept here");
  std::error_code error;
  uint64_t size = std::filesystem::file_size(*path, error);
  if (error || size != sizeof(header) + header.size)
    return notFound(*path + ": it is damaged");
  std::vector<uint8_t> bytes(header.size);
  in.read(reinterpret_cast<char *>(bytes.data()),
          std::streamsize(bytes.size()));
  EntryHeader right = headerOf(key, bytes);
  if (!in || !XXH128_isEqual(right.hash, header.hash))
    return notFound(*path + ": it is damaged");
  return bytes;
}

Status DriverCache::store(std::string_view key,
                          std::span<const uint8_t> bytes) const {
  Result<std::string> path = pathOf(key);
  if (!path)
    return path.status();
  if (bytes.size() > mostBytes)
    return invalidArgument("an entry of the cache has at most 1 GiB");
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  return writeFile(*path, headerOf(key, bytes), bytes);
}

} // namespace backplane
