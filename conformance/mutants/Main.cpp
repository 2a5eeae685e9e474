// SPDX-License-Identifier: Apache-2.0
//
// bp-mutants: runs one mutant through the suite and says which cases find it.
// run_mutants.py starts it for each of them.
#include "Mutant.h"

#include "conformance/cases/Data.h"
#include "conformance/cases/Judge.h"
#include "conformance/runner/Job.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace backplane;
using namespace backplane::conformance;
using namespace backplane::mutants;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
  std::string mutant;
  size_t until = 2;   ///< kills after which to stop; 0: never
  double seconds = 0; ///< after which to stop; 0: never
  size_t sample = 1;  ///< every n-th unit of a run over all units
  bool everything = false;
  bool list = false;
};

std::string programs() {
  std::error_code code;
  auto here = std::filesystem::read_symlink("/proc/self/exe", code);
  return here.parent_path().string() + "/";
}

bool shares(const Unit &unit, const Mutant &mutant) {
  for (const std::string &tag : unit.tags)
    for (std::string_view wanted : mutant.tags)
      if (tag == wanted)
        return true;
  return false;
}

/// Units with smoke cases first, of the ops that the mutant names before
/// others, then by a hash, so that neighbours in the list are unlike.
std::vector<Unit> unitsFor(const Mutant &mutant, const Options &options) {
  std::vector<Unit> units;
  size_t seen = 0;
  Selection selection;
  selection.depth = options.everything ? Depth::Smoke : Depth::Standard;
  generateUnits(selection, [&](Unit unit) {
    bool taken = options.everything ? seen++ % options.sample == 0
                                    : shares(unit, mutant);
    if (taken)
      units.push_back(std::move(unit));
    return true;
  });
  auto rank = [&](const Unit &unit) {
    auto found = std::find(mutant.ops.begin(), mutant.ops.end(), unit.op);
    return std::pair(found == mutant.ops.end(), hashText(unit.id));
  };
  std::sort(units.begin(), units.end(),
            [&](const Unit &a, const Unit &b) { return rank(a) < rank(b); });
  return units;
}

/// The cases of a unit that have this depth.
Unit only(const Unit &unit, bool smoke) {
  Unit part = unit;
  std::erase_if(part.cases, [&](const Case &testCase) {
    return (testCase.depth == Depth::Smoke) != smoke;
  });
  return part;
}

/// Runs units and prints what finds the mutant.
class Hunt {
public:
  Hunt(const Mutant &mutant, const Options &options)
      : mutant_(mutant), options_(options), job_(jobOptions()) {}

  Status run() {
    std::vector<Unit> units = unitsFor(mutant_, options_);
    for (bool smoke : {true, false})
      for (const Unit &unit : units) {
        if (isDone())
          return {};
        if (Status status = runUnit(only(unit, smoke)); !status.ok())
          return status;
      }
    return {};
  }

  void printSummary() const {
    Json line = {{"mutant", mutant_.id()},
                 {"kills", kills_},
                 {"cases", cases_},
                 {"warnings", warnings_},
                 {"seconds", elapsed()}};
    std::printf("%s\n", line.dump().c_str());
  }

private:
  JobOptions jobOptions() {
    std::string device = "mutant://" + mutant_.id();
    JobOptions job;
    job.worker = {programs() + "bp-worker", "--device", device};
    job.compiler = {programs() + "bp-compile-worker", "--device", device};
    job.timeout = std::chrono::seconds(30);
    job.judgement = {inputsOf, evaluate, judge, isProbe, expectsError};
    if (mutant_.compiler)
      job.judgement.evaluate = [this](const Graph &, const auto &inputs,
                                      const auto &declaration,
                                      const WeightPool *weights) {
        return evaluate(*asked_, inputs, declaration, weights);
      };
    return job;
  }

  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start_)
        .count();
  }

  bool isDone() const {
    return (options_.until && kills_ >= options_.until) ||
           (options_.seconds > 0 && elapsed() > options_.seconds);
  }

  Status runUnit(Unit unit) {
    if (unit.cases.empty())
      return {};
    Graph asked = unit.graph;
    asked_ = &asked;
    if (mutant_.compiler) {
      Result<Graph> broken = mutant_.compiler(unit.graph);
      if (!broken)
        return broken.status().within(unit.id);
      if (*broken == asked)
        return {};
      unit.graph = std::move(*broken);
    }
    auto records = job_.run(unit);
    if (!records)
      return records.status();
    for (const Record &record : *records)
      note(record);
    return {};
  }

  void note(const Record &record) {
    ++cases_;
    warnings_ += record.status == CaseStatus::QualityWarning;
    if (isGood(record.status))
      return;
    ++kills_;
    Json line = {{"mutant", mutant_.id()},
                 {"case", record.id},
                 {"status", conformance::name(record.status)},
                 {"reason", record.reason.substr(0, 300)},
                 {"seconds", elapsed()}};
    std::printf(
        "%s\n",
        line.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    std::fflush(stdout);
  }

  const Mutant &mutant_;
  const Options &options_;
  Job job_;
  const Graph *asked_ = nullptr;
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
  size_t kills_ = 0, cases_ = 0, warnings_ = 0;
};

int list() {
  for (const Mutant &mutant : allMutants()) {
    Json line = {{"id", mutant.id()},
                 {"number", mutant.number},
                 {"family", mutants::name(mutant.family)},
                 {"title", mutant.title},
                 {"description", mutant.description},
                 {"tags", mutant.tags},
                 {"equivalent", mutant.equivalent}};
    std::printf("%s\n", line.dump().c_str());
  }
  return 0;
}

int fail(const std::string &why) {
  std::fprintf(stderr, "bp-mutants: %s\n", why.c_str());
  return 1;
}

int run(const Options &options) {
  if (options.list)
    return list();
  const Mutant *mutant = findMutant(options.mutant);
  if (!mutant)
    return fail("no mutant is called '" + options.mutant + "'; see --list");
  std::string manifest = programs() + "../lib/backplane/mutants/mutant.bp.json";
  setenv("BACKPLANE_MUTANT", mutant->id().c_str(), 1);
  setenv("BACKPLANE_ADD_PLUGIN_FILES", manifest.c_str(), 1);
  setenv("BACKPLANE_CACHE_DIR", "-", 1);
  Hunt hunt(*mutant, options);
  Status status = hunt.run();
  if (!status.ok())
    return fail(mutant->id() + ": " + status.message());
  hunt.printSummary();
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Runs a backend that is broken on purpose through the cases "
               "that carry its tags, and prints those that find it.");
  app.name("bp-mutants");
  Options options;
  app.add_flag("--list", options.list, "print all mutants and stop");
  app.add_option("--run", options.mutant, "id of the mutant");
  app.add_option("--until", options.until,
                 "kills after which to stop; 0: never")
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "seconds after which to stop");
  app.add_flag("--everything", options.everything,
               "all units of the smoke depth, whatever their tags");
  app.add_option("--sample", options.sample, "every n-th unit of --everything")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
