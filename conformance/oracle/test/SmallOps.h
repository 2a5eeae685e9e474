// SPDX-License-Identifier: Apache-2.0
//
// SmallOps.h: one op on a few numbers, evaluated.
#ifndef BACKPLANE_CONFORMANCE_ORACLE_TEST_SMALLOPS_H
#define BACKPLANE_CONFORMANCE_ORACLE_TEST_SMALLOPS_H

#include "conformance/oracle/Format.h"
#include "conformance/oracle/Oracle.h"

#include <cmath>
#include <gtest/gtest.h>

namespace backplane::conformance {

inline Tensor floats(DType dtype, std::vector<int64_t> dims,
                     const std::vector<double> &values) {
  Tensor tensor{dtype, std::move(dims), {}};
  tensor.data.resize(values.size() * bitWidth(dtype) / 8);
  for (size_t i = 0; i < values.size(); ++i)
    storeBits(tensor, i, encode(dtype, values[i]));
  return tensor;
}

inline Tensor integers(DType dtype, std::vector<int64_t> dims,
                       const std::vector<int64_t> &values) {
  Tensor tensor{dtype, std::move(dims), {}};
  tensor.data.resize((values.size() * bitWidth(dtype) + 7) / 8);
  for (size_t i = 0; i < values.size(); ++i)
    storeBits(tensor, i, static_cast<uint64_t>(values[i]));
  return tensor;
}

/// The results of one op on inputs of the graph that are like these.
inline auto addTo(Graph &graph, std::string_view op,
                  const std::vector<Tensor> &inputs,
                  const Attributes &attributes) {
  std::vector<ValueId> operands;
  for (const Tensor &input : inputs)
    operands.push_back(graph.addInput(
        "x" + std::to_string(operands.size()),
        {input.dtype, Dims(input.dims.begin(), input.dims.end())}));
  return graph.add(op, operands, attributes);
}

/// The outputs of one op on these inputs.
inline Result<std::vector<Expected>> run(std::string_view op,
                                         const std::vector<Tensor> &inputs,
                                         const Attributes &attributes = {},
                                         const Declaration &declaration = {}) {
  Graph graph;
  auto results = addTo(graph, op, inputs, attributes);
  if (!results)
    return results.status();
  for (ValueId result : *results)
    graph.addOutput(result, "y" + std::to_string(result));
  return evaluate(graph, inputs, declaration);
}

inline Expected only(Result<std::vector<Expected>> results) {
  EXPECT_TRUE(results.ok()) << results.message();
  return results.ok() && results->size() == 1 ? (*results)[0] : Expected{};
}

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_TEST_SMALLOPS_H
