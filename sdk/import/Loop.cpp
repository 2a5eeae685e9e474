// SPDX-License-Identifier: Apache-2.0
#include "Loop.h"

namespace backplane::frontend {

bool LoopBuilder::begin(std::vector<ValueId> initial) {
  initial_ = std::move(initial);
  if (!node_.ok())
    return false;
  std::vector<Value> outside;
  for (ValueId value : initial_)
    outside.push_back(node_.importer().graph().values[value]);
  if (!node_.beginRegion("body"))
    return false;
  iteration_ = node_.importer().addIteration(limit_);
  for (const Value &value : outside)
    carried_.push_back(
        node_.importer().graph().addInput(value.name, value.type));
  return true;
}

ValueId LoopBuilder::row(ValueId value, const Dim &index) {
  if (!node_.ok())
    return kNone;
  const Dims &sizes = node_.type(value).dims;
  Dims rest(sizes.begin() + 1, sizes.end());
  return node_.reshape(node_.part(value, 0, index, 1), rest);
}

/// The value as one of the type that it had before the iteration.
ValueId LoopBuilder::fitted(ValueId value, const TensorType &type) {
  if (!node_.ok())
    return kNone;
  TensorType found = node_.type(value);
  bool fits = found.dtype == type.dtype && found.rank() == type.rank();
  for (size_t i = 0; fits && i < type.rank(); ++i)
    fits = (found.dims[i] - type.dims[i]).constant().value_or(0) == 0;
  if (!fits)
    node_.refuse("a carried value that changes from " + type.str() + " to " +
                 found.str() + " is not supported");
  return node_.withDims(value, type.dims);
}

/// The value with the sizes that it has in the first iteration.
ValueId LoopBuilder::withoutIteration(ValueId value) {
  if (!node_.ok())
    return kNone;
  Dims dims = node_.type(value).dims;
  for (Dim &dim : dims)
    dim = dim.substitute({{*iteration_.symbolName(), Dim(0)}});
  return node_.withDims(value, dims);
}

std::vector<ValueId> LoopBuilder::end(const std::vector<ValueId> &next,
                                      const std::vector<ValueId> &stacked) {
  return end(next, stacked, kNone, kNone);
}

std::vector<ValueId> LoopBuilder::end(const std::vector<ValueId> &next,
                                      const std::vector<ValueId> &stacked,
                                      ValueId firstPredicate,
                                      ValueId nextPredicate) {
  bool conditional = firstPredicate != kNone;
  std::vector<ValueId> outputs;
  if (conditional)
    outputs.push_back(nextPredicate);
  for (size_t i = 0; i < next.size(); ++i)
    outputs.push_back(fitted(next[i], TensorType(node_.type(carried_[i]))));
  for (ValueId value : stacked)
    outputs.push_back(withoutIteration(value));
  if (!node_.ok())
    return std::vector<ValueId>(next.size() + stacked.size(), kNone);
  for (ValueId value : outputs)
    node_.importer().graph().addOutput(value, "");
  Region region = node_.endRegion();
  Op op{"while", 1, {}, {}, {}, {}, {}};
  if (conditional)
    op.operands.push_back(firstPredicate);
  op.operands.insert(op.operands.end(), initial_.begin(), initial_.end());
  op.operands.insert(op.operands.end(), region.captured.begin(),
                     region.captured.end());
  // The predicate counts too, so a limit only says how much is stacked.
  bool limited = limit_ && (!conditional || !stacked.empty());
  op.attributes = {{"carried", int64_t(initial_.size())},
                   {"conditional", int64_t(conditional)},
                   {"iteration", region.iteration},
                   {"limit", limited ? Dims{*limit_} : Dims()}};
  op.regions.push_back(std::move(region.graph));
  return node_.control(std::move(op));
}

} // namespace backplane::frontend
