// SPDX-License-Identifier: Apache-2.0
//
// A node's calls that build regions.
#include "Node.h"

namespace backplane::frontend {

bool Node::beginRegion(std::string_view part) {
  if (ok())
    fail(importer_.beginRegion(location_ + ", " + std::string(part)));
  return ok();
}

ValueId Node::capture(ValueId outer) {
  return ok() && outer != kNone ? importer_.capture(outer) : kNone;
}

ValueId Node::materialise(NamedValue *tensor) {
  if (!ok() || !tensor)
    return kNone;
  Result<ValueId> value = importer_.materialise(*tensor);
  if (value.ok())
    return *value;
  fail(value.status());
  return kNone;
}

std::vector<NamedValue *> Node::nested(const onnx::GraphProto &graph) {
  std::vector<NamedValue *> results;
  if (!ok())
    return results;
  fail(importer_.addNested(graph));
  for (const onnx::ValueInfoProto &output : graph.output()) {
    results.push_back(importer_.find(output.name()));
    if (!results.back())
      reject("nothing defines output '" + output.name() +
             "' of its nested graph");
  }
  return results;
}

void Node::bind(const std::string &name, ValueId value) {
  if (!ok())
    return;
  NamedValue tensor;
  tensor.type = type(value);
  tensor.value = value;
  importer_.shadow(name, std::move(tensor));
}

void Node::bind(const std::string &name, Known known) {
  if (!ok())
    return;
  NamedValue tensor;
  tensor.type = known.type();
  tensor.known = std::move(known);
  importer_.shadow(name, std::move(tensor));
}

std::vector<ValueId> Node::control(Op op) {
  if (!ok())
    return {};
  op.location = location_;
  auto results = importer_.addControl(std::move(op));
  if (results.ok())
    return *results;
  fail(results.status());
  return {};
}

} // namespace backplane::frontend
