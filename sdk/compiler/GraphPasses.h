// SPDX-License-Identifier: Apache-2.0
//
// GraphPasses.h: the passes of plug-ins over wire graphs.
#ifndef BACKPLANE_COMPILER_GRAPHPASSES_H
#define BACKPLANE_COMPILER_GRAPHPASSES_H

#include "sdk/compiler/Target.h"

namespace backplane {

/// Asks the plug-in of a target for its graph passes. A stage that has none is
/// a failure.
Status readGraphPasses(Target &target);

/// Runs the graph passes that a target has for a stage, in order. `report` gets
/// a line for each that changed the graph or does not do it, starting with
/// `what`. A pass that fails, or that gives what is no graph or not one in the
/// place of the other, is a failure with the name of plug-in and pass.
Result<Graph> runGraphPasses(const CompileServices &services,
                             const Target &target, std::string_view stage,
                             Graph graph, const std::string &what,
                             std::vector<std::string> &report);

/// Whether the target has any for a stage.
bool hasGraphPass(const Target &target, std::string_view stage);

} // namespace backplane

#endif // BACKPLANE_COMPILER_GRAPHPASSES_H
