// SPDX-License-Identifier: Apache-2.0
#include "sdk/support/Concat.h"

namespace backplane {

std::string concat(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view part : parts)
    text += part;
  return text;
}

} // namespace backplane
