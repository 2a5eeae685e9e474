// SPDX-License-Identifier: Apache-2.0
#include "PluginUnits.h"
#include "conformance/plugin/Check.h"

#include <algorithm>
#include <set>

namespace backplane::conformance {
namespace {

Depth depthOf(checks::Depth depth) {
  return depth == checks::Depth::Smoke      ? Depth::Smoke
         : depth == checks::Depth::Standard ? Depth::Standard
                                            : Depth::Full;
}

std::vector<DType> dtypesOf(const Graph &graph) {
  std::set<DType> dtypes;
  for (ValueId value = 0; value < graph.values.size(); ++value)
    dtypes.insert(graph.type(value).dtype);
  return {dtypes.begin(), dtypes.end()};
}

Unit unitOf(const checks::Check &check) {
  Unit unit;
  unit.id = check.group;
  unit.layer = check.layer;
  unit.op = unit.id.substr(unit.id.find('/') + 1);
  unit.check = true;
  unit.tags = check.tags;
  if (auto model = checkModel(check.graph)) {
    unit.graph = std::move(model->graph);
    unit.weights = std::move(model->weights);
    unit.dtypes = dtypesOf(unit.graph);
    unit.dtype = unit.dtypes.front();
  }
  return unit;
}

void add(const checks::Check &check, Unit &unit) {
  Case one;
  one.id = check.id;
  one.dataSet = "check";
  one.depth = depthOf(check.depth);
  unit.depth = std::min(unit.depth, one.depth);
  unit.cases.push_back(std::move(one));
}

} // namespace

void generateChecks(const Selection &selection,
                    const std::function<void(Unit)> &put) {
  std::vector<Unit> units;
  for (const checks::Check &check : checks::allChecks()) {
    if (depthOf(check.depth) > selection.depth)
      continue;
    auto unit = std::find_if(units.begin(), units.end(), [&](const Unit &one) {
      return one.id == check.group;
    });
    if (unit == units.end())
      unit = units.insert(units.end(), unitOf(check));
    add(check, *unit);
  }
  for (Unit &unit : units)
    put(std::move(unit));
}

} // namespace backplane::conformance
