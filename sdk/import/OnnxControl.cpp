// SPDX-License-Identifier: Apache-2.0
//
// Control flow that is decided at import.
#include "OnnxHandlers.h"

namespace backplane::frontend {

/// The branch that is taken stands in the place of the node.
void onnxIf(Node &node) {
  const Known *condition = node.known(0);
  if (!condition)
    return node.refuse("its condition ('" + node.tensor(0).name +
                       "') is computed from data, which is not supported");
  auto values = condition->constants();
  if (!values)
    return node.refuse("its condition depends on symbolic sizes; give them "
                       "numbers");
  if (condition->dtype != DType::Bool || values->size() != 1)
    return node.reject("its condition is " + node.inputType(0).str() +
                       ", but must be one bool");
  const onnx::GraphProto *branch =
      node.graphAttribute(values->front() ? "then_branch" : "else_branch");
  if (branch && branch->input_size())
    return node.reject("a branch has inputs");
  if (branch)
    node.outNested(*branch);
}

} // namespace backplane::frontend
