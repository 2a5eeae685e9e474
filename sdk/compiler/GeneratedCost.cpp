// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/GeneratedCost.h"

#include "sdk/compiler/Flops.h"

#include <algorithm>

using namespace backplane;

namespace {

constexpr double dispatchNs = 500;
/// Of a core: two multiply-adds with vectors in each cycle of 2.5 GHz.
constexpr double laneFlopsPerUs = 2 * 2 * 2500;
constexpr double defaultBytesPerUs = 10000;

double rateOf(const Target &target, const std::string &key, double otherwise) {
  const Property::Value *value = findProperty(target.properties, key);
  return value ? double(std::get<int64_t>(*value)) : otherwise;
}

double flopsPerUs(const Target &target, DType dtype) {
  const double lanes =
      std::max(1.0, double(target.vectorBits) / double(bitWidth(dtype)));
  return rateOf(target, "flops_per_us." + std::string(name(dtype)),
                lanes * laneFlopsPerUs);
}

/// Operations of what is no contraction: one for each element of its results.
double otherOps(const Graph &graph, const SymbolValues &sizes) {
  double total = 0;
  for (const Op &op : graph.ops)
    for (ValueId result : op.results)
      if (auto count = graph.type(result).elementCount().evaluate(sizes))
        total += double(*count);
  return total;
}

/// Bytes of inputs and outputs, less those that are neither written nor read.
std::optional<double> movedBytes(const Graph &graph, const SymbolValues &sizes,
                                 const std::set<int32_t> &fused) {
  double total = 0;
  bool isKnown = true;
  auto add = [&](ValueId value, bool isFused) {
    auto bytes = graph.type(value).bytes().evaluate(sizes);
    total += bytes ? double(*bytes) * (isFused ? -1 : 1) : 0;
    isKnown &= bytes.ok();
  };
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    add(graph.inputs[i], fused.contains(int32_t(i)));
  for (const GraphOutput &output : graph.outputs)
    add(output.value, false);
  return isKnown ? std::optional(std::max(total, 0.0)) : std::nullopt;
}

} // namespace

std::optional<double> backplane::generatedNs(const Target &target,
                                             const Graph &graph,
                                             const SymbolValues &sizes,
                                             const std::set<int32_t> &fused) {
  auto bytes = movedBytes(graph, sizes, fused);
  if (!bytes || graph.outputs.empty())
    return std::nullopt;
  double flops = otherOps(graph, sizes);
  if (auto products = flopsOf(graph)) {
    auto count = products->evaluate(sizes);
    if (!count)
      return std::nullopt;
    flops += double(*count);
  }
  const DType dtype = graph.type(graph.outputs[0].value).dtype;
  const double us =
      std::max(flops / flopsPerUs(target, dtype),
               *bytes / rateOf(target, "bytes_per_us", defaultBytesPerUs));
  return 1000 * us + (fused.empty() ? dispatchNs : 0);
}
