// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Limits.h"

#include "backplane/hal.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace backplane;
using namespace backplane::conformance;

namespace {

constexpr std::string_view limitsOfTheMethod[] = {
    // NOLINTNEXTLINE(bugprone-suspicious-missing-comma)
    "Nothing beyond the tested sizes, ranks, values, runs and times above is "
    "claimed.",
    "A plug-in that recognises the suite, by its process, its order or its "
    "data, can compute right numbers for it alone; data of a seed that depends "
    "on the plug-in's files, --disguise and verify --rerun make that harder, "
    "not impossible.",
    "Hashes are of the plug-in's manifest and libraries; what these load "
    "themselves, drivers and firmware, is not among them.",
    "A driver may compute on the host what it claims for its device: no result "
    "shows it, only the marks, which are its own word, and processor time.",
    "Whoever controls the machine can write records that never happened; a "
    "seal says who stands for them, verify --rerun whether a part of them "
    "holds elsewhere.",
    "Speed, power and wear are not judged."};

void raise(Tested &most, const Tested &other) {
  most.elements = std::max(most.elements, other.elements);
  most.rank = std::max(most.rank, other.rank);
  most.macs = std::max(most.macs, other.macs);
  if (std::isfinite(other.magnitude))
    most.magnitude = std::max(most.magnitude, other.magnitude);
  most.runs = std::max(most.runs, other.runs);
  if (std::isfinite(other.seconds))
    most.seconds = std::max(most.seconds, other.seconds);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

} // namespace

std::map<std::string, OpLimits>
conformance::testedLimits(std::span<const Record> records) {
  std::map<std::string, OpLimits> limits;
  for (const Record &record : records) {
    bool passes = record.status == CaseStatus::Pass ||
                  record.status == CaseStatus::QualityWarning;
    if (!passes || !record.tested.elements)
      continue;
    OpLimits &op = limits[record.op];
    ++op.cases;
    raise(op.most, record.tested);
  }
  return limits;
}

OpLimits conformance::overall(const std::map<std::string, OpLimits> &limits) {
  OpLimits all;
  for (const auto &[op, one] : limits) {
    all.cases += one.cases;
    raise(all.most, one.most);
  }
  return all;
}

std::string conformance::textOf(const Tested &tested) {
  return std::to_string(tested.elements) + " elements, rank " +
         std::to_string(tested.rank) + ", " + number(double(tested.macs)) +
         " multiply-adds, values to " + number(tested.magnitude) + ", " +
         std::to_string(tested.runs) + " runs of an executable, " +
         number(tested.seconds) + " s in one process";
}

std::string
conformance::limitsTable(const std::map<std::string, OpLimits> &limits) {
  std::string out = "op                 cases   elements  rank      macs  "
                    "magnitude   runs  seconds\n";
  for (const auto &[op, one] : limits) {
    char line[160];
    std::snprintf(line, sizeof line,
                  "%-17.40s %6llu %10llu %5llu %9.3g %10.3g %6llu %8.3g\n",
                  op.c_str(), static_cast<unsigned long long>(one.cases),
                  static_cast<unsigned long long>(one.most.elements),
                  static_cast<unsigned long long>(one.most.rank),
                  double(one.most.macs), one.most.magnitude,
                  static_cast<unsigned long long>(one.most.runs),
                  one.most.seconds);
    out += line;
  }
  return out;
}

bool conformance::isEmulated(const RunFacts &facts) {
  return (facts.deviceFlags & BP_DEVICE_EMULATED) || !facts.emulator.empty();
}

bool conformance::isElsewhere(const RunFacts &facts) {
  auto isLauncher = [](const auto &pair) { return pair.first == "launcher"; };
  return facts.device.starts_with("worker:") ||
         std::ranges::any_of(facts.environment, isLauncher);
}

LeastSizes conformance::minSizes(const RunFacts &facts) {
  // Products of 645 and of 256 cubed; 16 M elements of f32.
  uint64_t least = uint64_t(1) << (isEmulated(facts) ? 24 : 28);
  return {least, uint64_t(1) << 26};
}

LeastSizes conformance::tooSmall(const RunFacts &facts) {
  LeastSizes least = minSizes(facts);
  return {facts.budget < least.multiplyAdds ? facts.budget : 0,
          facts.bufferBytes < least.bufferBytes ? facts.bufferBytes : 0};
}

std::vector<std::string> conformance::marksOf(const RunFacts &facts) {
  std::vector<std::string> marks;
  if (facts.deviceKind == BP_DEVICE_KIND_CPU)
    marks.emplace_back("host");
  if (isEmulated(facts))
    marks.emplace_back("emulated");
  if (isElsewhere(facts))
    marks.emplace_back("no applications");
  if (facts.budget)
    marks.push_back("up to " + std::to_string(facts.budget) +
                    " multiply-adds a case");
  if (uint64_t bytes = tooSmall(facts).bufferBytes)
    marks.push_back("up to " + std::to_string(bytes) + " bytes a buffer");
  return marks;
}

std::span<const std::string_view> conformance::methodLimits() {
  return limitsOfTheMethod;
}
