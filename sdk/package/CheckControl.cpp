// SPDX-License-Identifier: Apache-2.0
//
// CheckControl.cpp: control commands, and the regions that they run.
#include "Check.h"
#include "backplane/hal.h"

#include <algorithm>

namespace backplane {
namespace {

Status bad(std::string message) { return dataLoss(std::move(message)); }

constexpr int64_t maxBytes = int64_t(1) << 62;

/// How deep the regions of each region lie; a region names earlier ones only.
Status checkDepth(const Program &program, std::vector<uint32_t> &depths) {
  uint32_t depth = 1;
  for (const program::Command &command : program.commands)
    if (const auto *control = std::get_if<program::Control>(&command))
      for (uint32_t region : control->regions)
        depth = std::max(depth, depths[region] + 1);
  depths.push_back(depth);
  return depth <= limits::regionDepth
             ? Status()
             : bad("regions run each other more than " +
                   std::to_string(limits::regionDepth) + " deep");
}

Status checkSignature(const RegionInfo &region, Expressions &expressions) {
  for (const auto *list : {&region.inputs, &region.outputs})
    for (const Dim &bytes : *list) {
      if (Status s = expressions.check(bytes); !s.ok())
        return s;
      if (int64_t size = bytes.constant().value_or(0);
          size < 0 || size > maxBytes)
        return bad("it takes or gives " + std::to_string(size) + " bytes");
    }
  for (size_t i = 0; i < region.checks.size(); ++i)
    for (const Dim *side : {&region.checks[i].lhs, &region.checks[i].rhs})
      if (Status s = expressions.check(*side); !s.ok())
        return s.within("check " + std::to_string(i));
  return {};
}

Status checkWritten(const std::vector<bool> &written) {
  auto missing = std::find(written.begin(), written.end(), false);
  if (missing == written.end())
    return {};
  return bad("no command writes output " +
             std::to_string(missing - written.begin()));
}

Status checkRegion(const RegionInfo &region, ProgramChecker checker,
                   std::vector<uint32_t> &depths) {
  if (Status s = checkSignature(region, checker.expressions); !s.ok())
    return s;
  if (Status s = checker.run(); !s.ok())
    return s;
  if (Status s = checkDepth(region.program, depths); !s.ok())
    return s;
  return checkWritten(checker.written);
}

} // namespace

Status bindIterations(const ArtifactInfo &artifact,
                      const std::set<std::string, std::less<>> &names,
                      Expressions &expressions) {
  for (size_t i = 0; i < artifact.variants.size(); ++i) {
    const std::vector<RegionInfo> &regions = artifact.variants[i].regions;
    if (regions.size() > limits::regions)
      return bad("variant " + std::to_string(i) + " has " +
                 std::to_string(regions.size()) + " regions, the limit is " +
                 std::to_string(limits::regions));
    for (size_t j = 0; j < regions.size(); ++j) {
      const std::string &name = regions[j].iteration;
      if (name.empty())
        continue;
      if (!Dim::isSymbolName(name) || names.contains(name))
        return bad("region " + std::to_string(j) + " counts in '" + name +
                   "', which is no name of its own");
      expressions.bind(name);
    }
  }
  return {};
}

Status checkRegions(const ArtifactInfo &artifact, const VariantInfo &variant,
                    std::map<uint32_t, int64_t> &constants,
                    Expressions &expressions) {
  std::vector<uint32_t> depths;
  for (uint32_t i = 0; i < variant.regions.size(); ++i) {
    const RegionInfo &region = variant.regions[i];
    ProgramChecker checker{artifact,  variant,     region.program, false,
                           constants, expressions, &region,        i};
    if (Status s = checkRegion(region, std::move(checker), depths); !s.ok())
      return s.within("region " + std::to_string(i));
  }
  return {};
}

Result<std::optional<int64_t>>
ProgramChecker::sizeOfRegionSlot(const Slot &slot) {
  const auto &list =
      slot.kind == SlotKind::Input ? region->inputs : region->outputs;
  if (slot.index >= list.size())
    return bad("it names " + std::string(name(slot.kind)) + " " +
               std::to_string(slot.index) + ", of " +
               std::to_string(list.size()));
  return list[slot.index].constant();
}

/// Results are written, so they are memory that nothing else of the command
/// uses.
Status ProgramChecker::checkControlSlots(const program::Control &control) {
  if (init)
    return bad("an init program makes no decisions");
  std::set<uint32_t> others;
  others.insert(control.operands.begin(), control.operands.end());
  for (uint32_t i = 0; i < control.results.size(); ++i)
    if (!others.insert(control.results[i]).second)
      return bad("slot " + std::to_string(control.results[i]) +
                 " is a result and something else");
  if (!others.empty() && *others.rbegin() >= program.slots.size())
    return bad("it names slot " + std::to_string(*others.rbegin()) + ", of " +
               std::to_string(program.slots.size()));
  for (uint32_t i = 0; i < control.results.size(); ++i) {
    const Slot &slot = program.slots[control.results[i]];
    if (slot.kind == SlotKind::Variable)
      return bad("a result is a variable");
    if (Status s = checkAccess(slot, BP_ACCESS_WRITE); !s.ok())
      return s;
  }
  return {};
}

Status ProgramChecker::checkRegionUse(const program::Control &control,
                                      uint32_t number, size_t inputs,
                                      size_t outputs) {
  uint32_t index = control.regions[number];
  if (index >= regionCount)
    return bad("it names region " + std::to_string(index) + ", of " +
               std::to_string(regionCount) + " that may stand here");
  const RegionInfo &used = variant.regions[index];
  if (used.inputs.size() != inputs || used.outputs.size() != outputs)
    return bad("region " + std::to_string(index) + " takes " +
               std::to_string(used.inputs.size()) + " values and gives " +
               std::to_string(used.outputs.size()) + ", " +
               std::to_string(inputs) + " and " + std::to_string(outputs) +
               " are needed");
  return {};
}

Status ProgramChecker::checkIf(const program::Control &control) {
  size_t first = control.condition ? 0 : 1;
  if (control.regions.size() != 2 || control.operands.size() < first)
    return bad("an If needs two regions and a condition");
  if (first == 0)
    if (Status s = checkExpression(*control.condition, "condition", -maxBytes,
                                   maxBytes);
        !s.ok())
      return s;
  for (uint32_t i = 0; i < 2; ++i)
    if (Status s = checkRegionUse(control, i, control.operands.size() - first,
                                  control.results.size());
        !s.ok())
      return s;
  return {};
}

Status ProgramChecker::checkWhile(const program::Control &control) {
  size_t first = control.conditional ? 1 : 0;
  size_t operands = control.operands.size();
  if (control.regions.size() != 1 || operands < first ||
      control.carried > operands - first ||
      control.carried > control.results.size())
    return bad("a While needs one region and what it carries");
  if (!control.limit && (!first || control.carried < control.results.size()))
    return bad("a While without a predicate, or with stacked results, needs a "
               "limit");
  if (control.limit)
    if (Status s = checkExpression(*control.limit, "limit", 0, maxBytes);
        !s.ok())
      return s;
  return checkRegionUse(control, 0, operands - first,
                        first + control.results.size());
}

Status ProgramChecker::checkControl(const program::Control &control) {
  if (Status s = checkControlSlots(control); !s.ok())
    return s;
  return control.kind == program::ControlKind::If ? checkIf(control)
                                                  : checkWhile(control);
}

} // namespace backplane
