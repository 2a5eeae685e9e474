// SPDX-License-Identifier: Apache-2.0
//
// A job with real workers and rules of judgement that the test decides.
#include "conformance/runner/Job.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::conformance;

namespace {

Tensor fourFloats(float value) {
  Tensor tensor{DType::F32, {4}, Bytes(16)};
  for (int i = 0; i < 4; ++i)
    std::memcpy(tensor.data.data() + 4 * i, &value, 4);
  return tensor;
}

/// x + x, where every input is 3.
Unit doubling() {
  Unit unit;
  unit.id = "L3/add/f32/twice";
  unit.op = "add";
  unit.dtype = DType::F32;
  unit.dtypes = {DType::F32};
  ValueId x = unit.graph.addInput("x", {DType::F32, {Dim(4)}});
  unit.graph.addOutput(unit.graph.add("add", {x, x})->at(0), "y");
  for (int i = 0; i < 3; ++i)
    unit.cases.push_back({unit.id + "/" + std::to_string(i), {}, "threes", 0});
  return unit;
}

JobOptions options(std::vector<std::string> worker = {BP_WORKER}) {
  setenv("BACKPLANE_PLUGIN_FILES", BP_TEST_MANIFESTS, 1);
  JobOptions options;
  options.worker = std::move(worker);
  options.compiler = {BP_COMPILE_WORKER};
  options.judgement = {
      [](const Unit &, const Case &) {
        return std::vector<Tensor>{fourFloats(3)};
      },
      evaluate,
      [](const Unit &, const Case &, const std::vector<Expected> &expected,
         const std::vector<Tensor> &outputs, const Declaration &) {
        return std::vector<Verdict>{compare(expected[0], outputs[0], {})};
      },
      [](const Unit &) { return false; }, [](const Case &) { return false; }};
  return options;
}

std::vector<Record> run(JobOptions with, const Unit &unit) {
  Job job(std::move(with));
  auto records = job.run(unit);
  EXPECT_TRUE(records.ok()) << records.message();
  return records ? std::move(*records) : std::vector<Record>();
}

TEST(Job, PassesWhatIsRight) {
  std::vector<Record> records = run(options(), doubling());
  ASSERT_EQ(records.size(), 3u);
  for (const Record &record : records) {
    EXPECT_EQ(record.status, CaseStatus::Pass) << record.reason;
    EXPECT_EQ(record.elements, 4u);
    EXPECT_FALSE(record.outputHash.empty());
  }
  EXPECT_GT(records[0].compileMs, 0);
  EXPECT_EQ(records[1].compileMs, 0);
}

TEST(Job, FailsWhatIsWrong) {
  JobOptions wrong = options();
  wrong.judgement.evaluate = [](const Graph &graph, const auto &inputs,
                                const Declaration &declaration,
                                const WeightPool *weights) {
    auto more = inputs;
    more[0] = fourFloats(4);
    return evaluate(graph, more, declaration, weights);
  };
  for (const Record &record : run(wrong, doubling()))
    EXPECT_EQ(record.status, CaseStatus::Fail);
}

TEST(Job, SaysNotSupportedBeforeRunning) {
  Unit unit = doubling();
  unit.dtypes.push_back(DType::F8E5M2);
  JobOptions with = options();
  with.worker = {"/absent/worker"};
  for (const Record &record : run(with, unit))
    EXPECT_EQ(record.status, CaseStatus::NotSupported) << record.reason;
}

TEST(Job, ChargesADeclaredButUnsupportedOpAsFail) {
  Unit unit = doubling();
  unit.graph.ops[0].name = "absent_op";
  for (const Record &record : run(options(), unit)) {
    EXPECT_EQ(record.status, CaseStatus::Fail);
    EXPECT_NE(record.reason.find("did not compile"), std::string::npos);
  }
}

TEST(Job, MistrustsAJudgementOfNothing) {
  JobOptions vague = options();
  vague.judgement.evaluate = [](const Graph &, const auto &,
                                const Declaration &, const WeightPool *) {
    Expected expected;
    expected.dtype = DType::F32;
    expected.dims = {4};
    expected.match = Match::Limit;
    expected.bits.resize(4);
    expected.value.resize(4);
    expected.error.assign(4, std::numeric_limits<Real>::infinity());
    return Result<std::vector<Expected>>(std::vector<Expected>{expected});
  };
  for (const Record &record : run(vague, doubling()))
    EXPECT_EQ(record.status, CaseStatus::Mistrusted) << record.reason;
}

} // namespace
