// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Flops.h"

using namespace backplane;

static Dim elements(const TensorType &type) {
  Dim product(1);
  for (const Dim &dim : type.dims)
    product = product * dim;
  return product;
}

/// Products that a contraction adds up, if `op` is one.
static std::optional<Dim> products(const Graph &graph, const Op &op) {
  if (op.operands.size() < 2 || op.results.empty())
    return std::nullopt;
  const TensorType &a = graph.type(op.operands[0]);
  const TensorType &b = graph.type(op.operands[1]);
  if (op.name == "matmul" && a.rank() >= 2)
    return elements(graph.type(op.results[0])) *
           a.dims[a.rank() - (op.i64("transpose_a") ? 2 : 1)];
  bool transposed = op.name == "conv_transpose";
  if ((op.name != "conv" && !transposed) || b.rank() < 2)
    return std::nullopt;
  // Each element of the result, or of the transposed conv's input, meets the
  // window of all channels of its group.
  Dim window(1);
  for (size_t axis = 1; axis < b.rank(); ++axis)
    window = window * b.dims[axis];
  return elements(transposed ? a : graph.type(op.results[0])) * window;
}

std::optional<Dim> backplane::flopsOf(const Graph &graph) {
  Dim total(0);
  for (const Op &op : graph.ops)
    if (auto count = products(graph, op);
        count && isFloat(graph.type(op.operands[0]).dtype))
      total = total + *count * Dim(2);
  return total == Dim(0) || !total.valid() ? std::nullopt
                                           : std::optional(total);
}
