// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as an entry of the model cache and of a driver's cache. What was
// put there under another key is not given.
#include "hal/runtime/Cache.h"
#include "File.h"
#include "hal/core/DriverCache.h"

#include <filesystem>
#include <fstream>

using namespace backplane;

static void write(const std::string &path, std::span<const uint8_t> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder;
  static const rt::Cache cache(folder.path());
  static const DriverCache drivers(folder.path() + "/driver");
  std::span<const uint8_t> bytes(data, size);
  std::string path = *cache.path("kind", "key");
  write(path, bytes);
  // Whoever knows the hash may make a whole entry; it is what it says then.
  if (auto found = cache.get("kind", "key"))
    if (found->size() > size)
      __builtin_trap();
  if (!cache.put("kind", "key", bytes).ok() ||
      !drivers.store("key", bytes).ok())
    return 0;
  auto same = [&](const auto &found) {
    return found &&
           std::equal(found->begin(), found->end(), bytes.begin(), bytes.end());
  };
  if (!same(cache.get("kind", "key")) || !same(drivers.load("key")))
    __builtin_trap();
  // Under another name, and damaged in one bit.
  std::filesystem::copy_file(path, *cache.path("kind", "other"),
                             std::filesystem::copy_options::overwrite_existing);
  if (cache.get("kind", "other"))
    __builtin_trap();
  write(folder.path() + "/driver/key", bytes);
  (void)drivers.load("key");
  if (drivers.load("../key") || drivers.load(""))
    __builtin_trap();
  (void)cache.fileHash(path);
  cache.tidy();
  return 0;
}
