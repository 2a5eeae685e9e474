// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/test/VerifyTest.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TextViews.h"

#include <cmath>

using namespace backplane;
using namespace backplane::conformance;
namespace fs = std::filesystem;

namespace {

TEST_F(VerifyTest, ComputesTheSameVerdict) {
  auto verified = verifyFolder(folder_, rules_, plan);
  ASSERT_TRUE(verified.ok()) << verified.message();
  EXPECT_EQ(verified->verdict.counts[3][CaseStatus::Pass], 7u);
  EXPECT_EQ(verified->verdict.bad, 0u);
  EXPECT_EQ(verified->seal.files, 6u);
}

TEST_F(VerifyTest, RefusesRecordsThatAreNotThoseOfTheSuite) {
  std::vector<Record> records = passing(facts());
  auto without = records;
  without.pop_back();
  expectRefused(without, "no record of 'L3/exp/f32/n/7'");
  auto doubled = records;
  doubled.push_back(records[3]);
  expectRefused(doubled, "two records of");
  auto foreign = records;
  foreign[1].id = "L3/absent";
  expectRefused(foreign, "which the run does not have");
  auto seeded = records;
  seeded[1].seed = 77;
  expectRefused(seeded, "does not describe the case");
  auto skipped = records;
  skipped[1].status = CaseStatus::NotSupported;
  expectRefused(skipped, "was left out");
  auto ran = records;
  ran[0].status = CaseStatus::Pass;
  expectRefused(ran, "the declaration excludes it");
  auto beyond = records;
  beyond[1].limitUsed = 1.5;
  expectRefused(beyond, "more than its limit");
  auto nan = records;
  nan[1].limitUsed = NAN;
  expectRefused(nan, "more than its limit");
  auto larger = records;
  larger[1].tested.elements = 1 << 30;
  expectRefused(larger, "claims another size");
  auto empty = records;
  empty[1].outputHash.clear();
  expectRefused(empty, "passes without results");
  auto idle = records;
  idle[1].tested.runs = 0;
  expectRefused(idle, "passes without results");
  auto late = records;
  late[1].runMs = -1;
  expectRefused(late, "a time or magnitude that is none");
  auto mild = records;
  mild[1].status = CaseStatus::QualityWarning;
  expectRefused(mild, "warns of less than half");
  auto excluded = records;
  excluded[0].outputHash = std::string(32, '2');
  expectRefused(excluded, "did not run");
  auto waived = records;
  waived[1].status = CaseStatus::Waived;
  expectRefused(waived, "a raw record has the status Waived");
}

TEST_F(VerifyTest, RefusesAnotherSummaryListOrSeal) {
  std::string path = folder_ + "/summary.json";
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  size_t at = text.find("\"no badge");
  ASSERT_NE(at, std::string::npos);
  write(path, text.replace(at, 9, "\"a badge "));
  EXPECT_NE(failure(folder_).find("was changed"), std::string::npos);
  ASSERT_TRUE(sealFolder(folder_, key_).ok());
  EXPECT_NE(failure(folder_).find("does not say what the records give"),
            std::string::npos);
  RunFacts other = facts();
  other.mustpass = "short list";
  put(folder_, other, passing(other));
  EXPECT_NE(failure(folder_).find("other cases than this suite"),
            std::string::npos);
}

TEST_F(VerifyTest, AddsShardsUp) {
  std::string whole = (root_ / "shards").string();
  put(whole + "/1", facts(1, 2), passing(facts(1, 2)));
  EXPECT_NE(readRuns(whole).message().find("1 of 2 shards"), std::string::npos);
  put(whole + "/2", facts(2, 2), passing(facts(2, 2)));
  auto run = readRuns(whole);
  ASSERT_TRUE(run.ok()) << run.message();
  EXPECT_EQ(run->records.size(), size_t(cases));
  EXPECT_EQ(run->facts.shards, 1u);
  EXPECT_TRUE(judgeAgain(*run, plan).ok());
  put(whole + "/3", facts(2, 2), passing(facts(2, 2)));
  EXPECT_NE(readRuns(whole).message().find("there twice"), std::string::npos);
  RunFacts other = facts(2, 2);
  other.seed = 5;
  fs::remove_all(whole + "/3");
  put(whole + "/2", other, passing(other));
  EXPECT_NE(readRuns(whole).message().find("of another run: seed"),
            std::string::npos);
}

TEST_F(VerifyTest, AccountsForEveryFile) {
  for (const char *name :
       {"report.html", "junit.xml", "summary.json", "mustpass.txt"}) {
    std::ofstream(folder_ + "/" + name, std::ios::app) << " ";
    expectForgery("does not say what the records give");
    fs::remove(folder_ + "/" + name);
    expectForgery("cannot read");
  }
  write(folder_ + "/notes.txt", "all is well");
  expectForgery("'" + folder_ + "/notes.txt' is no file of a run");
  fs::remove(folder_ + "/notes.txt");
  fs::create_directories(folder_ + "/more");
  write(folder_ + "/more/x", "");
  expectForgery("/more' is no file of a run");
  fs::remove_all(folder_ + "/more");
  write(folder_ + "/waivers.json", "{}");
  expectForgery("/waivers.json' is no file of a run");
  fs::remove(folder_ + "/waivers.json");
  std::ofstream(folder_ + "/run.json", std::ios::app) << "\n";
  expectForgery("not written as a run writes it");
  fs::remove(folder_ + "/summary.json");
  fs::create_symlink("report.html", folder_ + "/summary.json");
  rules_.sealed = false;
  EXPECT_NE(failure(folder_).find("is neither a file nor a folder"),
            std::string::npos);
}

/// Its bytes are not read.
TEST_F(VerifyTest, RefusesAFileThatNoArchiveHolds) {
  fs::resize_file(folder_ + "/mustpass.txt", uintmax_t(1) << 40);
  EXPECT_NE(failure(folder_).find("has 1099511627776 bytes"),
            std::string::npos);
}

TEST_F(VerifyTest, RefusesFailuresThatPass) {
  std::vector<Record> records = passing(facts());
  records[1].status = CaseStatus::Fail;
  fs::create_directories(folder_ + "/failures/L3_exp_f32_n_1");
  write(folder_ + "/failures/L3_exp_f32_n_1/graph.bpg", "x");
  put(folder_, facts(), records);
  EXPECT_EQ(failure(folder_), "");
  put(folder_, facts(), passing(facts()));
  EXPECT_NE(failure(folder_).find("no case of this name fails"),
            std::string::npos);
  write(folder_ + "/failures/L3_exp_f32_n_1/run.sh", "x");
  put(folder_, facts(), records);
  EXPECT_NE(failure(folder_).find("no file of a failing graph"),
            std::string::npos);
}

TEST_F(VerifyTest, KnowsKeysChallengesAndDays) {
  const std::string known = (root_ / "known").string();
  rules_.keys = {"", known, false};
  write(known, "# nobody\n");
  EXPECT_NE(failure(folder_).find("does not list"), std::string::npos);
  rules_.keys.any = true;
  EXPECT_EQ(failure(folder_), "");
  rules_.keys.any = false;
  std::ifstream file(key_ + ".pub");
  std::string digits;
  file >> digits;
  write(known, "acme " + digits + " # since 2026\n");
  auto verified = verifyFolder(folder_, rules_, plan);
  ASSERT_TRUE(verified.ok()) << verified.message();
  EXPECT_EQ(verified->seal.owner, "acme");
  for (const std::string &bad : {std::string("acme"), std::string("acme 00"),
                                 digits, "acme " + digits + " y"}) {
    write(known, bad + "\n");
    EXPECT_NE(failure(folder_), "") << bad;
  }
  write(known, "acme " + digits + "\n");
  rules_.challenge = "today";
  EXPECT_NE(failure(folder_).find("took the challenge ''"), std::string::npos);
  rules_.challenge.reset();
  rules_.today = parseDate("2026-11-19");
  EXPECT_NE(failure(folder_).find("is to come"), std::string::npos);
  rules_.today = parseDate("2026-11-20");
  EXPECT_EQ(failure(folder_), "");
}

TEST_F(VerifyTest, ChecksEachShard) {
  const std::string whole = (root_ / "shards").string();
  rules_.sealed = false;
  auto fill = [&] {
    for (uint32_t shard : {1u, 2u}) {
      const std::string folder = whole + "/" + std::to_string(shard);
      put(folder, facts(shard, 2), passing(facts(shard, 2)));
      fs::remove(folder + "/manifest.json");
      fs::remove(folder + "/manifest.sig");
    }
  };
  fill();
  EXPECT_EQ(failure(whole), "");
  std::ofstream(whole + "/2/report.html", std::ios::app) << "Full badge";
  EXPECT_NE(failure(whole).find("/2/report.html' does not say"),
            std::string::npos);
  fill();
  write(whole + "/README", "");
  EXPECT_NE(failure(whole).find("is no shard"), std::string::npos);
  fs::remove(whole + "/README");
  RunFacts other = facts(2, 2);
  other.pluginFiles = {{"libacme.so", std::string(64, 'b')}};
  put(whole + "/2", other, passing(other));
  EXPECT_NE(failure(whole).find("of another run: plugin_files"),
            std::string::npos);
}

TEST_F(VerifyTest, TakesTheWaiversOfTheRunOnly) {
  const std::string text = R"({"format": 1, "waivers": []})";
  RunFacts waived = facts();
  waived.waiversHash = sha256(asBytes(text));
  write(folder_ + "/waivers.json", text);
  put(folder_, waived, passing(waived));
  EXPECT_EQ(failure(folder_), "");
  write(folder_ + "/waivers.json", text + " ");
  EXPECT_TRUE(sealFolder(folder_, key_).ok());
  EXPECT_NE(failure(folder_).find("not the file of the run"),
            std::string::npos);
  fs::remove(folder_ + "/waivers.json");
  EXPECT_TRUE(sealFolder(folder_, key_).ok());
  EXPECT_NE(failure(folder_), "");
}

TEST_F(VerifyTest, RefusesDamagedFiles) {
  for (const char *name : {"run.json", "records.jsonl", "summary.json"}) {
    put(folder_, facts(), passing(facts()));
    for (const std::string &text :
         {std::string(), std::string("{}\n"), std::string(100'000, '['),
          std::string("\0\xff\n", 3)}) {
      write(folder_ + "/" + name, text);
      EXPECT_TRUE(sealFolder(folder_, key_).ok());
      EXPECT_NE(failure(folder_), "") << name << ": " << text.substr(0, 9);
    }
  }
}

} // namespace
