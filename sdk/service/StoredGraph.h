// SPDX-License-Identifier: Apache-2.0
//
// StoredGraph.h: the portable graph that an artifact may hold, with its
// weights, as the compiler takes it.
#ifndef BACKPLANE_SERVICE_STOREDGRAPH_H
#define BACKPLANE_SERVICE_STOREDGRAPH_H

#include "hal/runtime/LoadedArtifact.h"

namespace backplane::rt {

/// Fails when there is no graph or when a weight of it is missing or is not
/// what its id says. The weights keep the file of the artifact mapped.
Result<Model> storedModel(const LoadedArtifact &artifact);

} // namespace backplane::rt

#endif // BACKPLANE_SERVICE_STOREDGRAPH_H
