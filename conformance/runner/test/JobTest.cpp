// SPDX-License-Identifier: Apache-2.0
//
// A job with real workers and rules of judgement that the test decides.
#include "conformance/report/Verdict.h"
#include "conformance/runner/Suite.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

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
  unit.dtypes.push_back(DType(63));
  JobOptions with = options();
  with.worker = {"/absent/worker"};
  for (const Record &record : run(with, unit))
    EXPECT_EQ(record.status, CaseStatus::NotSupported) << record.reason;
}

TEST(Job, AsksOnlyToHoldWhatIsMoved) {
  constexpr uint64_t f32 = uint64_t(1) << BP_DTYPE_F32;
  constexpr uint64_t i4 = uint64_t(1) << BP_DTYPE_I4;
  Unit unit = doubling();
  unit.stored = {DType::I4};
  EXPECT_EQ(notSupported(unit, f32, f32 | i4), "");
  EXPECT_EQ(notSupported(unit, f32, f32), "the target cannot hold i4");
  EXPECT_NE(notSupported(unit, i4, f32 | i4), "");
}

TEST(Job, RecordsARefusalForAllCases) {
  Unit unit = doubling();
  unit.graph.ops[0].name = "absent_op";
  for (Circumstance circumstance :
       {Circumstance::Usual, Circumstance::Overlap}) {
    unit.circumstance = circumstance;
    for (const Record &record : run(options(), unit)) {
      EXPECT_EQ(record.status, CaseStatus::Refused);
      EXPECT_NE(record.reason.find("did not compile"), std::string::npos);
    }
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

/// A sanitizer takes more private memory than a limit would leave.
std::vector<std::string> faultyWorker() {
  if (BP_SANITIZED)
    return {BP_FAULTY_WORKER};
  return {BP_FAULTY_WORKER, "--memory-limit", "500000000"};
}

/// Runs three cases on a worker that may fail; the middle one has `value`.
std::vector<Record> runFaulty(float value, const JobOptions *with = nullptr) {
  JobOptions faulty = with ? *with : options(faultyWorker());
  faulty.timeout = std::chrono::seconds(5);
  faulty.judgement.inputsOf = [value](const Unit &, const Case &testCase) {
    return std::vector<Tensor>{
        fourFloats(testCase.id.ends_with("/1") ? value : 3)};
  };
  return run(faulty, doubling());
}

/// The middle case has this status, its neighbours pass.
void expectOnly(CaseStatus status, const std::vector<Record> &records,
                const std::string &reason) {
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].status, CaseStatus::Pass) << records[0].reason;
  EXPECT_EQ(records[1].status, status) << records[1].reason;
  EXPECT_NE(records[1].reason.find(reason), std::string::npos)
      << records[1].reason;
  EXPECT_EQ(records[2].status, CaseStatus::Pass) << records[2].reason;
}

TEST(JobFaults, ChargesACrashToItsCase) {
  expectOnly(CaseStatus::Crash, runFaulty(13), "signal 6");
}

TEST(JobFaults, ChargesAHangToItsCase) {
  expectOnly(CaseStatus::Timeout, runFaulty(14), "did not answer");
}

/// Eight units of three cases, all of which end the process that runs them.
SuiteOptions endlessCrashes(const std::string &folder) {
  SuiteOptions suite;
  suite.job = options(faultyWorker());
  suite.job.keepGoing = false;
  suite.job.judgement.inputsOf = [](const Unit &, const Case &) {
    return std::vector<Tensor>{fourFloats(13)};
  };
  suite.generators = {
      [](const Selection &, const std::function<void(Unit)> &put) {
        for (int i = 0; i < 8; ++i) {
          Unit unit = doubling();
          unit.id += std::to_string(i);
          for (size_t at = 0; at < unit.cases.size(); ++at)
            unit.cases[at].id = unit.id + "/" + std::to_string(at);
          put(std::move(unit));
        }
      }};
  suite.folder = folder;
  return suite;
}

TEST(SuiteFaults, CrashesOfOneCauseEndTheRun) {
  const std::string folder =
      ::testing::TempDir() + "crashes" + std::to_string(getpid());
  SuiteOptions suite = endlessCrashes(folder);
  suite.selection.depth = Depth::Full;
  auto plan = planSuite(suite);
  ASSERT_TRUE(plan.ok()) << plan.message();
  RunFacts facts;
  facts.date = "2026-11-21T10:00:00Z";
  auto records = runSuite(suite, *plan, facts);
  ASSERT_TRUE(records.ok()) << records.message();
  EXPECT_EQ(records->size(), 6u); // of two units
  RunVerdict verdict = judgeRun(facts, *records, plan->ids(), {});
  EXPECT_FALSE(verdict.passed);
  EXPECT_TRUE(verdict.title().starts_with(
      "no badge: the run ended after 5 crashes of one cause, the first in "
      "L3/add/f32/twice0/0: "))
      << verdict.title();
  suite.resume = suite.job.keepGoing = true;
  records = runSuite(suite, *plan, facts);
  ASSERT_TRUE(records.ok()) << records.message();
  EXPECT_EQ(records->size(), 24u);
  EXPECT_EQ(judgeRun(facts, *records, plan->ids(), {}).title(),
            "no badge: 24 bad cases");
  std::filesystem::remove_all(folder);
}

TEST(JobFaults, ChargesTheLackOfMemoryToItsCase) {
  if (BP_SANITIZED)
    GTEST_SKIP() << "no memory limit under a sanitizer";
  expectOnly(CaseStatus::ResourceError, runFaulty(15), "out of memory");
}

TEST(JobFaults, ChargesALostDeviceToItsCase) {
  expectOnly(CaseStatus::DeviceLost, runFaulty(18), "the device is lost");
}

TEST(JobFaults, SeesResultsThatDifferFromRunToRun) {
  JobOptions strict = options(faultyWorker());
  strict.strict = true;
  strict.judgement.judge = [](const Unit &, const Case &, const auto &,
                              const auto &, const Declaration &declaration) {
    EXPECT_TRUE(declaration.strict);
    Verdict pass;
    pass.pass = true;
    pass.elements = 4;
    return std::vector<Verdict>{pass};
  };
  expectOnly(CaseStatus::Flaky, runFaulty(17, &strict), "two runs differ");
}

TEST(JobFaults, SeesResultsThatWereKeptForTheSameSizes) {
  JobOptions cached = options({BP_FAULTY_WORKER});
  cached.judgement.inputsOf = [](const Unit &, const Case &testCase) {
    Tensor tensor = fourFloats(16);
    tensor.data[15] = testCase.seed ? 0x41 : 0x40;
    return std::vector<Tensor>{tensor};
  };
  Unit unit = doubling();
  unit.cases.resize(1);
  std::vector<Record> records = run(cached, unit);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].status, CaseStatus::Fail);
  EXPECT_NE(records[0].reason.find("other data of the same sizes"),
            std::string::npos)
      << records[0].reason;
}

/// What goes to a worker names no unit and no case, so that none can be
/// treated in a special way.
TEST(Job, TellsWorkersNoNames) {
  std::string log = testing::TempDir() + "frames-" + std::to_string(getpid());
  JobOptions spied =
      options({"sh", "-c", "tee " + log + ".run | \"$0\"", BP_WORKER});
  spied.compiler = {"sh", "-c", "tee " + log + ".compile | \"$0\"",
                    BP_COMPILE_WORKER};
  Unit unit = doubling();
  unit.graph.name = unit.id;
  run(spied, unit);
  for (const char *end : {".run", ".compile"}) {
    std::ifstream file(log + end, std::ios::binary);
    std::string sent((std::istreambuf_iterator<char>(file)), {});
    EXPECT_NE(sent.find("BPWK"), std::string::npos) << "nothing was seen";
    for (const char *name : {"L3/", "twice", "threes"})
      EXPECT_EQ(sent.find(name), std::string::npos) << name << end;
    std::filesystem::remove(log + end);
  }
}

TEST(Job, SaysWhyAWorkerDoesNotStart) {
  JobOptions launched = options({"/absent/launcher", BP_WORKER});
  Job job(launched);
  auto records = job.run(doubling());
  ASSERT_FALSE(records.ok());
  EXPECT_NE(records.message().find("/absent/launcher"), std::string::npos);
}

} // namespace
