// SPDX-License-Identifier: Apache-2.0
//
// PluginUnits.h: the checks of conformance/plugin as units of the suite, so
// that they are chosen, sharded, resumed and recorded as all other cases are.
#ifndef BACKPLANE_CONFORMANCE_SUITE_PLUGINUNITS_H
#define BACKPLANE_CONFORMANCE_SUITE_PLUGINUNITS_H

#include "conformance/cases/Case.h"

#include <string_view>

namespace backplane::conformance {

/// One unit for each group of checks, or for each model that checks need, in
/// the order of the table; Unit::check is set.
void generateChecks(const Selection &selection,
                    const std::function<void(Unit)> &put);

/// The model that checks name, small; none when there is none of this name. Its
/// inputs are whole numbers, so that all orders of a sum give the same.
std::optional<Model> checkModel(std::string_view name);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_SUITE_PLUGINUNITS_H
