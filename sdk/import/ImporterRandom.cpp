// SPDX-License-Identifier: Apache-2.0
//
// The counter of random ops: a variable of the session counts calls, and a loop
// mixes in the number of the iteration.
#include "Importer.h"

namespace backplane::frontend {

namespace {

constexpr const char *kCalls = "random_calls";

int64_t code(DType dtype) { return static_cast<int64_t>(dtype); }

/// Appends ops to a graph; the first failure is kept.
class Steps {
public:
  explicit Steps(Graph &graph) : graph_(graph) {}

  ValueId op(std::string_view name, std::vector<ValueId> operands,
             Attributes attributes) {
    if (!status_.ok())
      return 0;
    auto results = graph_.add(name, std::move(operands), std::move(attributes),
                              "the counter of random ops");
    if (!results.ok())
      status_ = results.status();
    return results.ok() && !results->empty() ? results->front() : 0;
  }
  ValueId number(uint8_t value) {
    return op("constant", {},
              {{"value", Bytes{value, 0, 0, 0, 0, 0, 0, 0}},
               {"dtype", code(DType::U64)},
               {"dims", Dims()}});
  }
  /// One element of a list, as u64.
  ValueId element(ValueId list, int64_t index) {
    ValueId part = op("slice", {list},
                      {{"starts", Dims{index}},
                       {"sizes", Dims{1}},
                       {"strides", std::vector<int64_t>{1}}});
    ValueId scalar = op("reshape", {part}, {{"dims", Dims()}});
    return op("cast", {scalar}, {{"dtype", code(DType::U64)}});
  }
  Result<ValueId> result(ValueId value) const {
    return status_.ok() ? Result<ValueId>(value) : status_;
  }

private:
  Graph &graph_;
  Status status_;
};

} // namespace

Result<ValueId> Importer::randomCounterAt(size_t depth) {
  auto known = [&]() -> std::optional<ValueId> & {
    return depth ? scopes_[depth - 1].randomCounter : randomCounter_;
  };
  if (known())
    return *known();
  Result<ValueId> made = depth ? countIterations(depth) : countCalls();
  if (made.ok())
    known() = *made;
  return made;
}

Result<ValueId> Importer::countCalls() {
  TensorType type{DType::U64, {}};
  model_.graph.variables.push_back({kCalls, type, ""});
  Steps steps(model_.graph);
  ValueId calls = steps.op("variable_read", {},
                           {{"variable", std::string(kCalls)},
                            {"dtype", code(type.dtype)},
                            {"dims", type.dims}});
  ValueId next = steps.op("add", {calls, steps.number(1)}, {});
  steps.op("variable_write", {next}, {{"variable", std::string(kCalls)}});
  return steps.result(calls);
}

/// The counter around the region; in a loop 64 random bits whose key it is and
/// whose counter is the iteration.
Result<ValueId> Importer::countIterations(size_t depth) {
  Result<ValueId> outer = randomCounterAt(depth - 1);
  if (!outer.ok())
    return outer;
  ValueId around = captureAt(depth, *outer, depth - 1);
  const Scope &scope = scopes_[depth - 1];
  if (scope.iteration.empty())
    return around;
  Steps steps(scopes_[depth - 1].graph);
  ValueId iteration = steps.element(
      steps.op("dim", {}, {{"value", Dims{Dim::symbol(scope.iteration)}}}), 0);
  ValueId bits =
      steps.op("random_bits", {around, iteration}, {{"dims", Dims{2}}});
  ValueId high =
      steps.op("shl", {steps.element(bits, 1), steps.number(32)}, {});
  return steps.result(steps.op("or", {steps.element(bits, 0), high}, {}));
}

} // namespace backplane::frontend
