// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a wire graph. What is read is written and read again.
#include "sdk/graph/Wire.h"

#include <cstdlib>

using namespace backplane;

/// A graph with a NaN among its attributes equals no graph, not even itself.
static bool same(const Graph &a, const Graph &b) {
  return a == a ? a == b : a.str() == b.str();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (Result<Graph> graph = readGraph({data, size})) {
    Result<Graph> again = readGraph(writeGraph(*graph));
    if (!again || !same(*again, *graph))
      std::abort();
  }
  return 0;
}
