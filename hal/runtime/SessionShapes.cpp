// SPDX-License-Identifier: Apache-2.0
//
// SessionShapes.cpp: the shapes of outputs, before a call and after it.
#include "Session.h"
#include "backplane/graph.h"

#include <algorithm>

namespace backplane::rt {

Result<std::vector<std::vector<int64_t>>>
Session::outputShapes(std::span<const bp_tensor_t> inputs) const {
  return signature().outputShapes(inputs);
}

Result<std::vector<std::vector<int64_t>>>
Session::outputBounds(std::span<const bp_tensor_t> inputs) const {
  return signature().outputBounds(inputs);
}

/// Writes the sizes that the reads of a call have decided to the dims of its
/// outputs. Only their bytes leave the memory of a staged output.
Status Session::writeShapes(const Plan &plan, Call &call,
                            std::span<const bp_tensor_t> outputs) {
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    if (!std::ranges::count(plan.outputDims[i], BP_DIM_SYMBOLIC))
      continue;
    auto dims = signature().outputShape(i, evaluator_.values());
    if (!dims)
      return dims.status();
    Result<uint64_t> bytes =
        denseBytes(signature().outputs()[i].type.dtype, *dims);
    if (!bytes)
      return bytes.status();
    for (std::vector<PortMemory> &memory : call.memory_)
      memory[plan.inputBytes.size() + i].bytes = *bytes;
    std::ranges::copy(*dims, const_cast<int64_t *>(outputs[i].dims));
  }
  return {};
}

} // namespace backplane::rt
