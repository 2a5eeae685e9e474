// SPDX-License-Identifier: Apache-2.0
//
// Scenarios.h: short pieces of a plug-in's life that checks of layer 7 run
// often, at once, or while memory is short.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_SCENARIOS_H
#define BACKPLANE_CONFORMANCE_PLUGIN_SCENARIOS_H

#include "Compiled.h"

namespace backplane::checks {

struct Scenario {
  const char *name;
  void (*run)(Fixture &fixture);
};

/// What goes well.
std::span<const Scenario> scenarios();
/// Calls that the driver refuses or that fail.
std::span<const Scenario> failures();

struct ModelScenario {
  const char *name;
  const char *model;
  void (*run)(ModelFixture &model);
};
std::span<const ModelScenario> modelScenarios();

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_SCENARIOS_H
