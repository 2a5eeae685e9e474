// SPDX-License-Identifier: Apache-2.0
#include "Requirements.h"

#include <algorithm>

namespace backplane {
namespace {

/// Looks at every expression of a program.
class FunctionFinder {
public:
  bool found() const { return found_; }

  void look(const Dim &dim) {
    std::string text = dim.str();
    found_ = found_ || text.find("truncdiv(") != std::string::npos ||
             text.find("select(") != std::string::npos;
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

  bool found_ = false;
};

} // namespace

std::vector<std::string> requirementsOf(const VariantInfo &variant) {
  FunctionFinder functions;
  functions.look(variant.program);
  functions.look(variant.init);
  functions.lookAll(variant.regions);
  std::vector<std::string> requirements = variant.requirements;
  if (functions.found() &&
      !std::ranges::count(requirements, dimSelectRequirement))
    requirements.emplace_back(dimSelectRequirement);
  return requirements;
}

std::string unknownRequirement(const std::vector<std::string> &requirements) {
  auto unknown =
      std::ranges::find_if(requirements, [](const std::string &name) {
        return name != dimSelectRequirement;
      });
  return unknown == requirements.end() ? "" : *unknown;
}

} // namespace backplane
