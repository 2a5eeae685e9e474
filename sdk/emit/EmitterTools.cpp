// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/EmitterTools.h"

#include "sdk/emit/nvptx/Ptxas.h"

#include <algorithm>
#include <iterator>

namespace backplane {

static constexpr EmitterTool tools[] = {{"cubin", "ptxas", findPtxas}};

const EmitterTool *findEmitterTool(std::string_view emitter) {
  const auto *found = std::ranges::find(tools, emitter, &EmitterTool::emitter);
  return found == std::end(tools) ? nullptr : found;
}

} // namespace backplane
