// SPDX-License-Identifier: Apache-2.0
//
// Evaluate.h: a slow interpreter, in f64, of the primitives that
// decompositions use; it tells whether a decomposition computes what the
// composite means.
#ifndef BACKPLANE_GRAPH_TEST_EVALUATE_H
#define BACKPLANE_GRAPH_TEST_EVALUATE_H

#include "TestGraphs.h"

namespace backplane::test {

struct Tensor {
  std::vector<size_t> sizes;
  std::vector<double> data;
};

/// The first output of a graph. Fails the test at an op that it does not know.
Tensor evaluate(const Graph &graph, const std::vector<Tensor> &inputs,
                const SymbolValues &symbols = {});

} // namespace backplane::test

#endif // BACKPLANE_GRAPH_TEST_EVALUATE_H
