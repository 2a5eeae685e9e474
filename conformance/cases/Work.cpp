// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/Work.h"

#include <algorithm>

using namespace backplane;
using namespace backplane::conformance;

namespace {

uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t plus(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/// A size; 0 when these symbols do not give it.
uint64_t sizeOf(const Dim &dim, const SymbolValues &symbols) {
  auto value = dim.evaluate(symbols);
  return value && *value > 0 ? uint64_t(*value) : 0;
}

/// Product of the dims from `first` on.
uint64_t count(const TensorType &type, const SymbolValues &symbols,
               size_t first = 0) {
  uint64_t all = 1;
  for (size_t i = first; i < type.dims.size(); ++i)
    all = times(all, sizeOf(type.dims[i], symbols));
  return all;
}

/// Multiply-adds of an op that is a contraction or a pool; 0 for others.
uint64_t contraction(const Graph &graph, const Op &op,
                     const SymbolValues &symbols) {
  auto elements = [&](ValueId value) {
    return count(graph.type(value), symbols);
  };
  if (op.name == "matmul" || op.name == "matmul_integer") {
    const TensorType &a = graph.type(op.operands[0]);
    const Dim &k = a.dims[a.rank() - (op.i64("transpose_a") ? 2 : 1)];
    return times(elements(op.results[0]), sizeOf(k, symbols));
  }
  // Each result of conv, each operand of conv_transpose takes part in one
  // product with all but the first axis of the weights.
  if (op.name == "conv" || op.name == "conv_integer")
    return times(elements(op.results[0]),
                 count(graph.type(op.operands[1]), symbols, 1));
  if (op.name == "conv_transpose")
    return times(elements(op.operands[0]),
                 count(graph.type(op.operands[1]), symbols, 1));
  if (op.name == "attention") {
    const TensorType &k = graph.type(op.operands[1]);
    uint64_t columns = sizeOf(k.dims[2], symbols);
    return times(columns,
                 plus(elements(op.operands[0]), elements(op.results[0])));
  }
  if (op.name == "pool" || op.name == "avg_pool") {
    uint64_t window = 1;
    for (int64_t size : op.i64s("window"))
      window = times(window, uint64_t(size));
    return times(elements(op.results[0]), window);
  }
  return 0;
}

void add(const Graph &graph, const SymbolValues &symbols, Work &work) {
  for (const Value &value : graph.values) {
    work.elements = std::max(work.elements, count(value.type, symbols));
    work.rank = std::max<uint64_t>(work.rank, value.type.rank());
  }
  for (const Op &op : graph.ops) {
    uint64_t macs = contraction(graph, op, symbols);
    if (!macs)
      for (const std::vector<ValueId> *values : {&op.operands, &op.results})
        for (ValueId value : *values)
          macs = std::max(macs, count(graph.type(value), symbols));
    work.macs = plus(work.macs, macs);
    for (const Graph &region : op.regions)
      add(region, symbols, work);
  }
}

} // namespace

Work conformance::workOf(const Graph &graph, const SymbolValues &symbols) {
  Work work;
  add(graph, symbols, work);
  return work;
}
