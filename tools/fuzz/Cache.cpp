// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as an entry of the model cache and of a driver's cache, and as the
// note of a file's hash. What was put there under another key is not given.
#include "sdk/support/Cache.h"
#include "File.h"
#include "hal/core/DriverCache.h"
#include "sdk/graph/Model.h"
#include "sdk/support/Hash.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace backplane;

namespace {

/// A file that has not changed for long, so that its hash is noted.
constexpr const char *oldFile = BP_OLD_FILE;

struct Caches {
  fuzz::Folder folder;
  Cache models{folder.path(), {}, [](const Status &) {}};
  DriverCache drivers{folder.path() + "/driver"};
  Cache none{""}, nowhere{"/dev/null/cache", {}, [](const Status &) {}};
  DriverCache noDrivers{""};
};

void write(const std::string &path, std::span<const uint8_t> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
}

void require(bool holds) {
  if (!holds)
    __builtin_trap();
}

void readModels(const Cache &cache, std::span<const uint8_t> bytes) {
  std::string path = *cache.path("kind", "key");
  write(path, bytes);
  // Whoever knows the hash may make a whole entry; it is what it says then.
  if (auto found = cache.get("kind", "key"))
    require(found->size() <= bytes.size());
  require(!cache.get("kind", "key/absent"));
  if (!cache.put("kind", "key", bytes).ok())
    return;
  auto found = cache.get("kind", "key");
  require(found && std::ranges::equal(*found, bytes));
  // Under another name, and under two.
  std::string other = *cache.path("kind", "other");
  std::filesystem::copy_file(path, other);
  require(!cache.get("kind", "other"));
  std::filesystem::create_hard_link(path, other);
  require(!cache.get("kind", "other"));
  cache.tidy();
}

void readDrivers(const DriverCache &cache, const std::string &path,
                 std::span<const uint8_t> bytes) {
  if (!cache.store("key", bytes).ok())
    return;
  auto found = cache.load("key");
  require(found && std::ranges::equal(*found, bytes));
  write(path, bytes);
  (void)cache.load("key");
  require(!cache.load("../key") && !cache.load(""));
}

/// The same by the table that a plug-in is given.
void readByTable(const bp_cache_table_t *table,
                 std::span<const uint8_t> bytes) {
  std::vector<uint8_t> found;
  auto put = [](void *context, bp_bytes_t given) -> bp_status_t {
    auto *first = static_cast<const uint8_t *>(given.data);
    static_cast<std::vector<uint8_t> *>(context)->assign(first,
                                                         first + given.size);
    return BP_STATUS_OK;
  };
  bp_bytes_sink_t sink = {put, &found};
  bp_string_t key = {"key", 3}, bad = {"../key", 6};
  require(table->load(table->self, bad, &sink) != BP_STATUS_OK);
  if (table->store(table->self, key, {bytes.data(), bytes.size()}) !=
      BP_STATUS_OK)
    return;
  require(table->load(table->self, key, &sink) == BP_STATUS_OK &&
          std::ranges::equal(found, bytes));
}

/// Notes that no file had; the hash is that of the file all the same.
void readNotes(const Cache &cache, std::span<const uint8_t> bytes) {
  static const auto hash = xxhOfFile(oldFile);
  const std::string file = oldFile;
  auto key =
      hashBytes({reinterpret_cast<const uint8_t *>(file.data()), file.size()});
  if (!cache.put("files", key, bytes).ok())
    return;
  for (int again = 0; hash && again < 2; ++again) {
    auto found = cache.fileHash(oldFile);
    require(found && *found == *hash);
  }
  require(!cache.fileHash(cache.folder() + "/absent"));
  (void)cache.fileHash(*cache.path("kind", "key"));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Caches caches;
  std::span<const uint8_t> bytes(data, size);
  readModels(caches.models, bytes);
  readDrivers(caches.drivers, caches.folder.path() + "/driver/key", bytes);
  readByTable(caches.drivers.table(), bytes);
  readNotes(caches.models, bytes);
  for (const Cache *cache : {&caches.none, &caches.nowhere})
    require(!cache->get("kind", "key"));
  require(!caches.noDrivers.load("key"));
  return 0;
}
