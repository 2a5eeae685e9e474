// SPDX-License-Identifier: Apache-2.0
#include "sdk/partition/TargetNames.h"

namespace backplane {

std::vector<std::string>
splitTargets(std::string_view joined,
             const std::function<bool(std::string_view)> &known) {
  constexpr size_t longest = 1024;
  if (joined.size() > longest)
    return {};
  // From the back: what can be read from each place on.
  size_t size = joined.size();
  std::vector<std::vector<std::string>> from(size + 1);
  for (size_t start = size; start-- > 0;) {
    if (start != 0 && joined[start - 1] != '+')
      continue;
    for (size_t end = size; end > start; --end) {
      if (end != size && (joined[end] != '+' || from[end + 1].empty()))
        continue;
      std::string_view name = joined.substr(start, end - start);
      if (!known(name))
        continue;
      from[start] = {std::string(name)};
      if (end != size)
        from[start].insert(from[start].end(), from[end + 1].begin(),
                           from[end + 1].end());
      break;
    }
  }
  return from[0];
}

} // namespace backplane
