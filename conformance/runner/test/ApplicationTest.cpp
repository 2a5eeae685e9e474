// SPDX-License-Identifier: Apache-2.0
//
// Applications of the suite, and units that run in them.
#include "conformance/cases/Judge.h"
#include "conformance/runner/Job.h"
#include "conformance/suite/Generate.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace backplane::conformance {
namespace {

ApplicationOptions applicationOptions() {
  setenv("BACKPLANE_PLUGIN_FILES", BP_TEST_MANIFESTS, 1);
  ApplicationOptions options;
  options.program = BP_APPLICATION;
  options.begin.device = "ref";
  return options;
}

JobOptions jobOptions() {
  JobOptions options;
  options.application = applicationOptions();
  options.worker = {BP_WORKER, "--device", "ref"};
  options.compiler = {BP_COMPILE_WORKER, "--device", "ref"};
  options.judgement = {inputsOf, evaluate, judge, isProbe, expectsError};
  options.longUptime = std::chrono::seconds(2);
  return options;
}

std::string contentsOf(const std::string &path) {
  std::ifstream file(path);
  return {(std::istreambuf_iterator<char>(file)), {}};
}

/// Name, parent and group of a process.
struct Process {
  std::string path, name;
  pid_t parent = 0, group = 0;
};

std::vector<Process> processes() {
  std::vector<Process> all;
  std::error_code code;
  for (const auto &entry : std::filesystem::directory_iterator("/proc", code)) {
    std::string id = entry.path().filename().string();
    if (!std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; }))
      continue;
    std::string text = contentsOf(entry.path().string() + "/stat");
    size_t begin = text.find('('), end = text.rfind(')');
    if (end == std::string::npos)
      continue;
    Process process{entry.path().string(),
                    text.substr(begin + 1, end - begin - 1)};
    char state = 0;
    std::istringstream rest(text.substr(end + 1));
    rest >> state >> process.parent >> process.group;
    if (state != 'Z')
      all.push_back(process);
  }
  return all;
}

auto countOf(pid_t group) {
  return std::ranges::count(processes(), group, &Process::group);
}

TEST(Application, LooksLikeAnyOther) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    ApplicationOptions options = applicationOptions();
    options.seed = seed;
    auto application = Application::start(options);
    ASSERT_TRUE(application.ok()) << application.message();
    // The one that was started ends when it has made another.
    pid_t group = (*application)->process().pid();
    for (int i = 0; i < 1000 && countOf(group) > 1; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    size_t found = 0;
    for (const Process &process : processes()) {
      if (process.group != group)
        continue;
      ++found;
      std::string line = contentsOf(process.path + "/cmdline");
      std::string file =
          std::filesystem::read_symlink(process.path + "/exe").string();
      EXPECT_NE(process.parent, getpid());
      for (const std::string &text : {process.name, line, file}) {
        EXPECT_EQ(text.find("bp-"), std::string::npos) << text;
        EXPECT_EQ(text.find("conformance"), std::string::npos) << text;
      }
    }
    EXPECT_EQ(found, 1u);
  }
}

TEST(Application, LeavesNothingBehind) {
  auto application = Application::start(applicationOptions());
  ASSERT_TRUE(application.ok()) << application.message();
  std::string folder = (*application)->folder();
  pid_t group = (*application)->process().pid();
  EXPECT_TRUE(std::filesystem::exists(folder));
  application->reset();
  EXPECT_FALSE(std::filesystem::exists(folder));
  // Who inherited the process may take a moment to be told of its end.
  for (int i = 0; i < 1000 && countOf(group) > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(countOf(group), 0);
}

TEST(Application, SaysWhyItDoesNotStart) {
  ApplicationOptions options = applicationOptions();
  options.begin.device = "absent";
  auto application = Application::start(options);
  EXPECT_FALSE(application.ok());
  EXPECT_NE(application.message().find("absent"), std::string::npos)
      << application.message();
}

/// x + y over one axis.
Unit additions(Circumstance circumstance) {
  Unit unit;
  unit.id = "L7/test/add/f32/n";
  unit.layer = 7;
  unit.judgedAs = 3;
  unit.op = "add";
  unit.dtype = DType::F32;
  unit.dtypes = {DType::F32};
  unit.circumstance = circumstance;
  (void)unit.graph.addSymbol({"n"});
  TensorType type{DType::F32, {Dim::symbol("n")}};
  ValueId x = unit.graph.addInput("x0", type);
  ValueId y = unit.graph.addInput("x1", type);
  unit.graph.addOutput(unit.graph.add("add", {x, y})->at(0), "y0");
  unit.rules.resize(2);
  unit.cases.push_back({unit.id + "/uniform", {{"n", 65}}, "uniform", 5});
  unit.cases.push_back({unit.id + "/mixture", {{"n", 33}}, "mixture", 6});
  return unit;
}

std::vector<Record> run(Job &job, const Unit &unit) {
  auto records = job.run(unit);
  EXPECT_TRUE(records.ok()) << records.message();
  return records ? *records : std::vector<Record>();
}

TEST(ApplicationJob, PassesWhatIsRightUnderAllCircumstances) {
  Job job(jobOptions());
  for (const Course &course : courses()) {
    std::vector<Record> records = run(job, additions(course.circumstance));
    EXPECT_EQ(records.size(), 2u) << course.name;
    for (const Record &record : records) {
      EXPECT_EQ(record.status, CaseStatus::Pass)
          << course.name << ": " << record.reason;
      EXPECT_GT(record.elements, 0u) << course.name;
    }
  }
}

TEST(ApplicationJob, FailsWhatIsWrongUnderAllCircumstances) {
  JobOptions wrong = jobOptions();
  wrong.judgement.evaluate = [](const Graph &graph, const auto &inputs,
                                const Declaration &declaration,
                                const WeightPool *weights) {
    auto more = inputs;
    more[0].data[2] ^= 0x40;
    return evaluate(graph, more, declaration, weights);
  };
  Job job(wrong);
  for (const Course &course : courses()) {
    Unit unit = additions(course.circumstance);
    unit.cases.resize(1);
    for (const Record &record : run(job, unit))
      EXPECT_EQ(record.status, CaseStatus::Fail) << course.name;
  }
}

TEST(ApplicationJob, TakesAWorkerWhereNoApplicationCanBeStarted) {
  JobOptions options = jobOptions();
  options.application.program.clear();
  Job job(options);
  for (const Course &course : courses()) {
    bool needsOne = course.circumstance == Circumstance::Application ||
                    course.circumstance == Circumstance::Surroundings;
    for (const Record &record : run(job, additions(course.circumstance)))
      EXPECT_EQ(record.status,
                needsOne ? CaseStatus::NotSupported : CaseStatus::Pass)
          << course.name << ": " << record.reason;
  }
}

TEST(Job, RunsInDisguise) {
  JobOptions options = jobOptions();
  options.disguise = true;
  options.worker = options.compiler = {"/absent/worker"};
  Job job(options);
  for (const Record &record : run(job, additions(Circumstance::Usual)))
    EXPECT_EQ(record.status, CaseStatus::Pass) << record.reason;
}

TEST(Disguise, KeepsGraphsWhatTheyAre) {
  size_t graphs = 0;
  generateUnits({.depth = Depth::Smoke}, [&](const Unit &unit) {
    if (++graphs % 5 != 0)
      return;
    Graph renamed = disguised(unit.graph, graphs);
    EXPECT_TRUE(renamed.verify().ok())
        << unit.id << ": " << renamed.verify().message();
    for (const Symbol &symbol : renamed.symbols)
      EXPECT_GT(symbol.name.size(), 4u) << unit.id;
    const Case &first = unit.cases[0];
    if (expectsError(first) || isProbe(unit))
      return;
    std::vector<Tensor> inputs = inputsOf(unit, first);
    auto before = evaluate(unit.graph, inputs, {}, &unit.weights);
    auto after = evaluate(renamed, inputs, {}, &unit.weights);
    EXPECT_TRUE(before.ok() && after.ok()) << unit.id << after.message();
    for (size_t i = 0; before && after && i < before->size(); ++i)
      EXPECT_EQ(before->at(i).bits, after->at(i).bits) << unit.id;
  });
  EXPECT_GT(graphs, 100u);
}

} // namespace
} // namespace backplane::conformance
