// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Wording.h"

namespace backplane::conformance {

std::string join(const std::vector<std::string> &texts, size_t max) {
  std::string out;
  for (size_t i = 0; i < texts.size() && i < max; ++i)
    out += (i ? ", " : "") + texts[i];
  if (texts.size() > max)
    out += " and " + std::to_string(texts.size() - max) + " more";
  return out;
}

std::string plural(uint64_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

} // namespace backplane::conformance
