// SPDX-License-Identifier: Apache-2.0
//
// GraphFile.h: files of graphs, NAME.bpg, and the weights beside them.
#ifndef BACKPLANE_GRAPH_GRAPHFILE_H
#define BACKPLANE_GRAPH_GRAPHFILE_H

#include "Model.h"

namespace backplane {

/// Reads a graph from its wire bytes, of at most 1 GB. A weight that it names
/// comes from weight-ID.npy in the same folder; one that is not there is
/// missing in the pool.
Result<Model> readGraphFile(const std::string &path);

} // namespace backplane

#endif // BACKPLANE_GRAPH_GRAPHFILE_H
