// SPDX-License-Identifier: Apache-2.0
//
// If: decided at import where its condition is known, else an `if` of the
// graph.
#include "OnnxHandlers.h"
#include "sdk/support/Joined.h"

#include <algorithm>

namespace backplane::frontend {

namespace {

/// A branch that has become a region, or would.
struct Branch {
  Region region;
  std::vector<TensorType> types;
};

/// Imports a branch as a region. With the types of another branch, its results
/// get those, by assertion where need be; ranks must be equal.
bool importBranch(Node &node, const onnx::GraphProto &graph,
                  std::string_view part, const std::vector<TensorType> *types,
                  Branch &branch) {
  if (!node.beginRegion(part))
    return false;
  std::vector<ValueId> values;
  for (NamedValue *tensor : node.nested(graph)) {
    values.push_back(node.materialise(tensor));
    branch.types.push_back(node.type(values.back()));
  }
  bool fits = !types || types->size() == values.size();
  for (size_t i = 0; types && fits && i < values.size(); ++i)
    fits = (*types)[i].rank() == branch.types[i].rank();
  for (size_t i = 0; node.ok() && fits && i < values.size(); ++i) {
    if (types)
      values[i] = node.withDims(values[i], (*types)[i].dims);
    if (node.ok())
      node.importer().graph().addOutput(values[i], "");
  }
  branch.region = node.endRegion();
  return node.ok();
}

bool haveEqualRanks(const Branch &a, const Branch &b) {
  bool equal = a.types.size() == b.types.size();
  for (size_t i = 0; equal && i < a.types.size(); ++i)
    equal = a.types[i].dtype == b.types[i].dtype &&
            a.types[i].rank() == b.types[i].rank();
  return equal;
}

/// Makes both regions take the same values: those that either uses.
std::vector<ValueId> joinCaptures(Node &node, Branch &a, Branch &b) {
  std::vector<ValueId> all = a.region.captured;
  for (ValueId value : b.region.captured)
    if (std::find(all.begin(), all.end(), value) == all.end())
      all.push_back(value);
  for (Branch *branch : {&a, &b}) {
    Region &region = branch->region;
    std::vector<ValueId> inputs;
    for (ValueId value : all) {
      auto at =
          std::find(region.captured.begin(), region.captured.end(), value);
      const Value &outer = node.importer().graph().values[value];
      inputs.push_back(
          at == region.captured.end()
              ? region.graph.addValue(outer.type, outer.name)
              : region.graph.inputs[size_t(at - region.captured.begin())]);
    }
    region.graph.inputs = std::move(inputs);
  }
  return all;
}

/// One bool as a scalar.
ValueId predicateOf(Node &node) {
  ValueId value = node.value(0);
  if (node.ok() && node.type(value).dtype != DType::Bool)
    node.reject("its condition is " + node.type(value).str() +
                ", but must be one bool");
  return node.ok() ? node.reshape(value, {}) : kNone;
}

/// An `if` of the graph, by a predicate or, when there is one, by a dim.
void decideLater(Node &node, const onnx::GraphProto &then,
                 const onnx::GraphProto &otherwise,
                 std::optional<Dim> condition) {
  Branch a, b;
  if (!importBranch(node, then, "then", nullptr, a) ||
      !importBranch(node, otherwise, "else", &a.types, b))
    return;
  if (!haveEqualRanks(a, b)) {
    if (!condition)
      return node.refuse("branches that give " +
                         joined(a.types, ", ", &TensorType::str) + " and " +
                         joined(b.types, ", ", &TensorType::str) +
                         " are not supported");
    // The sizes decide what the rest of the graph looks like.
    node.require(*condition, Dim(1),
                 "only sizes that choose the first branch are supported");
    return node.outNested(then);
  }
  Op op{"if", 1, {}, {}, {}, {}, {}};
  op.attributes["condition"] = condition ? Dims{*condition} : Dims();
  if (!condition)
    op.operands.push_back(predicateOf(node));
  std::vector<ValueId> captured = joinCaptures(node, a, b);
  op.operands.insert(op.operands.end(), captured.begin(), captured.end());
  op.regions = {std::move(a.region.graph), std::move(b.region.graph)};
  if (a.types.size() != node.outputCount())
    return node.reject("it has " + std::to_string(node.outputCount()) +
                       " outputs, its nested graph " +
                       std::to_string(a.types.size()));
  std::vector<ValueId> results = node.control(std::move(op));
  for (size_t i = 0; i < results.size(); ++i)
    node.out(i, results[i]);
}

} // namespace

void onnxIf(Node &node) {
  const onnx::GraphProto *then = node.graphAttribute("then_branch");
  const onnx::GraphProto *otherwise = node.graphAttribute("else_branch");
  for (const onnx::GraphProto *branch : {then, otherwise})
    if (branch && branch->input_size())
      node.reject("a branch has inputs");
  if (!node.ok())
    return;
  const Known *condition = node.known(0);
  if (!condition)
    return decideLater(node, *then, *otherwise, std::nullopt);
  if (condition->dtype != DType::Bool || condition->elements.size() != 1)
    return node.reject("its condition is " + node.inputType(0).str() +
                       ", but must be one bool");
  Dim value = condition->elements[0].value;
  if (!value.constant())
    return decideLater(node, *then, *otherwise, value);
  node.outNested(*value.constant() ? *then : *otherwise);
}

} // namespace backplane::frontend
