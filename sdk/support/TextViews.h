// SPDX-License-Identifier: Apache-2.0
//
// TextViews.h: texts as others take them, which must outlive the views.
#ifndef BACKPLANE_SUPPORT_TEXTVIEWS_H
#define BACKPLANE_SUPPORT_TEXTVIEWS_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

/// Texts as the C ABI takes lists of them.
inline std::vector<bp_string_t> asC(const std::vector<std::string> &texts) {
  std::vector<bp_string_t> views;
  for (const std::string &text : texts)
    views.push_back(toC(text));
  return views;
}

/// A text as files and hashes take it.
inline std::span<const uint8_t> asBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

} // namespace backplane

#endif // BACKPLANE_SUPPORT_TEXTVIEWS_H
