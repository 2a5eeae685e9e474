// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Verdict.h"
#include "backplane/hal.h"
#include "sdk/graph/OpTable.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::conformance;

namespace {

uint64_t bitsOf(std::initializer_list<DType> dtypes) {
  uint64_t bits = 0;
  for (DType dtype : dtypes)
    bits |= uint64_t(1) << uint32_t(dtype);
  return bits;
}

/// A run that earns Strict, and what a test breaks in it.
struct Sample {
  RunFacts facts;
  std::vector<Record> records;
  std::vector<std::string> planned;
  std::vector<Waiver> waivers;

  Sample() {
    facts.suite = "0.2.0";
    facts.date = "2026-11-21T10:00:00Z";
    facts.device = "acme://0";
    facts.depth = "standard";
    facts.strict = true;
    facts.computeDTypes =
        bitsOf({DType::F32, DType::I32, DType::I64, DType::Bool, DType::F16,
                DType::I8, DType::U8});
    facts.numerics = {{"DOT", "f16", 24, 0, 8}, {"DOT", "f32", 24, 0, 8}};
    for (const OpSpec &op : opTable())
      add(3, std::string(op.name));
    for (int layer : {0, 1, 2, 4, 5, 6, 7})
      add(layer, "layer");
    add(3, "numerics");
    facts.cases = records.size();
    facts.pluginFiles = {{"libacme.so", std::string(64, 'a')}};
    facts.seed = officialSeed(facts);
  }
  void add(int layer, const std::string &op) {
    Record record;
    record.id = "L" + std::to_string(layer) + "/" + op + "/f32";
    record.layer = layer;
    record.op = op;
    record.status = CaseStatus::Pass;
    planned.push_back(record.id);
    records.push_back(std::move(record));
  }
  Record &of(int layer) {
    for (Record &record : records)
      if (record.layer == layer)
        return record;
    return records[0];
  }
  RunVerdict judge() {
    std::vector<Record> copy = records;
    return judgeRun(facts, copy, planned, waivers);
  }
};

std::string missing(const RunVerdict &verdict) {
  std::string all;
  for (const std::string &line : verdict.missing())
    all += line + "\n";
  return all;
}

TEST(Verdict, GivesEveryBadge) {
  Sample sample;
  RunVerdict verdict = sample.judge();
  EXPECT_EQ(verdict.title(), "Strict badge") << missing(verdict);
  EXPECT_TRUE(verdict.passed);
  EXPECT_TRUE(verdict.missing().empty());
  sample.facts.strict = false;
  EXPECT_EQ(sample.judge().title(), "Full badge");
  EXPECT_EQ(missing(sample.judge()),
            "strict limits, each case twice: run with --strict\n");
  sample.facts.depth = "smoke";
  EXPECT_EQ(sample.judge().title(), "Core badge");
  EXPECT_TRUE(sample.judge().passed);
  sample.facts.computeDTypes = bitsOf({DType::F32});
  EXPECT_EQ(sample.judge().badge, Badge::None);
  EXPECT_FALSE(sample.judge().passed);
  EXPECT_NE(missing(sample.judge()).find("not with i32, i64, bool"),
            std::string::npos)
      << missing(sample.judge());
}

TEST(Verdict, CountsBadCasesWhereTheBadgeLooks) {
  Sample sample;
  sample.of(5).status = CaseStatus::Timeout;
  EXPECT_EQ(sample.judge().title(), "Core badge");
  EXPECT_FALSE(sample.judge().passed);
  for (int layer : {0, 1, 2, 3, 6}) {
    Sample other;
    other.of(layer).status = CaseStatus::Flaky;
    EXPECT_EQ(other.judge().title(), "no badge: 1 bad case") << layer;
  }
}

TEST(Verdict, AsksForEveryLayer) {
  for (int layer : {0, 1, 2, 6, 4, 5, 7}) {
    Sample sample;
    std::erase_if(sample.records,
                  [&](const Record &record) { return record.layer == layer; });
    sample.planned.clear();
    for (const Record &record : sample.records)
      sample.planned.push_back(record.id);
    bool core = layer == 4 || layer == 5 || layer == 7;
    EXPECT_EQ(sample.judge().badge, core ? Badge::Core : Badge::None) << layer;
  }
}

TEST(Verdict, AsksForEveryOp) {
  Sample sample;
  for (Record &record : sample.records)
    if (record.op == "matmul")
      record.status = CaseStatus::NotSupported;
  EXPECT_EQ(sample.judge().badge, Badge::None);
  EXPECT_NE(missing(sample.judge())
                .find("every op of the table ran: not: "
                      "matmul"),
            std::string::npos);
}

TEST(Verdict, ARefusalIsNoFailureAndNoBadge) {
  Sample sample;
  sample.of(6).status = CaseStatus::Refused;
  RunVerdict verdict = sample.judge();
  EXPECT_EQ(verdict.badge, Badge::None);
  EXPECT_EQ(verdict.bad, 0u);
  EXPECT_EQ(verdict.refused, 1u);
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(missing(verdict).find("the target refuses no case in layers 0 to 3 "
                                  "and 6: 1 of"),
            std::string::npos)
      << missing(verdict);
  sample.facts.filters = {"*"};
  EXPECT_EQ(sample.judge().title(), "no badge: only a part of the cases ran, 1 "
                                    "case refused, the others good");
  Sample later;
  later.of(5).status = CaseStatus::Refused;
  EXPECT_EQ(later.judge().title(), "Core badge");
  for (Record &record : later.records)
    if (record.op == "matmul")
      record.status = CaseStatus::Refused;
  EXPECT_NE(
      missing(later.judge()).find("every op of the table ran: not: matmul"),
      std::string::npos);
}

TEST(Verdict, AProfileAsksForItsOpsAndDTypes) {
  Sample sample;
  std::erase_if(sample.records, [](const Record &record) {
    return record.op == "sin" || record.op == "conv";
  });
  sample.planned.clear();
  for (const Record &record : sample.records)
    sample.planned.push_back(record.id);
  sample.facts.computeDTypes = bitsOf({DType::F32, DType::Bool});
  EXPECT_EQ(sample.judge().badge, Badge::None);
  sample.facts.profile = "dense";
  EXPECT_EQ(sample.judge().title(), "Strict badge (profile dense)")
      << missing(sample.judge());
  sample.facts.profile = "transformer";
  EXPECT_NE(
      missing(sample.judge()).find("every op of the profile ran: not: sin"),
      std::string::npos)
      << missing(sample.judge());
  EXPECT_NE(missing(sample.judge())
                .find("computes with f32, i64, bool: not "
                      "with i64"),
            std::string::npos)
      << missing(sample.judge());
}

TEST(Verdict, NamesMissingDoubledAndForeignRecords) {
  Sample sample;
  sample.records.push_back(sample.records[0]);
  EXPECT_NE(sample.judge().problems.at(0).find("twice"), std::string::npos);
  EXPECT_EQ(sample.judge().badge, Badge::None);
  sample.records.pop_back();
  sample.planned.emplace_back("L3/absent");
  EXPECT_NE(sample.judge().problems.at(0).find("without a record: L3/absent"),
            std::string::npos);
  sample.planned.resize(sample.planned.size() - 2);
  EXPECT_NE(sample.judge().problems.at(0).find("of no case"),
            std::string::npos);
  EXPECT_FALSE(sample.judge().passed);
}

TEST(Verdict, GivesNoBadgeForAPart) {
  Sample filtered;
  filtered.facts.filters = {"*"};
  EXPECT_EQ(filtered.judge().title(),
            "no badge: only a part of the cases ran, all of them good");
  EXPECT_TRUE(filtered.judge().passed);
  Sample shard;
  shard.facts.shards = 2;
  EXPECT_EQ(shard.judge().badge, Badge::None);
  Sample seeded;
  seeded.facts.seed = 7;
  EXPECT_EQ(seeded.judge().badge, Badge::None);
  EXPECT_FALSE(seeded.judge().passed);
  Sample swapped;
  swapped.facts.pluginFiles[0].second = std::string(64, 'b');
  EXPECT_EQ(swapped.judge().badge, Badge::None) << "the seed of another file";
  Sample challenged;
  challenged.facts.challenge = "2026-11-22 7f3a";
  EXPECT_EQ(challenged.judge().badge, Badge::None);
  challenged.facts.seed = officialSeed(challenged.facts);
  EXPECT_EQ(challenged.judge().badge, Badge::Strict);
  Sample idle;
  for (Record &record : idle.records)
    record.unit = record.id;
  idle.of(1).status = CaseStatus::NotSupported;
  EXPECT_EQ(idle.judge().badge, Badge::None) << "a unit of checks did not run";
  for (const char *optional :
       {"L1/import", "L0/graph-passes", "L0/partition"}) {
    idle.of(1).unit = optional;
    EXPECT_EQ(idle.judge().badge, Badge::Strict) << optional;
  }
  idle.of(1).unit = "L7/application/exp/f32/n";
  EXPECT_EQ(idle.judge().badge, Badge::None) << "applications can be started";
  idle.facts.device = "worker:board/acme";
  EXPECT_EQ(idle.judge().badge, Badge::Strict) << "not where the device is";
  EXPECT_NE(idle.judge().title().find("no applications"), std::string::npos);
  Sample unknown;
  unknown.facts.pluginFiles.clear();
  unknown.facts.seed = officialSeed(unknown.facts);
  EXPECT_EQ(unknown.judge().badge, Badge::None) << "no file is known";
}

TEST(Verdict, MarksRelaxedNumerics) {
  Sample flushes;
  flushes.facts.numerics[1].flags |= 2;
  EXPECT_EQ(flushes.judge().title(), "Strict-R badge");
  Sample truncates;
  truncates.facts.numerics[1].rounding = 1;
  EXPECT_EQ(truncates.judge().title(), "Strict-R badge");
  Sample narrow;
  narrow.facts.numerics[0].accumulatorBits = 11;
  EXPECT_EQ(narrow.judge().title(), "Core-R badge");
  Sample tiny;
  tiny.facts.numerics[1].accumulatorBits = 8;
  EXPECT_EQ(tiny.judge().badge, Badge::None);
  Sample vague;
  vague.facts.numerics[1].flags = 0;
  EXPECT_EQ(vague.judge().title(), "Full badge");
}

TEST(Verdict, AsksForSizesThatShowSomething) {
  auto titleOf = [](uint64_t budget, uint64_t bufferBytes, uint32_t flags = 0) {
    Sample sample;
    sample.facts.budget = budget;
    sample.facts.bufferBytes = bufferBytes;
    sample.facts.deviceFlags = flags;
    return sample.judge().title();
  };
  EXPECT_EQ(titleOf(0, 0), "Strict badge");
  EXPECT_EQ(titleOf(1 << 28, 1 << 26),
            "Strict badge (up to 268435456 multiply-adds a case)");
  EXPECT_EQ(titleOf((1 << 28) - 1, 0),
            "Core badge (up to 268435455 multiply-adds a case)");
  EXPECT_EQ(titleOf(1, 0), "Core badge (up to 1 multiply-adds a case)");
  EXPECT_EQ(titleOf(0, (1 << 26) - 1),
            "Core badge (up to 67108863 bytes a buffer)");
  EXPECT_EQ(titleOf(1 << 24, 0, BP_DEVICE_EMULATED),
            "Strict badge (emulated, up to 16777216 multiply-adds a case)");
  EXPECT_EQ(titleOf((1 << 24) - 1, 0, BP_DEVICE_EMULATED),
            "Core badge (emulated, up to 16777215 multiply-adds a case)");
}

TEST(Verdict, TakesNoWaiverForStrict) {
  Sample sample;
  for (int i = 0; i < 200; ++i)
    sample.add(4, "more" + std::to_string(i));
  sample.facts.cases = sample.records.size();
  sample.of(4).status = CaseStatus::Fail;
  sample.waivers = {{"one",
                     {sample.of(4).id},
                     {"*"},
                     {"*"},
                     "why",
                     "https://x",
                     "me",
                     *parseDate("2027-01-01")}};
  RunVerdict verdict = sample.judge();
  EXPECT_EQ(verdict.title(), "Full badge (1 waived case)") << missing(verdict);
  EXPECT_EQ(verdict.counts[4][CaseStatus::Waived], 1u);
  EXPECT_TRUE(verdict.passed);
}

TEST(Facts, AreReadAsWritten) {
  Sample sample;
  sample.facts.pluginFiles = {{"libacme.so", "00"}};
  sample.facts.environment = {{"processor", "x"}};
  sample.facts.excludes = {"L3/*"};
  std::string text = toJson(sample.facts);
  auto facts = parseFacts(text);
  ASSERT_TRUE(facts.ok()) << facts.message();
  EXPECT_EQ(toJson(*facts), text);
  EXPECT_EQ(differenceOf(*facts, sample.facts), "");
  facts->numerics[0].accumulatorBits = 53;
  EXPECT_NE(differenceOf(*facts, sample.facts).find("numerics"),
            std::string::npos);
  for (const char *bad : {"", "{}", "[1]"})
    EXPECT_FALSE(parseFacts(bad).ok());
  auto refuse = [&](const std::string &from, const std::string &to) {
    std::string broken = text;
    broken.replace(broken.find(from), from.size(), to);
    EXPECT_FALSE(parseFacts(broken).ok()) << to;
  };
  refuse("\"format\": 3", "\"format\": 2");
  refuse("\"profile\": \"whole\"", "\"profile\": \"part\"");
  refuse("\"2026-11-21T10:00:00Z\"", "\"2026-11-21\"");
  refuse("\"standard\"", "\"deep\"");
  refuse("\"shard\": 1", "\"shard\": 2");
  refuse("\"cases\"", "\"seed\"");
  refuse("\"cases\"", "\"extra\"");
}

} // namespace
