// SPDX-License-Identifier: Apache-2.0
#include "RegionUse.h"
#include "sdk/package/Check.h"

namespace backplane::rt {
namespace {

using Text = flatbuffers::String;

/// Collects the symbols of expressions.
class Collector {
public:
  std::set<std::string> names;

  void add(const Text *expression) {
    if (text(expression).empty() || !seen_.insert(expression).second)
      return;
    if (Result<Dim> dim = Dim::parse(text(expression)))
      dim->collectSymbols(names);
  }
  void add(const flatbuffers::Vector<flatbuffers::Offset<Text>> *list) {
    for (uint32_t i = 0; i < count(list); ++i)
      add(list->Get(i));
  }
  void add(const fb::Binding *binding) {
    add(binding->offset());
    add(binding->length());
  }
  void add(const fb::Command &command) {
    if (const auto *dispatch = command.body_as_Dispatch()) {
      add(dispatch->grid());
      add(dispatch->constants());
      add(dispatch->workspace());
      for (uint32_t i = 0; i < count(dispatch->bindings()); ++i)
        add(dispatch->bindings()->Get(i));
    } else if (const auto *copy = command.body_as_Copy()) {
      add(copy->source());
      add(copy->target());
    } else if (const auto *fill = command.body_as_Fill()) {
      add(fill->target());
    }
  }
  void add(const fb::Region &region) {
    add(region.inputs());
    add(region.outputs());
    for (uint32_t i = 0; i < count(region.checks()); ++i) {
      add(region.checks()->Get(i)->lhs());
      add(region.checks()->Get(i)->rhs());
    }
    const fb::Program &program = *region.program();
    for (uint32_t i = 0; i < count(program.slots()); ++i)
      add(program.slots()->Get(i)->bytes());
    for (uint32_t i = 0; i < count(program.commands()); ++i)
      add(*program.commands()->Get(i));
  }

private:
  std::set<const Text *> seen_;
};

} // namespace

std::vector<std::vector<std::string>>
iterationsUsed(const fb::Variant &variant) {
  std::set<std::string> all;
  for (uint32_t i = 0; i < count(variant.regions()); ++i)
    all.insert(std::string(text(variant.regions()->Get(i)->iteration())));
  std::vector<std::vector<std::string>> result;
  for (uint32_t i = 0; i < count(variant.regions()); ++i) {
    Collector collector;
    collector.add(*variant.regions()->Get(i));
    result.emplace_back();
    for (const std::string &name : collector.names)
      if (all.contains(name))
        result.back().push_back(name);
  }
  return result;
}

} // namespace backplane::rt
