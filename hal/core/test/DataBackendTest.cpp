// SPDX-License-Identifier: Apache-2.0
//
// What a backend that is data asks of its host.
#include "backplane/cpp/DataBackend.h"

#include <gtest/gtest.h>

namespace backplane {
namespace {

constexpr DataTarget plainTargets[] = {
    {{.header = BP_HEADER(bp_target_t)}, stagesOf("bp-a", "bp-b")}};
constexpr DataTarget alternativeTargets[] = {
    {{.header = BP_HEADER(bp_target_t)},
     {{{"tile", "bp-next"}, {"device", "bp-b"}, {"tile", "bp-a"}}}}};
constexpr DataBackend plain = {.name = "plain", .targets = plainTargets};
constexpr DataBackend alternative = {.name = "alternative",
                                     .targets = alternativeTargets};

template <const DataBackend &backend> uint32_t requiredMinor() {
  bp_plugin_info_t info = {.header = BP_HEADER(bp_plugin_info_t)};
  EXPECT_EQ(DataPlugin<backend>::query(&info), BP_STATUS_OK);
  return info.required_minor;
}

TEST(DataBackend, AsksForTheMinorVersionThatKnowsAlternatives) {
  EXPECT_EQ(requiredMinor<plain>(), 1u);
  EXPECT_EQ(requiredMinor<alternative>(), 2u);
}

TEST(DataBackend, StatesPropertiesOfEachKind) {
  static constexpr int64_t sizes[] = {32, 64};
  constexpr bp_property_t list[] = {
      property("registers", 32), property("acme.clock", 1.5),
      property("acme.mode", "fast"), property("subgroup_sizes", sizes)};
  EXPECT_EQ(list[0].i64, 32);
  EXPECT_EQ(list[1].f64, 1.5);
  EXPECT_EQ(std::string_view(list[2].string.data, list[2].string.size), "fast");
  EXPECT_EQ(list[3].i64s[1], 64);
  EXPECT_EQ(list[3].count, 2u);
  for (uint32_t i = 0; i < 4; ++i)
    EXPECT_EQ(list[i].kind, i + 1);
}

} // namespace
} // namespace backplane
