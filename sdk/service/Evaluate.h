// SPDX-License-Identifier: Apache-2.0
//
// Evaluate.h: computing a graph on the reference device, for the compiler's
// constant folding: compiled by the plug-in that has the target "ref" and run
// by the driver "ref", both through the door that every plug-in uses.
#ifndef BACKPLANE_SERVICE_EVALUATE_H
#define BACKPLANE_SERVICE_EVALUATE_H

#include "Targets.h"
#include "sdk/graph/Graph.h"

namespace backplane::rt {

/// Not thread-safe.
class ReferenceEvaluator {
public:
  explicit ReferenceEvaluator(std::shared_ptr<Registry> registry)
      : registry_(std::move(registry)) {}

  /// The outputs of a graph with static shapes for the bytes of its inputs.
  Result<std::vector<Bytes>>
  run(const Graph &graph, std::span<const std::span<const uint8_t>> inputs);

private:
  Status open();

  std::shared_ptr<Registry> registry_;
  std::optional<TargetInfo> target_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<Queue> queue_;
};

} // namespace backplane::rt

#endif // BACKPLANE_SERVICE_EVALUATE_H
