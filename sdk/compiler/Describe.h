// SPDX-License-Identifier: Apache-2.0
//
// Describe.h: what an artifact says about its model, whatever the target.
#ifndef BACKPLANE_COMPILER_DESCRIBE_H
#define BACKPLANE_COMPILER_DESCRIBE_H

#include "sdk/program/Variant.h"

namespace backplane {

/// Fills producer, name, symbols, checks, inputs, outputs and variables. The
/// first values of variables are put into `weights`, which numbers them.
void describeModel(const Graph &graph, ArtifactInfo &artifact,
                   std::vector<std::string> &weights);

/// Leaves only those of the weights that something of the artifact names, in
/// their order.
void dropUnusedWeights(ArtifactInfo &artifact,
                       std::vector<std::string> &weights);

} // namespace backplane

#endif // BACKPLANE_COMPILER_DESCRIBE_H
