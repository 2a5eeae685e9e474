// SPDX-License-Identifier: Apache-2.0
#include "hal/core/DriverCache.h"
#include "hal/core/Error.h"
#include "hal/core/Host.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace backplane {
namespace {

using Bytes = std::vector<uint8_t>;

class DriverCacheTest : public ::testing::Test {
protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string &key) const { return folder_ + "/" + key; }

  std::string folder_ = ::testing::TempDir() + "bp-driver-cache-" +
                        std::to_string(getpid()) + "/driver";
  DriverCache cache_{folder_};
};

TEST_F(DriverCacheTest, KeepsBytesUnderTheirKey) {
  Bytes one = {1, 2, 3}, two(100000, 7);
  ASSERT_TRUE(cache_.store("acme-a", one).ok());
  ASSERT_TRUE(cache_.store("acme-b", two).ok());
  EXPECT_EQ(*cache_.load("acme-a"), one);
  EXPECT_EQ(*cache_.load("acme-b"), two);
  ASSERT_TRUE(cache_.store("acme-a", {}).ok());
  EXPECT_EQ(*cache_.load("acme-a"), Bytes());
  EXPECT_EQ(cache_.load("acme-c").status().code(), BP_STATUS_NOT_FOUND);
  // Nothing but the two entries is left behind.
  auto files = std::filesystem::directory_iterator(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

TEST_F(DriverCacheTest, GivesNothingThatIsDamaged) {
  ASSERT_TRUE(cache_.store("acme", Bytes(200, 9)).ok());
  uint64_t size = std::filesystem::file_size(file("acme"));
  for (uint64_t place = 0; place < size; ++place) {
    std::fstream stream(file("acme"),
                        std::ios::in | std::ios::out | std::ios::binary);
    auto flip = [&] {
      stream.seekg(std::streamoff(place));
      char byte = char(stream.get() ^ 0x10);
      stream.seekp(std::streamoff(place));
      stream.put(byte).flush();
    };
    flip();
    EXPECT_EQ(cache_.load("acme").status().code(), BP_STATUS_NOT_FOUND)
        << place;
    flip();
  }
  EXPECT_TRUE(bool(cache_.load("acme")));
  for (uint64_t length = 0; length < size; length += 7) {
    std::filesystem::resize_file(file("acme"), length);
    EXPECT_FALSE(bool(cache_.load("acme"))) << length;
    ASSERT_TRUE(cache_.store("acme", Bytes(200, 9)).ok());
  }
}

TEST_F(DriverCacheTest, GivesNothingOfAnotherKey) {
  ASSERT_TRUE(cache_.store("acme-a", Bytes(200, 9)).ok());
  std::filesystem::rename(file("acme-a"), file("acme-b"));
  EXPECT_FALSE(bool(cache_.load("acme-b")));
}

TEST_F(DriverCacheTest, RefusesKeysThatAreNoNames) {
  for (std::string key :
       {std::string(), std::string("../x"), std::string("a/b"),
        std::string("A"), std::string("."), std::string("a\0b", 3),
        std::string(129, 'a')}) {
    EXPECT_EQ(cache_.store(key, {}).code(), BP_STATUS_INVALID_ARGUMENT) << key;
    EXPECT_EQ(cache_.load(key).status().code(), BP_STATUS_INVALID_ARGUMENT);
  }
}

TEST_F(DriverCacheTest, SaysWhenNothingCanBeKept) {
  std::filesystem::create_directories(folder_);
  std::filesystem::remove_all(folder_);
  std::ofstream(folder_) << "a file where the folder should be";
  EXPECT_EQ(cache_.store("acme", Bytes(3)).code(), BP_STATUS_UNAVAILABLE);
}

TEST_F(DriverCacheTest, IsAnExtensionOfTheHost) {
  HostOptions options;
  options.driverCache = folder_;
  Host host(options);
  bp_host_t table = host.table(1);
  const auto *cache = static_cast<const bp_cache_table_t *>(
      table.get_extension(table.self, toC("backplane.cache"), 0));
  ASSERT_NE(cache, nullptr);
  const char text[] = "kept";
  EXPECT_EQ(cache->store(cache->self, toC("acme"), {text, 4}), BP_STATUS_OK);
  std::string found;
  bp_bytes_sink_t sink = {[](void *context, bp_bytes_t bytes) -> bp_status_t {
                            static_cast<std::string *>(context)->assign(
                                static_cast<const char *>(bytes.data),
                                bytes.size);
                            return BP_STATUS_OK;
                          },
                          &found};
  EXPECT_EQ(cache->load(cache->self, toC("acme"), &sink), BP_STATUS_OK);
  EXPECT_EQ(found, "kept");
}

TEST(DriverCache, KeepsNothingWithoutAFolder) {
  DriverCache cache("");
  EXPECT_EQ(cache.store("acme", {}).code(), BP_STATUS_NOT_FOUND);
  EXPECT_EQ(cache.load("acme").status().code(), BP_STATUS_NOT_FOUND);
}

} // namespace
} // namespace backplane
