// SPDX-License-Identifier: Apache-2.0
//
// CacheTest.cpp: what the driver keeps between runs, with a host that keeps it
// in memory.
#include "Harness.h"
#include "backends/vulkan/driver/Device.h"

#include <map>

namespace backplane::vulkan::test {
namespace {

/// The host's cache.
struct Kept {
  std::map<std::string, std::string> entries;
  unsigned stores = 0, hits = 0;
  bp_cache_table_t table = {BP_HEADER(bp_cache_table_t)};

  Kept() {
    table.self = this;
    table.load = [](void *self, bp_string_t key,
                    const bp_bytes_sink_t *sink) -> bp_status_t {
      Kept &kept = *static_cast<Kept *>(self);
      auto found = kept.entries.find(std::string(key.data, key.size));
      if (found == kept.entries.end())
        return BP_STATUS_NOT_FOUND;
      ++kept.hits;
      return sink->put(sink->context,
                       {found->second.data(), found->second.size()});
    };
    table.store = [](void *self, bp_string_t key,
                     bp_bytes_t bytes) -> bp_status_t {
      Kept &kept = *static_cast<Kept *>(self);
      ++kept.stores;
      kept.entries[std::string(key.data, key.size)].assign(
          static_cast<const char *>(bytes.data), bytes.size);
      return BP_STATUS_OK;
    };
  }
};

class CacheTest : public DeviceTest {
protected:
  void SetUp() override {
    host_ = plainHost();
    host_.self = &kept_;
    host_.get_extension = [](void *self, bp_string_t name,
                             uint32_t version) -> const void * {
      bool known = std::string_view(name.data, name.size) == "backplane.cache";
      return known && version == 0 ? &static_cast<Kept *>(self)->table
                                   : nullptr;
    };
    driver_.plugin->host = &host_;
    open("");
  }
  void again() {
    TearDown();
    open("");
  }

  Kept kept_;
  bp_host_t host_;
};

TEST_F(CacheTest, KeepsPipelinesForTheNextRun) {
  EXPECT_NE(load(add), nullptr);
  again();
  ASSERT_EQ(kept_.entries.size(), 1u);
  EXPECT_TRUE(kept_.entries.begin()->first.starts_with("vulkan-"));
  EXPECT_EQ(kept_.hits, 1u);
  EXPECT_FALSE(of(*device_).keptPipelines.empty());
  EXPECT_NE(load(add), nullptr);
  unsigned stores = kept_.stores;
  again();
  EXPECT_EQ(kept_.stores, stores) << "nothing has changed";
}

TEST_F(CacheTest, IgnoresWhatIsDamaged) {
  EXPECT_NE(load(add), nullptr);
  again();
  const std::string good = kept_.entries.begin()->second;
  std::string otherDevice = good, longHead = good;
  otherDevice[20] ^= 1; // in the UUID
  longHead[1] = 0x7F;
  for (const std::string &bad :
       {std::string(), good.substr(0, 20), otherDevice, longHead}) {
    TearDown();
    kept_.entries.begin()->second = bad;
    open("");
    EXPECT_TRUE(of(*device_).keptPipelines.empty());
    EXPECT_NE(load(add), nullptr);
  }
}

} // namespace
} // namespace backplane::vulkan::test
