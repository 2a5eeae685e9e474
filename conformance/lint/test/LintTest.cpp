// SPDX-License-Identifier: Apache-2.0
//
// The parts of `bp lint` that no plug-in is needed for; run_lint.py tries each
// rule on a plug-in that breaks it.
#include "backplane/compiler.h"
#include "conformance/lint/Child.h"
#include "conformance/lint/Layouts.h"
#include "conformance/lint/Report.h"
#include "conformance/plugin/ElfFile.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unistd.h>

using namespace backplane;
using namespace backplane::lint;

namespace {

using std::chrono::milliseconds;

TEST(LintRules, HaveOneNumberEachInOrder) {
  std::string last;
  for (const Rule &rule : allRules()) {
    EXPECT_LT(last, rule.number);
    last = rule.number;
    EXPECT_EQ(findRule(rule.number), &rule);
    EXPECT_FALSE(rule.asks.empty() || rule.remedy.empty()) << rule.number;
    EXPECT_FALSE(rule.asks.ends_with('.') || rule.remedy.ends_with('.'))
        << rule.number;
  }
  EXPECT_EQ(findRule("BPL000"), nullptr);
}

TEST(LintRules, EachCheckHasOne) {
  for (const checks::Check &check : checks::allChecks()) {
    const Rule &rule = ruleOf(check);
    EXPECT_EQ(rule.asks.substr(1) + ".", check.what.substr(1))
        << rule.number << " " << check.id;
    EXPECT_EQ(rule.number[3] - '3', check.layer == 7 ? 3 : check.layer)
        << rule.number << " " << check.id;
  }
}

TEST(LintLayouts, HaveTheNewestVersion) {
  EXPECT_EQ(newestMinor(), uint32_t(BP_ABI_MINOR));
  EXPECT_EQ(sizeIn(BP_ABI_MINOR, "bp_compiler_table_t"),
            sizeof(bp_compiler_table_t));
  EXPECT_LT(sizeIn(1, "bp_compiler_table_t"), sizeof(bp_compiler_table_t));
  EXPECT_EQ(sizeIn(BP_ABI_MINOR, "no_such_t"), 0u);
  EXPECT_EQ(sizeIn(1000, "bp_compiler_table_t"), 0u);
}

std::string faultOf(bp_header_t header, uint32_t minor) {
  return headerFault(&header, bp_compiler_table_t_TYPE, "bp_compiler_table_t",
                     "the table", minor);
}

TEST(LintLayouts, JudgeHeaders) {
  const bp_header_t today = BP_HEADER(bp_compiler_table_t);
  EXPECT_EQ(faultOf(today, BP_ABI_MINOR), "");
  EXPECT_NE(faultOf(today, 1).find("version 0.1"), std::string::npos);
  EXPECT_EQ(faultOf(today, 1000), ""); // nobody knows
  bp_header_t other = today;
  other.type = 3;
  EXPECT_NE(faultOf(other, BP_ABI_MINOR).find("has type 3"), std::string::npos);
  other = today;
  other.size += 8;
  EXPECT_NE(faultOf(other, BP_ABI_MINOR), "");
}

std::string endOf(const std::function<void()> &work) {
  return inChild([&](const Teller &) { work(); },
                 [](std::string_view, const std::string &) {},
                 milliseconds(300));
}

TEST(LintChild, TellsHowItEnded) {
  EXPECT_EQ(endOf([] {}), "");
  EXPECT_NE(endOf([] { std::exit(3); }).find("exit code 3"), std::string::npos);
  EXPECT_NE(endOf([] { std::_Exit(0); }).find("exit code 0"),
            std::string::npos);
  EXPECT_NE(endOf([] { raise(SIGKILL); }).find("signal 9"), std::string::npos);
  EXPECT_NE(endOf([] { std::abort(); }).find("signal 6"), std::string::npos);
  EXPECT_NE(endOf([] { throw std::runtime_error("thrown"); }).find("signal 6"),
            std::string::npos);
  EXPECT_NE(endOf([] { pause(); }).find("did not come back within 300 ms"),
            std::string::npos);
  // One that closes all that it has and goes on.
  EXPECT_NE(endOf([] {
              for (int fd = 0; fd < 1000; ++fd)
                close(fd);
              for (;;)
                pause();
            }).find("signal 9"),
            std::string::npos);
}

TEST(LintChild, TellsWhatItSaid) {
  std::vector<std::string> heard;
  std::string long_(10000, 'x');
  std::string end = inChild(
      [&](const Teller &teller) {
        teller.tell("one", "two three\nfour");
        teller.tell("empty", "");
        teller.tell("long", long_);
        raise(SIGKILL);
      },
      [&](std::string_view word, const std::string &text) {
        heard.push_back(std::string(word) + "|" + text.substr(0, 20));
      },
      milliseconds(5000));
  EXPECT_EQ(heard, (std::vector<std::string>{"one|two three four", "empty|",
                                             "long|" + long_.substr(0, 20)}));
  EXPECT_NE(end, "");
}

TEST(LintReport, CountsAndNames) {
  Report report("acme.bp.json");
  report.find("BPL103", "libacme.so", "exports 'helper'\nand more");
  report.find("BPL114", "libacme.so", "runs f when it is loaded");
  report.skip("checks", "none");
  EXPECT_EQ(report.count(Severity::Error), 1u);
  EXPECT_EQ(report.count(Severity::Warning), 1u);
  EXPECT_EQ(report.count(Severity::Note), 0u);
  EXPECT_TRUE(report.has("BPL103"));
  EXPECT_THROW(report.find("BPL999", "", ""), std::logic_error);
  std::string text = report.text();
  EXPECT_EQ(text.find("BPL103 error: libacme.so: exports 'helper'"), 0u);
  EXPECT_NE(text.find("\nskipped checks: none\n"), std::string::npos);
  EXPECT_NE(text.find("1 error, 1 warning, 0 notes; 2 of"), std::string::npos);
  auto json = nlohmann::json::parse(report.json());
  EXPECT_EQ(json["findings"][0]["rule"], "BPL103");
  EXPECT_EQ(json["errors"], 1);
  Report one("acme.bp.json", {"BPL114"});
  one.find("BPL103", "libacme.so", "exports 'helper'");
  EXPECT_TRUE(one.findings().empty() && one.has("BPL103"));
}

std::vector<char> ofSmallLibrary() {
  std::ifstream in(BP_FAULTY_PLUGIN, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(LintElf, ReadsThisProgram) {
  auto file = checks::ElfFile::read("/proc/self/exe");
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_FALSE(file->needed.empty());
  EXPECT_FALSE(file->versions.empty());
  bool libc = false;
  for (const checks::ElfVersion &version : file->versions)
    libc |=
        version.library == "libc.so.6" && version.version.starts_with("GLIBC_");
  EXPECT_TRUE(libc);
  bool versioned = false;
  for (const checks::ElfSymbol &symbol : file->symbols)
    versioned |= !symbol.defined() && symbol.version.starts_with("GLIBC_");
  EXPECT_TRUE(versioned);
}

/// Whatever is read of it, the reader comes back.
TEST(LintElf, ReadsDamagedFiles) {
  const std::vector<char> whole = ofSmallLibrary();
  std::string path =
      testing::TempDir() + "lint-elf-" + std::to_string(getpid());
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < 40; ++i) {
    std::vector<char> bytes = whole;
    if (i < 20)
      bytes.resize(whole.size() * size_t(i) / 20);
    for (int change = 0; i >= 20 && change < 8; ++change) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      // Headers, and section headers at the end, are what leads elsewhere.
      size_t at = change % 2 ? state % 64 : bytes.size() - 1 - state % 1600;
      bytes[at] = char(state >> 32);
    }
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), std::streamsize(bytes.size()));
    auto file = checks::ElfFile::read(path);
    EXPECT_TRUE(file.ok() || !file.message().empty());
  }
  std::filesystem::remove(path);
}

} // namespace
