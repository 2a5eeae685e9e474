// SPDX-License-Identifier: Apache-2.0
#include "../Ptx.h"

#include <gtest/gtest.h>

using backplane::cuda::Entries;
using backplane::cuda::readEntries;

namespace {

constexpr const char *header = ".version 7.8\n.target sm_80\n"
                               ".address_size 64\n";

Entries entriesOf(const std::string &body) {
  Entries entries;
  std::string reason;
  EXPECT_TRUE(readEntries(header + body, entries, &reason)) << reason;
  return entries;
}

std::string reasonFor(std::string_view text) {
  Entries entries;
  std::string reason;
  EXPECT_FALSE(readEntries(text, entries, &reason));
  return reason;
}

TEST(Ptx, ReadsParameters) {
  auto entries = entriesOf(
      ".visible .entry add(\n"
      "  .param .u64 .ptr .global .align 16 add_param_0, // .param .u32\n"
      "  .param .b64 add_param_1, /* , */ .param .u32 add_param_2,\n"
      "  .param .align 8 .b8 add_param_3[24])\n.reqntid 128\n{ ret; }\n");
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries.at("add"), (std::vector<uint32_t>{8, 8, 4, 24}));
}

TEST(Ptx, ReadsEntriesWithoutParameters) {
  auto entries =
      entriesOf(".entry a() { ret; } .entry b { ret; }\n.func c() { ret; }");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_TRUE(entries.at("a").empty());
  EXPECT_TRUE(entries.at("b").empty());
}

TEST(Ptx, ReadsCommentsInFront) {
  Entries entries;
  std::string reason;
  EXPECT_TRUE(
      readEntries("//\n// made by hand\n.version 8.0", entries, &reason));
}

TEST(Ptx, RefusesWhatIsNone) {
  EXPECT_NE(reasonFor("").find("does not begin as PTX"), std::string::npos);
  EXPECT_NE(reasonFor("\x7f"
                      "ELF")
                .find("damaged blob"),
            std::string::npos);
  std::string cut = header;
  cut[3] = '\0';
  EXPECT_NE(reasonFor(cut).find("damaged blob"), std::string::npos);
}

TEST(Ptx, ReadsNothingInComments) {
  auto entries = entriesOf("/*/ .entry a(.param .u64 p) {} */\n"
                           ".entry b() { ret; } /**/ .entry c() { ret; }");
  EXPECT_EQ(entries.size(), 2u);
  EXPECT_FALSE(entries.contains("a"));
}

/// What is no plain number of elements equals no parameter that is passed.
TEST(Ptx, ReadsLengthsThatArePlain) {
  auto entries = entriesOf(".entry a(.param .b64 p[1+1], .param .b8 q[0x8],"
                           ".param .b64 r[536870913], .param .b8 s[2][4])\n");
  EXPECT_EQ(entries.at("a"), (std::vector<uint32_t>{0, 0, 0, 8}));
}

TEST(Ptx, RefusesAnEntryOfTwoKinds) {
  const std::string twice = ".entry a(.param .u64 p) {} .entry a(";
  EXPECT_EQ(entriesOf(twice + ".param .b64 q) {}").size(), 1u);
  EXPECT_EQ(reasonFor(header + twice + ".param .u32 p) {}"),
            "damaged blob: entry \"a\" is there twice, with other parameters");
}

/// No prefix of a text is read past its end.
TEST(Ptx, ReadsEveryPrefix) {
  std::string whole = std::string(header) +
                      ".entry add(.param .u64 p, .param .align 8 .b8 q[24]) "
                      "/* and */ // so on\n{ \"text\" }";
  for (size_t size = 0; size <= whole.size(); ++size) {
    std::string part = whole.substr(0, size);
    Entries entries;
    std::string reason;
    readEntries(part, entries, &reason);
    EXPECT_LE(entries.size(), 1u);
  }
}

} // namespace
