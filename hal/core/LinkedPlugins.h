// SPDX-License-Identifier: Apache-2.0
//
// LinkedPlugins.h: plug-ins whose code is part of the program. A static
// program cannot load libraries safely, so it has these and no others; they
// come through the same query function as loaded ones.
#ifndef BACKPLANE_CORE_LINKEDPLUGINS_H
#define BACKPLANE_CORE_LINKEDPLUGINS_H

#include "backplane/plugin.h"

#include <span>

namespace backplane {

/// One of them; everything lives as long as the program.
struct LinkedPlugin {
  const char *name;
  bp_plugin_query_t query;
  bool driver = false;
  bool compiler = false;
};

/// Says what the program was linked with. Called at most once, before the
/// first registry; from then on registries load no libraries.
void setLinkedPlugins(std::span<const LinkedPlugin> plugins);

/// Empty: plug-ins are loaded.
std::span<const LinkedPlugin> linkedPlugins();

} // namespace backplane

#endif // BACKPLANE_CORE_LINKEDPLUGINS_H
