// SPDX-License-Identifier: Apache-2.0
//
// VerifyTest.h: a run of a few cases, as it is planned and as it passes.
#ifndef BACKPLANE_CONFORMANCE_PUBLISH_TEST_VERIFYTEST_H
#define BACKPLANE_CONFORMANCE_PUBLISH_TEST_VERIFYTEST_H

#include "conformance/publish/Publish.h"
#include "conformance/publish/Verify.h"
#include "sdk/support/TemporaryFolder.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace backplane::conformance {

inline constexpr int cases = 8;

inline Record planned(int number) {
  Record record;
  record.id = "L3/exp/f32/n/" + std::to_string(number);
  record.unit = "L3/exp/f32/n";
  record.layer = 3;
  record.op = "exp";
  record.dtype = "f32";
  record.dataSet = "uniform";
  record.seed = uint64_t(number);
  record.tested = {.elements = 10, .rank = 1, .macs = 10};
  record.status = number == 0 ? CaseStatus::NotSupported : CaseStatus::Fail;
  return record;
}

inline Result<PlannedRun> plan(const RunFacts &facts) {
  PlannedRun run;
  run.cases = cases;
  run.mustpass = "list";
  run.list = "the list\n";
  for (int i = 0; i < cases; ++i)
    if (uint32_t(i) % facts.shards == facts.shard - 1)
      run.records.push_back(planned(i));
  return run;
}

inline RunFacts facts(uint32_t shard = 1, uint32_t shards = 1) {
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

inline std::vector<Record> passing(const RunFacts &facts) {
  std::vector<Record> records = plan(facts)->records;
  for (Record &record : records)
    if (record.status != CaseStatus::NotSupported) {
      record.status = CaseStatus::Pass;
      record.limitUsed = 0.25;
      record.inputHash = std::string(32, '1');
      record.outputHash = std::string(32, '2');
      record.tested.runs = 1;
    }
  return records;
}

class VerifyTest : public testing::Test {
protected:
  VerifyTest() {
    EXPECT_TRUE(createKey(key_).ok());
    rules_.keys.publicKey = key_ + ".pub";
    put(folder_, facts(), passing(facts()));
  }

  static void write(const std::string &path, const std::string &text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  /// What a run with these records leaves.
  void put(const std::string &folder, const RunFacts &facts,
           std::vector<Record> records,
           const std::vector<Waiver> &waivers = {}) {
    std::filesystem::create_directories(folder);
    std::string lines;
    std::vector<std::string> ids;
    for (const Record &record : records)
      lines += toJson(record) + "\n";
    const PlannedRun planned = *plan(facts);
    for (const Record &record : planned.records)
      ids.push_back(record.id);
    write(folder + "/run.json", toJson(facts));
    write(folder + "/records.jsonl", lines);
    write(folder + "/mustpass.txt", plan(facts)->list);
    RunVerdict verdict = judgeRun(facts, records, ids, waivers);
    EXPECT_TRUE(writeReports(folder, facts, verdict, records).ok());
    EXPECT_TRUE(sealFolder(folder, key_).ok());
  }
  std::string failure(const std::string &folder) {
    auto verified = verifyFolder(folder, rules_, plan);
    return verified ? "" : verified.message();
  }
  /// Refused although somebody has sealed it anew.
  void expectForgery(const std::string &why) {
    EXPECT_TRUE(sealFolder(folder_, key_).ok());
    EXPECT_NE(failure(folder_).find(why), std::string::npos)
        << failure(folder_);
    put(folder_, facts(), passing(facts()));
  }
  void expectRefused(std::vector<Record> records, const std::string &why) {
    put(folder_, facts(), std::move(records));
    EXPECT_NE(failure(folder_).find(why), std::string::npos)
        << failure(folder_);
  }

  TemporaryFolder temporary_;
  std::filesystem::path root_ = temporary_.path();
  std::string folder_ = root_ / "run", key_ = root_ / "key";
  VerifyRules rules_;
};

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_PUBLISH_TEST_VERIFYTEST_H
