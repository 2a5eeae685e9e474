// SPDX-License-Identifier: Apache-2.0
//
// Properties from plug-ins, and comparisons with them.
#include "sdk/support/Condition.h"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>

namespace backplane {
namespace {

bp_property_t i64(std::string_view key, int64_t number) {
  return {toC(key), BP_PROPERTY_I64, 0, number, 0, {nullptr, 0}, nullptr};
}
bp_property_t i64s(std::string_view key, const std::vector<int64_t> &numbers) {
  return {toC(key),     BP_PROPERTY_I64S, uint32_t(numbers.size()), 0, 0,
          {nullptr, 0}, numbers.data()};
}
bp_property_t f64(std::string_view key, double number) {
  return {toC(key), BP_PROPERTY_F64, 0, 0, number, {nullptr, 0}, nullptr};
}
bp_property_t text(std::string_view key, bp_string_t string) {
  return {toC(key), BP_PROPERTY_STRING, 0, 0, 0, string, nullptr};
}

std::string refusal(std::vector<bp_property_t> list) {
  auto copied = copyProperties(list.data(), list.size());
  return copied ? "" : copied.message();
}

TEST(Property, KeepsItsValue) {
  std::vector<int64_t> shapes = {16, 8, 16, 64, 8, 16};
  bp_property_t list[] = {i64("shared_bytes", 49152),
                          i64("cache_bytes.2", 1 << 20),
                          i64s("matrix_shapes.f16", shapes),
                          f64("acme.clock", 1.5), text("acme.mode", toC("a"))};
  auto copied = copyProperties(list, std::size(list));
  ASSERT_TRUE(copied.ok()) << copied.message();
  std::string all;
  for (const bp_property_t &c : cForms(*copied)) {
    auto again = copyProperties(&c, 1);
    ASSERT_TRUE(again.ok()) << again.message();
    all += again->front().str() + " ";
  }
  EXPECT_EQ(all, "shared_bytes=49152 cache_bytes.2=1048576 "
                 "matrix_shapes.f16=[16,8,16,64,8,16] acme.clock=1.5 "
                 "acme.mode=a ");
  const Property::Value *value = findProperty(*copied, "shared_bytes");
  ASSERT_TRUE(value);
  EXPECT_EQ(std::get<int64_t>(*value), 49152);
  EXPECT_FALSE(findProperty(*copied, "shared"));
}

TEST(Property, HasAKeyThatIsKnownOrOfAVendor) {
  EXPECT_EQ(refusal({i64("shard_bytes", 1)}),
            "property 'shard_bytes': 'shard_bytes' is no well-known key (did "
            "you mean 'shared_bytes'?); prefix a vendor's own, "
            "'acme.shard_bytes'");
  EXPECT_NE(refusal({i64("cache_bytes", 4096)}).find("from .1 to .4"),
            std::string::npos);
  for (const char *key :
       {"cache_bytes.5", "cache_bytes.11", "cache_bytes.", "matrix_shapes.f17",
        "registers.2", "tiles", "", ".acme", "acme..x", "acme.", "Acme.x",
        "acme.x y", "1acme.x", "-acme.x"})
    EXPECT_NE(refusal({i64(key, 4096)}), "") << key;
  EXPECT_NE(refusal({i64("acme." + std::string(60, 'x'), 1)}), "");
  EXPECT_EQ(refusal({i64("acme.x", INT64_MIN), i64("acme.cache_bytes", 0)}),
            "");
}

TEST(Property, HasTheKindAndTheRangeOfItsKey) {
  EXPECT_EQ(refusal({f64("shared_bytes", 1)}),
            "property 'shared_bytes': it has the kind f64, not i64");
  EXPECT_EQ(refusal({i64("shared_bytes", int64_t(1) << 40)}),
            "property 'shared_bytes': it is 1099511627776; it must be from 0 "
            "to 1073741824");
  EXPECT_NE(refusal({i64("group_threads", 0)}), "");
  EXPECT_NE(refusal({i64("group_threads", -1)}), "");
  EXPECT_EQ(refusal({i64s("matrix_shapes.f16", {16, 8})}),
            "property 'matrix_shapes.f16': it has 2 numbers, not one or more "
            "groups of 3");
  EXPECT_NE(refusal({i64s("subgroup_sizes", {})}), "");
  EXPECT_NE(refusal({i64s("subgroup_sizes", {32, 0})}), "");
}

TEST(Property, IsCheckedBeforeItIsRead) {
  bp_property_t endless = i64s("acme.x", {});
  endless.count = UINT32_MAX;
  EXPECT_NE(refusal({endless}).find("4294967295 numbers"), std::string::npos);
  endless.count = 1;
  EXPECT_NE(refusal({endless}).find("in a valid array"), std::string::npos);
  bp_property_t unknown = i64("acme.x", 1);
  unknown.kind = 5;
  EXPECT_NE(refusal({unknown}).find("kind 5"), std::string::npos);
  EXPECT_NE(refusal({text("acme.x", {nullptr, 7})}), "");
  EXPECT_NE(refusal({f64("acme.x", std::nan(""))}), "");
  EXPECT_NE(refusal({f64("acme.x", std::numeric_limits<double>::infinity())}),
            "");
  bp_property_t nameless = i64("", 1);
  nameless.key = {nullptr, 3};
  EXPECT_NE(refusal({nameless}).find("damaged key"), std::string::npos);
  EXPECT_EQ(refusal({i64("acme.x", 1), i64("acme.x", 1)}),
            "property 'acme.x': it is there twice");
  EXPECT_FALSE(copyProperties(nullptr, 1).ok());
  EXPECT_FALSE(copyProperties(nullptr, UINT64_MAX).ok());
}

TEST(Condition, ComparesANumber) {
  const std::pair<const char *, std::vector<int64_t>> all[] = {
      {"sm>=80", {80, 90}}, {"sm<=80", {70, 80}}, {"sm==80", {80}},
      {"sm!=80", {70, 90}}, {"sm>80", {90}},      {"sm<80", {70}}};
  for (const auto &[text, held] : all) {
    auto condition = Condition::parse(text);
    ASSERT_TRUE(condition.ok()) << condition.message();
    EXPECT_EQ(condition->str(), text);
    std::vector<int64_t> holds;
    for (int64_t value : {70, 80, 90})
      if (condition->holds(value))
        holds.push_back(value);
    EXPECT_EQ(holds, held) << text;
  }
  EXPECT_TRUE(Condition::parse("acme.x>=-9223372036854775808").ok());
}

TEST(Condition, IsParsedStrictly) {
  for (const char *text : {"sm>=",
                           ">=80",
                           "sm>= 80",
                           "sm >=80",
                           "sm>=080",
                           "sm>=+80",
                           "sm>=-0",
                           "sm>=8e1",
                           "sm>=9223372036854775808",
                           "sm=>80",
                           "sm=80",
                           "sm>==80",
                           "sm>=80>=1",
                           "sm>=80 ",
                           "sm!80",
                           "subgroup_sizes>=8",
                           "speed>=8",
                           "cache_bytes>=8",
                           "acme>=8",
                           "==",
                           "<",
                           ""})
    EXPECT_FALSE(Condition::parse(text).ok()) << text;
  EXPECT_EQ(Condition::parse("speed>=8").message(),
            "the condition 'speed>=8' has no key: 'speed' is no well-known "
            "key; prefix a vendor's own, 'acme.speed'");
}

TEST(Condition, OrAFeatureIsRequired) {
  for (const char *text : {"avx512f", "sse4.2", "subgroupSize=8", "sm>=80"})
    EXPECT_TRUE(checkRequirement(text).ok()) << text;
  for (const char *text : {"", "a b", "sm>=x", "a\n", "a,b", "a<b"})
    EXPECT_FALSE(checkRequirement(text).ok()) << text;
  EXPECT_FALSE(checkRequirement(std::string(300, 'x')).ok());
}

std::string rowOf(const PropertyKey &key) {
  constexpr const char *suffixes[] = {"", ".<level>", ".<dtype>"};
  std::ostringstream row;
  row << "| `" << key.stem << suffixes[size_t(key.suffix)] << "` | "
      << propertyKindName(key.kind);
  if (key.multiple > 1)
    row << ", groups of " << key.multiple;
  row << " | " << key.min << " to " << key.max << " | " << key.meaning
      << " |\n";
  return row.str();
}

TEST(PropertyKeys, AreThoseOfTheReference) {
  std::string expected = "| key | kind | numbers | meaning |\n"
                         "|---|---|---|---|\n";
  for (const PropertyKey &key : propertyKeys())
    expected += rowOf(key);
  std::ifstream file(BP_PROPERTIES_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find("\n\n" + expected + "\n"), std::string::npos)
      << "docs/reference/properties.md must have this table:\n"
      << expected;
}

} // namespace
} // namespace backplane
