// SPDX-License-Identifier: Apache-2.0
//
// Loop.h: a `while` of the graph under construction, for ONNX ops that iterate.
#ifndef BACKPLANE_IMPORT_LOOP_H
#define BACKPLANE_IMPORT_LOOP_H

#include "Node.h"

namespace backplane::frontend {

class LoopBuilder {
public:
  /// `limit` iterations, when the number is known.
  LoopBuilder(Node &node, std::optional<Dim> limit)
      : node_(node), limit_(std::move(limit)) {}

  /// Starts the region, which carries these values. False after a failure.
  bool begin(std::vector<ValueId> initial);
  /// Inside: the values that are carried, and the number of the iteration.
  const std::vector<ValueId> &carried() const { return carried_; }
  const Dim &iteration() const { return iteration_; }
  /// Row `index` of a value of the region, without its first axis.
  ValueId row(ValueId value, const Dim &index);

  /// Ends the region: what it carries on, and what it gives to be stacked.
  /// Gives the results. Sizes that cannot be seen to be those before become
  /// equal by assertion.
  std::vector<ValueId> end(const std::vector<ValueId> &next,
                           const std::vector<ValueId> &stacked);
  /// The same, going on while a predicate holds: `first` outside, `next`
  /// inside.
  std::vector<ValueId> end(const std::vector<ValueId> &next,
                           const std::vector<ValueId> &stacked,
                           ValueId firstPredicate, ValueId nextPredicate);

private:
  ValueId fitted(ValueId value, const TensorType &type);
  ValueId withoutIteration(ValueId value);

  Node &node_;
  std::optional<Dim> limit_;
  std::vector<ValueId> initial_, carried_;
  Dim iteration_;
};

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_LOOP_H
