// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/CaseBuilder.h"
#include "conformance/cases/Data.h"
#include "conformance/cases/Judge.h"
#include "conformance/cases/Tags.h"
#include "conformance/cases/test/Rounded.h"
#include "conformance/suite/Generate.h"
#include "sdk/graph/OpTable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace backplane::conformance {
namespace {

/// Whether some elements of a weight differ; few may be the same.
bool varies(const Weight &weight) {
  constexpr int64_t few = 16;
  std::span<const uint8_t> bytes = weight.data;
  size_t width = std::max<size_t>(1, bitWidth(weight.type.dtype) / 8);
  return weight.type.elementCount().constant().value_or(0) < few ||
         !std::ranges::equal(bytes.subspan(width),
                             bytes.first(bytes.size() - width));
}

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
    for (const auto &[id, weight] : unit.weights.all())
      EXPECT_TRUE(varies(weight)) << unit.id;
    for (const std::string &tag : unit.tags)
      EXPECT_TRUE(isTag(tag)) << unit.id << ": " << tag;
    for (const Case &testCase : unit.cases) {
      ++cases;
      EXPECT_TRUE(ids.insert(testCase.id).second) << testCase.id;
      EXPECT_TRUE(isDataSet(testCase.dataSet)) << testCase.id;
    }
  });
  RecordProperty("units", static_cast<int>(units));
  RecordProperty("cases", static_cast<int>(cases));
  std::printf("%zu units, %zu cases\n", units, cases);
  EXPECT_LE(units, 7100u);
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

/// The unit of this id; one without cases when there is none.
Unit unitOf(const std::string &id) {
  static const std::map<std::string, Unit> all = [] {
    std::map<std::string, Unit> units;
    generateUnits({}, [&](const Unit &unit) { units[unit.id] = unit; });
    return units;
  }();
  auto found = all.find(id);
  EXPECT_NE(found, all.end()) << id;
  return found == all.end() ? Unit() : found->second;
}

/// Hash of the inputs of a case; 0 when the unit has no such case.
uint64_t hashOfInputs(const Unit &unit, std::string_view id) {
  uint64_t hash = 0;
  for (const Case &testCase : unit.cases)
    for (const Tensor &tensor :
         testCase.id == id ? inputsOf(unit, testCase) : std::vector<Tensor>())
      hash = hash * 31 +
             hashText({reinterpret_cast<const char *>(tensor.data.data()),
                       tensor.data.size()});
  return hash;
}

TEST(Cases, SmokeInputsAreReproducible) {
  const std::tuple<const char *, const char *, uint64_t> golden[] = {
      {"L3/matmul/f32/nn", "uniform-k=19,m=17,n=18", 0x285bcbf0620af7bcu},
      {"L3/cast/f32/to-f16", "ties-n=1021", 0x77c89f78a2376e24u},
      {"L3/gather/i8/i64", "bits-a=5,b=17,n=19", 0x2a167c58ebc544b7u},
      {"L3/scatter/u8/max-i32-0", "integers-a=3,b=7,n=9", 0xa36462c6ca83c92u},
      {"L3/transpose/f16/210", "special-a=3,b=5,c=7", 0xb96c8c7e6391ab6cu}};
  for (const auto &[unit, suffix, hash] : golden) {
    std::string id = std::string(unit) + "/" + suffix;
    EXPECT_EQ(hashOfInputs(unitOf(unit), id), hash)
        << id << std::hex << " 0x" << hashOfInputs(unitOf(unit), id);
  }
}

TEST(Cases, SmokeCasesAreFewAndSeededByTheirIds) {
  size_t cases = 0;
  generateUnits({.depth = Depth::Smoke}, [&](Unit unit) {
    for (const Case &testCase : unit.cases) {
      ++cases;
      EXPECT_EQ(testCase.depth, Depth::Smoke);
      EXPECT_EQ(testCase.seed, hashText(testCase.id)) << testCase.id;
      EXPECT_TRUE(testCase.id.starts_with(unit.id + "/")) << testCase.id;
    }
  });
  std::printf("%zu smoke cases\n", cases);
  EXPECT_LE(cases, 4000u);
}

/// The dtypes of the units that an op must have. Shape rules narrow some;
/// layers 4 and 5 run ops on the state of a program.
std::vector<DType> testedDTypes(const OpSpec &spec) {
  if (!spec.pure)
    return {};
  if (spec.name == "dim")
    return {DType::I64};
  if (spec.name.ends_with("_integer"))
    return {DType::I8, DType::U8};
  if (spec.name == "random_bits")
    return {DType::U64};
  std::vector<DType> dtypes = dtypesOf(spec.name);
  if (spec.name == "reduce")
    std::erase_if(dtypes, [](DType dtype) {
      return dtype != DType::Bool && !contains(TypeSet::Number, dtype);
    });
  return dtypes;
}

TEST(Cases, EveryOpOfTheTableHasCasesInLayerThree) {
  std::set<std::pair<std::string, DType>> missing;
  for (const OpSpec &spec : opTable())
    for (DType dtype : testedDTypes(spec))
      missing.insert({std::string(spec.name), dtype});
  generateUnits({}, [&](const Unit &unit) {
    if (unit.layer == 3)
      missing.erase({unit.op, unit.dtype});
  });
  for (const auto &[op, dtype] : missing)
    ADD_FAILURE() << op << " of " << name(dtype);
}

TEST(Cases, EveryOpIsRunWithEachSizeZeroAndOne) {
  std::set<std::string_view> missing, compiled;
  for (const OpSpec &spec : opTable())
    missing.insert(spec.name);
  compiled = missing;
  generateUnits({}, [&](const Unit &unit) {
    if (unit.id.find("/edges-static") != std::string::npos)
      compiled.erase(unit.op);
    else if (unit.id.find("/edges") != std::string::npos)
      missing.erase(unit.op);
  });
  // What these give has plain sizes only.
  for (const char *op : {"weight", "variable_read", "variable_write"})
    missing.erase(op);
  for (std::string_view op : missing)
    ADD_FAILURE() << op << " with sizes that the call gives";
  for (std::string_view op : compiled)
    ADD_FAILURE() << op << " with sizes that the compiler sees";
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
  });
}

/// Verdicts on the right outputs of a case with one element changed.
std::vector<Verdict> judgeDamaged(const Unit &unit, const Case &testCase,
                                  size_t element, uint64_t flip) {
  auto expected =
      evaluate(unit.graph, inputsOf(unit, testCase), {}, &unit.weights);
  EXPECT_TRUE(expected.ok()) << testCase.id;
  std::vector<Tensor> outputs = rounded(*expected);
  storeBits(outputs[0], element, loadBits(outputs[0], element) ^ flip);
  return judge(unit, testCase, *expected, outputs, {});
}

TEST(Judge, FindsTheLastBitOfOneElementUnderExactData) {
  for (const char *id :
       {"L3/matmul/f32/nn", "L3/matmul/f16/tt-batch", "L3/reduce/bf16/sum-1",
        "L3/conv/f32/3x3", "L3/reverse/f32/rank6", "L3/gather/f32/i32"}) {
    size_t damaged = 0;
    Unit unit = unitOf(id);
    for (const Case &testCase : unit.cases) {
      bool isExactCase =
          isExact(testCase.dataSet) || testCase.dataSet == "bits";
      if (testCase.depth != Depth::Smoke || !isExactCase)
        continue;
      ++damaged;
      EXPECT_TRUE(judgeDamaged(unit, testCase, 3, 0)[0].pass) << testCase.id;
      EXPECT_FALSE(judgeDamaged(unit, testCase, 3, 1)[0].pass) << testCase.id;
      EXPECT_FALSE(judgeDamaged(unit, testCase, 0, 2)[0].pass) << testCase.id;
    }
    EXPECT_GT(damaged, 0u) << id;
  }
}

TEST(Judge, FindsADroppedTermUnderRandomData) {
  Unit unit = unitOf("L3/matmul/f32/nn");
  for (const Case &testCase : unit.cases) {
    if (testCase.dataSet != "uniform" || testCase.depth != Depth::Smoke)
      continue;
    // A bit of weight 2^-7 of an element near 1, far beyond rounding.
    EXPECT_FALSE(judgeDamaged(unit, testCase, 5, 1u << 16)[0].pass);
  }
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
  });
  EXPECT_EQ(ops, (std::set<std::string>{"div", "gather", "rem", "scatter"}));
}

} // namespace
} // namespace backplane::conformance
