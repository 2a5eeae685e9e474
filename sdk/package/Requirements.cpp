// SPDX-License-Identifier: Apache-2.0
#include "Requirements.h"

#include <algorithm>
#include <set>

namespace backplane {
namespace {

/// Collects the requirements that follow from what is in a variant.
class Finder {
public:
  const std::set<std::string_view> &found() const { return found_; }

  void look(const Dim &dim) {
    std::string text = dim.str();
    note(dimSelectRequirement, text.find("truncdiv(") != std::string::npos ||
                                   text.find("select(") != std::string::npos);
  }
  void look(const std::optional<Dim> &dim) {
    if (dim)
      look(*dim);
  }
  void look(const SlotRange &range) {
    look(range.offset);
    look(range.length);
  }
  template <typename List> void lookAll(const List &list) {
    for (const auto &element : list)
      look(element);
  }
  void look(const Slot &slot) { look(slot.bytes); }
  void look(const ExecutableInfo &executable) {
    lookAll(executable.entries);
    note(nativeRequirement, executable.native.has_value());
  }
  void look(const Entry &entry) {
    note(driverDataRequirement, !entry.driverData.empty());
    note(subgroupSizeRequirement, entry.subgroupSize != 0);
    note(parametersRequirement, entry.parameterCount != 0);
  }
  void look(const DimAssertion &check) {
    look(check.lhs);
    look(check.rhs);
  }
  void look(const program::Command &command) {
    std::visit([this](const auto &body) { lookAt(body); }, command);
  }
  void look(const Program &program) {
    lookAll(program.slots);
    lookAll(program.commands);
  }
  void look(const RegionInfo &region) {
    lookAll(region.inputs);
    lookAll(region.outputs);
    lookAll(region.checks);
    look(region.program);
  }

private:
  void lookAt(const program::Dispatch &dispatch) {
    lookAll(dispatch.grid);
    lookAll(dispatch.constants);
    lookAll(dispatch.bindings);
    look(dispatch.workspace);
    look(dispatch.flops);
    lookAll(dispatch.parameters);
    look(dispatch.sharedBytes);
    note(sharedBytesRequirement, dispatch.sharedBytes.has_value());
    note(clusterRequirement, hasClusters(dispatch));
  }
  void lookAt(const program::Copy &copy) {
    look(copy.source);
    look(copy.target);
  }
  void lookAt(const program::Fill &fill) { look(fill.target); }
  void lookAt(const program::Barrier &) {}
  void lookAt(const program::Control &control) {
    look(control.condition);
    look(control.limit);
  }
  void lookAt(const program::Read &read) {
    look(read.bound);
    note(dimReadRequirement, true);
  }

  void note(std::string_view requirement, bool needed) {
    if (needed)
      found_.insert(requirement);
  }

  std::set<std::string_view> found_;
};

constexpr std::string_view known[] = {
    dimSelectRequirement,    dimReadRequirement,    driverDataRequirement,
    subgroupSizeRequirement, parametersRequirement, sharedBytesRequirement,
    clusterRequirement,      nativeRequirement};

} // namespace

std::vector<std::string> requirementsOf(const VariantInfo &variant) {
  Finder finder;
  finder.look(variant.program);
  finder.look(variant.init);
  finder.lookAll(variant.regions);
  finder.lookAll(variant.executables);
  std::vector<std::string> requirements = variant.requirements;
  for (std::string_view name : finder.found())
    if (!std::ranges::count(requirements, name))
      requirements.emplace_back(name);
  return requirements;
}

std::string unknownRequirement(const std::vector<std::string> &requirements) {
  auto unknown =
      std::ranges::find_if(requirements, [](const std::string &name) {
        return !std::ranges::count(known, name);
      });
  return unknown == requirements.end() ? "" : *unknown;
}

} // namespace backplane
