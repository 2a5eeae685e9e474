// SPDX-License-Identifier: Apache-2.0
//
// Compiling.h: the in-tree backends and graphs that they compile.
#ifndef BACKPLANE_SERVICE_TEST_COMPILING_H
#define BACKPLANE_SERVICE_TEST_COMPILING_H

#include "hal/runtime/test/Models.h"
#include "sdk/graph/Wire.h"

namespace backplane::test {

/// A target of the backend for this machine's architecture, below the one
/// that is the default on machines with more.
#if defined(__aarch64__)
inline constexpr const char *ownTarget = "aarch64";
#else
inline constexpr const char *ownTarget = "x86-64-v3";
#endif

/// Context over host, ref and that backend; "-": without a cache.
Result<Context> compilerContext(const std::string &cache = "-");

/// An artifact for a driver, from the wire bytes of a graph.
Result<Artifact> compileGraph(const Context &context, const Bytes &wire,
                              const char *driver);

} // namespace backplane::test

#endif // BACKPLANE_SERVICE_TEST_COMPILING_H
