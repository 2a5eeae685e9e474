// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Verify.h"
#include "conformance/publish/Diff.h"
#include "conformance/publish/Publish.h"
#include "hal/core/FileHash.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

using namespace backplane;
using namespace backplane::conformance;
namespace fs = std::filesystem;

namespace {

constexpr int cases = 8;

Record planned(int number) {
  Record record;
  record.id = "L3/exp/f32/n/" + std::to_string(number);
  record.unit = "L3/exp/f32/n";
  record.layer = 3;
  record.op = "exp";
  record.dtype = "f32";
  record.dataSet = "uniform";
  record.seed = uint64_t(number);
  record.status = number == 0 ? CaseStatus::NotSupported : CaseStatus::Fail;
  return record;
}

Result<PlannedRun> plan(const RunFacts &facts) {
  PlannedRun run;
  run.cases = cases;
  run.mustpass = "list";
  for (int i = 0; i < cases; ++i)
    if (uint32_t(i) % facts.shards == facts.shard - 1)
      run.records.push_back(planned(i));
  return run;
}

RunFacts facts(uint32_t shard = 1, uint32_t shards = 1) {
  RunFacts facts;
  facts.suite = "0.2.0";
  facts.date = "2026-11-21T10:00:00Z";
  facts.device = "acme://0";
  facts.cases = cases;
  facts.mustpass = "list";
  facts.shard = shard;
  facts.shards = shards;
  return facts;
}

std::vector<Record> passing(const RunFacts &facts) {
  std::vector<Record> records = plan(facts)->records;
  for (Record &record : records)
    if (record.status != CaseStatus::NotSupported) {
      record.status = CaseStatus::Pass;
      record.limitUsed = 0.25;
      record.inputHash = "in";
      record.outputHash = "out";
    }
  return records;
}

class VerifyTest : public testing::Test {
protected:
  VerifyTest() {
    std::string pattern = testing::TempDir() + "verify-XXXXXX";
    root_ = mkdtemp(pattern.data());
    folder_ = (root_ / "run").string();
    key_ = (root_ / "key").string();
    EXPECT_TRUE(createKey(key_).ok());
    put(folder_, facts(), passing(facts()));
  }
  ~VerifyTest() override { fs::remove_all(root_); }

  static void write(const std::string &path, const std::string &text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  /// What a run with these records leaves.
  void put(const std::string &folder, const RunFacts &facts,
           std::vector<Record> records,
           const std::vector<Waiver> &waivers = {}) {
    fs::create_directories(folder);
    std::string lines;
    std::vector<std::string> ids;
    for (const Record &record : records)
      lines += toJson(record) + "\n";
    const PlannedRun planned = *plan(facts);
    for (const Record &record : planned.records)
      ids.push_back(record.id);
    write(folder + "/run.json", toJson(facts));
    write(folder + "/records.jsonl", lines);
    RunVerdict verdict = judgeRun(facts, records, ids, waivers);
    EXPECT_TRUE(writeReports(folder, facts, verdict, records).ok());
    EXPECT_TRUE(sealFolder(folder, key_).ok());
  }
  std::string failure(const std::string &folder) {
    auto verified = verifyFolder(folder, true, key_ + ".pub", plan);
    return verified ? "" : verified.message();
  }
  void expectRefused(std::vector<Record> records, const std::string &why) {
    put(folder_, facts(), std::move(records));
    EXPECT_NE(failure(folder_).find(why), std::string::npos)
        << failure(folder_);
  }

  fs::path root_;
  std::string folder_, key_;
};

TEST_F(VerifyTest, ComputesTheSameVerdict) {
  auto verified = verifyFolder(folder_, true, key_ + ".pub", plan);
  ASSERT_TRUE(verified.ok()) << verified.message();
  EXPECT_EQ(verified->verdict.counts[3][CaseStatus::Pass], 7u);
  EXPECT_EQ(verified->verdict.bad, 0u);
  EXPECT_EQ(verified->seal.files, 5u);
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
  EXPECT_NE(failure(folder_).find("claims another verdict"), std::string::npos);
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

TEST_F(VerifyTest, TakesTheWaiversOfTheRunOnly) {
  const std::string text = R"({"format": 1, "waivers": []})";
  RunFacts waived = facts();
  waived.waiversHash =
      sha256({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
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

TEST(Diff, SortsChangesByWhatTheyMean) {
  std::vector<Record> before, after;
  for (int i = 0; i < cases; ++i)
    before.push_back(planned(i));
  for (Record &record : before)
    record.status = CaseStatus::Pass;
  before[1].status = CaseStatus::Crash;
  after = before;
  after[0].status = CaseStatus::Timeout;
  after[1].status = CaseStatus::Pass;
  after[2].status = CaseStatus::NotSupported;
  after[3].limitUsed = 0.5;
  after[4].outputHash = "other";
  after.pop_back();
  after.push_back(planned(99));
  RunDiff diff = compareRuns(before, after);
  EXPECT_EQ(diff.failed.size(), 1u);
  EXPECT_EQ(diff.fixed.size(), 1u);
  EXPECT_EQ(diff.dropped.size(), 1u);
  EXPECT_EQ(diff.looser.size(), 1u);
  EXPECT_EQ(diff.changed.size(), 1u);
  EXPECT_EQ(diff.missing.size(), 1u);
  EXPECT_EQ(diff.added.size(), 1u);
  EXPECT_TRUE(diff.worse());
  EXPECT_NE(textOf(diff, 5).find("1 new failures\n  L3/exp/f32/n/0: Pass 0 -> "
                                 "Timeout 0"),
            std::string::npos)
      << textOf(diff, 5);
  EXPECT_FALSE(compareRuns(before, before).worse());
  EXPECT_EQ(textOf(compareRuns(before, before), 5), "no difference\n");
}

TEST(Junit, HasOneCasePerRecord) {
  std::vector<Record> records = passing(facts());
  records[1].status = CaseStatus::Crash;
  records[1].reason = "signal <6> & \"more\" \x01";
  std::string xml = junitXml(facts(), records);
  EXPECT_NE(xml.find("tests=\"8\" failures=\"1\" errors=\"0\" skipped=\"1\""),
            std::string::npos);
  EXPECT_NE(xml.find("<failure type=\"Crash\" message=\"signal &lt;6&gt; "
                     "&amp; &quot;more&quot; ?\"/>"),
            std::string::npos);
}

} // namespace
