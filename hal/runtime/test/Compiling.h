// SPDX-License-Identifier: Apache-2.0
//
// Compiling.h: the in-tree backends and graphs that they compile.
#ifndef BACKPLANE_RUNTIME_TEST_COMPILING_H
#define BACKPLANE_RUNTIME_TEST_COMPILING_H

#include "Models.h"
#include "sdk/graph/Wire.h"

namespace backplane::test {

/// Context over host, ref and x86; "-": without a cache.
Result<Context> compilerContext(const std::string &cache = "-");

/// An artifact for a driver, from the wire bytes of a graph.
Result<Artifact> compileGraph(const Context &context, const Bytes &wire,
                              const char *driver);

} // namespace backplane::test

#endif // BACKPLANE_RUNTIME_TEST_COMPILING_H
