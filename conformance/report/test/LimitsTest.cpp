// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Verdict.h"

#include "backplane/hal.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace backplane;
using namespace backplane::conformance;

namespace {

Record record(std::string op, CaseStatus status, Tested tested) {
  Record record;
  record.op = std::move(op);
  record.status = status;
  record.tested = tested;
  return record;
}

TEST(Limits, TakeTheLargestOfEachOverPasses) {
  const Record records[] = {
      record("exp", CaseStatus::Pass, {100, 1, 100, 2.5, 3, 0.5}),
      record("exp", CaseStatus::QualityWarning, {10, 4, 10, INFINITY, 1, 9}),
      record("exp", CaseStatus::Fail, {1000, 6, 1000, 1e30, 99, 99}),
      record("abs", CaseStatus::NotSupported, {1000, 6, 1000, 0, 0, 0}),
      record("abs", CaseStatus::Pass, {7, 2, 7, 1, 1, 1})};
  auto limits = testedLimits(records);
  EXPECT_EQ(limits.at("exp").most, (Tested{100, 4, 100, 2.5, 3, 9}));
  EXPECT_EQ(limits.at("exp").cases, 2u);
  EXPECT_EQ(limits.at("abs").most.elements, 7u);
  EXPECT_EQ(overall(limits).cases, 3u);
  EXPECT_NE(limitsTable(limits).find("\nexp "), std::string::npos);
}

TEST(Limits, MarkHostsAndEmulators) {
  RunFacts facts;
  facts.deviceKind = BP_DEVICE_KIND_NPU;
  EXPECT_TRUE(marksOf(facts).empty());
  facts.deviceFlags = BP_DEVICE_EMULATED;
  EXPECT_EQ(marksOf(facts), std::vector<std::string>{"emulated"});
  facts.deviceFlags = 0;
  facts.deviceKind = BP_DEVICE_KIND_CPU;
  EXPECT_EQ(marksOf(facts), std::vector<std::string>{"host"});
  facts.emulator = "qemu-aarch64";
  EXPECT_EQ(marksOf(facts), (std::vector<std::string>{"host", "emulated"}));
  facts.device = "worker:board/npu";
  EXPECT_EQ(marksOf(facts).back(), "no applications");
  facts.device = "npu";
  facts.environment = {{"launcher", "ssh board"}};
  EXPECT_EQ(marksOf(facts).back(), "no applications");
  facts.budget = 1000;
  EXPECT_EQ(marksOf(facts).back(), "up to 1000 multiply-adds a case");
}

TEST(Limits, SeedDependsOnVersionFilesAndChallenge) {
  RunFacts facts;
  facts.suite = "0.2.0";
  facts.pluginFiles = {{"a.so", "1"}, {"b.so", "2"}};
  const uint64_t seed = officialSeed(facts);
  EXPECT_NE(seed, 0u);
  std::swap(facts.pluginFiles[0], facts.pluginFiles[1]);
  EXPECT_EQ(officialSeed(facts), seed);
  auto differs = [&](auto change) {
    RunFacts other = facts;
    change(other);
    EXPECT_NE(officialSeed(other), seed);
  };
  differs([](RunFacts &other) { other.suite = "0.2.1"; });
  differs([](RunFacts &other) { other.pluginFiles[0].second = "3"; });
  differs([](RunFacts &other) { other.pluginFiles.pop_back(); });
  differs([](RunFacts &other) { other.challenge = "x"; });
}

} // namespace
