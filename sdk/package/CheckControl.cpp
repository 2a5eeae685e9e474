// SPDX-License-Identifier: Apache-2.0
//
// CheckControl.cpp: control commands, and the regions that they run.
#include "Check.h"
#include "backplane/hal.h"

#include <algorithm>

namespace backplane {
namespace {

Status bad(std::string message) { return dataLoss(std::move(message)); }

constexpr int64_t most = int64_t(1) << 62;

/// How deep the regions of each region lie; a region names earlier ones only.
Status checkDepth(const fb::Program &program, std::vector<uint32_t> &depths) {
  uint32_t depth = 1;
  for (uint32_t i = 0; i < count(program.commands()); ++i)
    if (const auto *control = program.commands()->Get(i)->body_as_Control())
      for (uint32_t j = 0; j < count(control->regions()); ++j)
        depth = std::max(depth, depths[control->regions()->Get(j)] + 1);
  depths.push_back(depth);
  return depth <= limits::regionDepth
             ? Status()
             : bad("regions run each other more than " +
                   std::to_string(limits::regionDepth) + " deep");
}

Status checkSignature(const fb::Region &region, Expressions &expressions) {
  for (const auto *list : {region.inputs(), region.outputs()})
    for (uint32_t i = 0; i < count(list); ++i) {
      Result<Dim> bytes = expressions.parse(list->Get(i));
      if (!bytes)
        return bytes.status();
      if (int64_t size = bytes->constant().value_or(0); size < 0 || size > most)
        return bad("it takes or gives " + std::to_string(size) + " bytes");
    }
  for (uint32_t i = 0; i < count(region.checks()); ++i)
    for (const auto *side :
         {region.checks()->Get(i)->lhs(), region.checks()->Get(i)->rhs()})
      if (Result<Dim> dim = expressions.parse(side); !dim)
        return dim.status().within("check " + std::to_string(i));
  return {};
}

Status checkWritten(const std::vector<bool> &written) {
  auto missing = std::find(written.begin(), written.end(), false);
  if (missing == written.end())
    return {};
  return bad("no command writes output " +
             std::to_string(missing - written.begin()));
}

Status checkRegion(const fb::Region &region, ProgramChecker checker,
                   std::vector<uint32_t> &depths) {
  if (!region.program())
    return bad("it has no program");
  if (Status s = checkSignature(region, checker.expressions); !s.ok())
    return s;
  if (Status s = checker.run(); !s.ok())
    return s;
  if (Status s = checkDepth(*region.program(), depths); !s.ok())
    return s;
  return checkWritten(checker.written);
}

} // namespace

Status bindIterations(const fb::Artifact &artifact,
                      const std::set<std::string, std::less<>> &names,
                      Expressions &expressions) {
  for (uint32_t i = 0; i < count(artifact.variants()); ++i) {
    const auto *regions = artifact.variants()->Get(i)->regions();
    if (count(regions) > limits::regions)
      return bad("variant " + std::to_string(i) + " has " +
                 std::to_string(count(regions)) + " regions, the limit is " +
                 std::to_string(limits::regions));
    for (uint32_t j = 0; j < count(regions); ++j) {
      std::string name(text(regions->Get(j)->iteration()));
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

Status checkRegions(const fb::Artifact &artifact, const fb::Variant &variant,
                    std::map<uint32_t, int64_t> &constants,
                    Expressions &expressions) {
  std::vector<uint32_t> depths;
  for (uint32_t i = 0; i < count(variant.regions()); ++i) {
    const fb::Region &region = *variant.regions()->Get(i);
    ProgramChecker checker{artifact,  variant,     region.program(), false,
                           constants, expressions, &region,          i};
    if (Status s = checkRegion(region, std::move(checker), depths); !s.ok())
      return s.within("region " + std::to_string(i));
  }
  return {};
}

Result<std::optional<int64_t>>
ProgramChecker::sizeOfRegionSlot(const fb::Slot &slot) {
  const auto *list =
      slot.kind() == fb::SlotKind::Input ? region->inputs() : region->outputs();
  if (slot.index() >= count(list))
    return bad("it names " + std::string(fb::EnumNameSlotKind(slot.kind())) +
               " " + std::to_string(slot.index()) + ", of " +
               std::to_string(count(list)));
  Result<Dim> bytes = expressions.parse(list->Get(slot.index()));
  if (!bytes)
    return bytes.status();
  return bytes->constant();
}

/// Results are written, so they are memory that nothing else of the command
/// uses.
Status ProgramChecker::checkControlSlots(const fb::Control &control) {
  if (init)
    return bad("an init program makes no decisions");
  std::set<uint32_t> others;
  for (uint32_t i = 0; i < count(control.operands()); ++i)
    others.insert(control.operands()->Get(i));
  for (uint32_t i = 0; i < count(control.results()); ++i)
    if (!others.insert(control.results()->Get(i)).second)
      return bad("slot " + std::to_string(control.results()->Get(i)) +
                 " is a result and something else");
  if (!others.empty() && *others.rbegin() >= count(program->slots()))
    return bad("it names slot " + std::to_string(*others.rbegin()) + ", of " +
               std::to_string(count(program->slots())));
  for (uint32_t i = 0; i < count(control.results()); ++i) {
    const fb::Slot &slot = *program->slots()->Get(control.results()->Get(i));
    if (slot.kind() == fb::SlotKind::Variable)
      return bad("a result is a variable");
    if (Status s = checkAccess(slot, BP_ACCESS_WRITE); !s.ok())
      return s;
  }
  return {};
}

Status ProgramChecker::checkRegionUse(const fb::Control &control,
                                      uint32_t number, size_t inputs,
                                      size_t outputs) {
  uint32_t index = control.regions()->Get(number);
  if (index >= regionCount)
    return bad("it names region " + std::to_string(index) + ", of " +
               std::to_string(regionCount) + " that may stand here");
  const fb::Region &used = *variant.regions()->Get(index);
  if (count(used.inputs()) != inputs || count(used.outputs()) != outputs)
    return bad("region " + std::to_string(index) + " takes " +
               std::to_string(count(used.inputs())) + " values and gives " +
               std::to_string(count(used.outputs())) + ", " +
               std::to_string(inputs) + " and " + std::to_string(outputs) +
               " are needed");
  return {};
}

Status ProgramChecker::checkIf(const fb::Control &control) {
  size_t first = text(control.condition()).empty() ? 1 : 0;
  if (count(control.regions()) != 2 || count(control.operands()) < first)
    return bad("an If needs two regions and a condition");
  if (first == 0)
    if (Status s =
            checkExpression(control.condition(), "condition", -most, most);
        !s.ok())
      return s;
  for (uint32_t i = 0; i < 2; ++i)
    if (Status s = checkRegionUse(control, i, count(control.operands()) - first,
                                  count(control.results()));
        !s.ok())
      return s;
  return {};
}

Status ProgramChecker::checkWhile(const fb::Control &control) {
  size_t first = control.conditional() ? 1 : 0;
  bool hasLimit = !text(control.limit()).empty();
  uint32_t operands = count(control.operands());
  if (count(control.regions()) != 1 || operands < first ||
      control.carried() > operands - first ||
      control.carried() > count(control.results()))
    return bad("a While needs one region and what it carries");
  if (!hasLimit && (!first || control.carried() < count(control.results())))
    return bad("a While without a predicate, or with stacked results, needs a "
               "limit");
  if (hasLimit)
    if (Status s = checkExpression(control.limit(), "limit", 0, most); !s.ok())
      return s;
  return checkRegionUse(control, 0, operands - first,
                        first + count(control.results()));
}

Status ProgramChecker::checkControl(const fb::Control &control) {
  if (Status s = checkControlSlots(control); !s.ok())
    return s;
  switch (control.kind()) {
  case fb::ControlKind::If:
    return checkIf(control);
  case fb::ControlKind::While:
    return checkWhile(control);
  default:
    return bad("it is a control of unknown kind " +
               std::to_string(unsigned(control.kind())));
  }
}

} // namespace backplane
