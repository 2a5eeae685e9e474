// SPDX-License-Identifier: Apache-2.0
#include "Circumstances.h"

#include "CaseBuilder.h"
#include "Data.h"
#include "Judge.h"
#include "Work.h"

#include <algorithm>

namespace backplane::conformance {

namespace {

using enum Circumstance;

constexpr Course all[] = {
    {Application, "application", 200},
    {LaterRuns, "later-runs", 16, 0, 1, 24},
    {ManyRuns, "many-runs", 8, 0, 1, 4},
    {Overlap, "overlap", 12, 0, 2, 6, 20},
    {Threads, "threads", 12, 0, 3, 6, 20},
    {Sessions, "sessions", 12, 0, 3, 6, 3},
    {OneThread, "one-thread", 12, 1, 1, 2},
    {SevenThreads, "seven-threads", 12, 7, 1, 2},
    {LittleMemory, "little-memory", 12},
    {Surroundings, "surroundings", 12, 0, 1, 2},
    {LongUptime, "uptime", 16, 0, 1, 2},
};

/// Cases of one unit that are taken at most; elements of the largest tensor of
/// each, and multiply-adds.
constexpr size_t maxCases = 3;
constexpr uint64_t maxElements = 20000, maxWork = 2000000;

/// Whether the case is younger than the lists of this version, which only grow.
bool cameLater(const Unit &unit, const Case &testCase) {
  static constexpr std::string_view later[] = {
      "one-index", "falling-indices", "next-indices",
      "even",      "one-number",      "one-infinity"};
  return (unit.layer == 4 && testCase.dataSet == "nans") ||
         std::ranges::count(later, testCase.dataSet);
}

bool isTaken(const Unit &unit, const Case &testCase) {
  Work work = workOf(unit.graph, testCase.symbols);
  return testCase.depth <= Depth::Standard && !cameLater(unit, testCase) &&
         !expectsError(testCase) && work.elements <= maxElements &&
         work.macs <= maxWork;
}

bool isFit(const Unit &unit) {
  return unit.layer >= 3 && unit.layer <= 5 && unit.depth <= Depth::Standard &&
         !unit.check && !isProbe(unit) && unit.given.empty() &&
         unit.graph.variables.empty() &&
         std::ranges::any_of(unit.cases, [&](const Case &testCase) {
           return isTaken(unit, testCase);
         });
}

/// Units of f32 come first, as every device has it; then an order that says
/// nothing.
std::pair<bool, uint64_t> rank(const Unit &unit) {
  return {unit.dtype != DType::F32, hashText(unit.id)};
}

/// Whether the op is younger than the lists of this version, which only grow:
/// its unit is taken beside those that were taken before.
bool cameLater(const Unit &unit) {
  return unit.op == "random_bits" || unit.op == "read" || unit.op == "pack" ||
         unit.op == "unpack";
}

} // namespace

std::span<const Course> courses() { return all; }

const Course &courseOf(Circumstance circumstance) {
  return *std::ranges::find(all, circumstance, &Course::circumstance);
}

void CircumstanceSample::look(const Unit &unit) {
  if (selection_.depth < Depth::Standard || !isFit(unit))
    return;
  auto [at, isNew] = byOp_.try_emplace(unit.op, unit);
  if (!isNew && rank(unit) < rank(at->second))
    at->second = unit;
}

/// The unit with few of its cases, none of which expects an error.
Unit CircumstanceSample::under(const Course &course, const Unit &unit) const {
  Unit taken = unit;
  taken.id = "L7/" + std::string(course.name) + unit.id.substr(2);
  taken.layer = 7;
  taken.judgedAs = unit.layer;
  taken.circumstance = course.circumstance;
  taken.depth = Depth::Standard;
  taken.tags = {"state", std::string(course.name)};
  taken.cases.clear();
  std::vector<Case> from = unit.cases;
  std::ranges::sort(from, {}, [&](const Case &testCase) {
    return hashText(testCase.id + std::string(course.name));
  });
  for (const Case &testCase : from)
    if (isTaken(unit, testCase) && taken.cases.size() < maxCases)
      taken.cases.push_back(makeCase(selection_, taken.id, Depth::Standard,
                                     testCase.dataSet, testCase.symbols));
  return taken;
}

void CircumstanceSample::give(const std::function<void(Unit)> &put) const {
  for (const Course &course : all) {
    std::vector<const Unit *> units;
    for (const auto &[op, unit] : byOp_)
      units.push_back(&unit);
    std::ranges::sort(units, {}, [&](const Unit *unit) {
      return hashText(unit->id + std::string(course.name));
    });
    unsigned left = course.units;
    for (const Unit *unit : units) {
      if (left == 0)
        break;
      left -= cameLater(*unit) ? 0 : 1;
      if (Unit taken = under(course, *unit); !taken.cases.empty())
        put(std::move(taken));
    }
  }
}

} // namespace backplane::conformance
