// SPDX-License-Identifier: Apache-2.0
#include "RegionUse.h"

namespace backplane::rt {
namespace {

/// Collects the symbols of expressions.
class Collector {
public:
  std::set<std::string> names;

  void add(const Dim &dim) { dim.collectSymbols(names); }
  void add(const std::optional<Dim> &dim) {
    if (dim)
      add(*dim);
  }
  void add(std::span<const Dim> dims) {
    for (const Dim &dim : dims)
      add(dim);
  }
  void add(const SlotRange &range) {
    add(range.offset);
    add(range.length);
  }
  void add(const program::Command &command) {
    if (const auto *dispatch = std::get_if<program::Dispatch>(&command)) {
      add(std::span<const Dim>(dispatch->grid));
      add(std::span<const Dim>(dispatch->constants));
      add(dispatch->workspace);
      add(std::span<const Dim>(dispatch->parameters));
      add(dispatch->sharedBytes);
      for (const SlotRange &binding : dispatch->bindings)
        add(binding);
    } else if (const auto *copy = std::get_if<program::Copy>(&command)) {
      add(copy->source);
      add(copy->target);
    } else if (const auto *fill = std::get_if<program::Fill>(&command)) {
      add(fill->target);
    }
  }
  void add(const RegionInfo &region) {
    add(std::span<const Dim>(region.inputs));
    add(std::span<const Dim>(region.outputs));
    for (const DimAssertion &check : region.checks) {
      add(check.lhs);
      add(check.rhs);
    }
    for (const Slot &slot : region.program.slots)
      add(slot.bytes);
    for (const program::Command &command : region.program.commands)
      add(command);
  }
};

} // namespace

std::vector<std::vector<std::string>>
iterationsUsed(const VariantInfo &variant) {
  std::set<std::string> all;
  for (const RegionInfo &region : variant.regions)
    all.insert(region.iteration);
  for (const program::Command &command : variant.program.commands)
    if (const auto *read = std::get_if<program::Read>(&command))
      all.insert(read->symbol);
  std::vector<std::vector<std::string>> result;
  for (const RegionInfo &region : variant.regions) {
    Collector collector;
    collector.add(region);
    result.emplace_back();
    for (const std::string &name : collector.names)
      if (all.contains(name))
        result.back().push_back(name);
  }
  return result;
}

} // namespace backplane::rt
