// SPDX-License-Identifier: Apache-2.0
#include "Variant.h"

namespace backplane {

static void noteFallbacks(const Program &program, std::vector<bool> &result) {
  for (const program::Command &command : program.commands)
    if (const auto *dispatch = std::get_if<program::Dispatch>(&command);
        dispatch && dispatch->fallbackFor.value_or(UINT32_MAX) < result.size())
      result[*dispatch->fallbackFor] = true;
}

std::vector<bool> replaceable(const VariantInfo &variant) {
  std::vector<bool> result(variant.executables.size(), false);
  noteFallbacks(variant.program, result);
  noteFallbacks(variant.init, result);
  for (const RegionInfo &region : variant.regions)
    noteFallbacks(region.program, result);
  return result;
}

} // namespace backplane
