// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/Data.h"
#include "conformance/cases/Judge.h"
#include "conformance/cases/Tags.h"

#include <gtest/gtest.h>

#include <set>

namespace backplane::conformance {
namespace {

TEST(Cases, IdsAreUniqueAndGraphsVerify) {
  std::set<std::string> ids;
  size_t units = 0, cases = 0;
  generateUnits({}, [&](Unit unit) {
    ++units;
    EXPECT_FALSE(unit.graph.outputs.empty())
        << unit.id << ": " << unit.graph.name;
    Status status = unit.graph.verify();
    EXPECT_TRUE(status.ok()) << unit.id << ": " << status.message();
    EXPECT_EQ(unit.rules.size(), unit.graph.inputs.size()) << unit.id;
    EXPECT_FALSE(unit.tags.empty()) << unit.id;
    for (const std::string &tag : unit.tags)
      EXPECT_TRUE(isTag(tag)) << unit.id << ": " << tag;
    for (const Case &testCase : unit.cases) {
      ++cases;
      EXPECT_TRUE(ids.insert(testCase.id).second) << testCase.id;
      EXPECT_TRUE(isDataSet(testCase.dataSet)) << testCase.id;
    }
    return true;
  });
  RecordProperty("units", static_cast<int>(units));
  RecordProperty("cases", static_cast<int>(cases));
  std::printf("%zu units, %zu cases\n", units, cases);
  EXPECT_LE(units, 4000u);
}

TEST(Cases, EveryMutantOfADeviceHasATag) {
  std::set<std::string_view> names;
  std::set<int> mutants;
  for (const Tag &tag : allTags) {
    EXPECT_TRUE(names.insert(tag.name).second) << tag.name;
    mutants.insert(tag.mutants.begin(), tag.mutants.end());
  }
  for (int mutant = 1; mutant <= 51; ++mutant)
    EXPECT_EQ(mutants.count(mutant), 1u) << mutant;
  EXPECT_FALSE(isTag("transpose"));
}

TEST(Cases, SmokeInputsAreReproducible) {
  uint64_t hash = 0;
  size_t cases = 0;
  generateUnits({.depth = Depth::Smoke}, [&](Unit unit) {
    for (const Case &testCase : unit.cases) {
      ++cases;
      EXPECT_EQ(testCase.depth, Depth::Smoke);
      for (const Tensor &tensor : inputsOf(unit, testCase))
        hash ^= hashText({reinterpret_cast<const char *>(tensor.data.data()),
                          tensor.data.size()}) +
                cases;
    }
    return true;
  });
  std::printf("%zu cases, hash %016llx\n", cases, (unsigned long long)hash);
  EXPECT_LE(cases, 4000u);
}

/// What a right device gives.
std::vector<Tensor> rounded(const std::vector<Expected> &expected) {
  std::vector<Tensor> outputs;
  for (const Expected &answer : expected) {
    Tensor tensor{answer.dtype, answer.dims, {}};
    tensor.data.resize((answer.bits.size() * bitWidth(answer.dtype) + 7) / 8);
    for (size_t i = 0; i < answer.bits.size(); ++i)
      storeBits(tensor, i, answer.bits[i]);
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

TEST(Cases, TheOracleKnowsEverySmokeCaseAndPassesItself) {
  generateUnits({.depth = Depth::Smoke}, [&](Unit unit) {
    for (const Case &testCase : unit.cases) {
      if (expectsError(testCase))
        continue;
      auto expected =
          evaluate(unit.graph, inputsOf(unit, testCase), {}, &unit.weights);
      EXPECT_TRUE(expected.ok()) << testCase.id << ": " << expected.message();
      if (!expected.ok())
        continue;
      for (const Verdict &verdict :
           judge(unit, testCase, *expected, rounded(*expected), {}))
        EXPECT_TRUE(verdict.pass) << testCase.id << ": " << verdict.reason;
      for (const Verdict &verdict : judge(unit, testCase, *expected, {}, {}))
        EXPECT_FALSE(verdict.pass) << testCase.id;
    }
    return true;
  });
}

/// The unit of this id.
Unit unitOf(std::string_view id) {
  Unit found;
  generateUnits({}, [&](Unit unit) {
    bool isIt = unit.id == id;
    if (isIt)
      found = std::move(unit);
    return !isIt;
  });
  EXPECT_EQ(found.id, id);
  return found;
}

TEST(Cases, MovedDTypesNeedNotBeComputedWith) {
  Unit gather = unitOf("L3/gather/i4/i32");
  EXPECT_EQ(gather.dtypes, std::vector{DType::I32});
  EXPECT_EQ(gather.stored, std::vector{DType::I4});
  Unit pad = unitOf("L3/pad/f8e5m2/edge");
  EXPECT_TRUE(pad.dtypes.empty());
  EXPECT_EQ(pad.stored, std::vector{DType::F8E5M2});
  Unit cast = unitOf("L3/cast/f32/to-f8e5m2");
  EXPECT_EQ(cast.dtypes, (std::vector{DType::F32, DType::F8E5M2}));
  Unit scatter = unitOf("L3/scatter/u8/max-i32-0");
  EXPECT_EQ(scatter.dtypes, (std::vector{DType::I32, DType::U8}));
  EXPECT_TRUE(scatter.stored.empty());
}

TEST(Cases, TheOracleFindsTheErrorOfEveryErrorCase) {
  std::set<std::string> ops;
  generateUnits({}, [&](Unit unit) {
    for (const Case &testCase : unit.cases) {
      if (!expectsError(testCase))
        continue;
      ops.insert(unit.op);
      auto told =
          evaluate(unit.graph, inputsOf(unit, testCase), {}, &unit.weights);
      EXPECT_EQ(told.code(), BP_STATUS_OUT_OF_RANGE) << testCase.id;
    }
    return true;
  });
  EXPECT_EQ(ops, (std::set<std::string>{"div", "gather", "rem", "scatter"}));
}

} // namespace
} // namespace backplane::conformance
