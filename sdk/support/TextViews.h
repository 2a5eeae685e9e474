// SPDX-License-Identifier: Apache-2.0
//
// TextViews.h: lists of texts as the C ABI takes them.
#ifndef BACKPLANE_SUPPORT_TEXTVIEWS_H
#define BACKPLANE_SUPPORT_TEXTVIEWS_H

#include "backplane/cpp/Result.h"

#include <string>
#include <vector>

namespace backplane {

/// Views of texts, which must outlive them.
inline std::vector<bp_string_t> asC(const std::vector<std::string> &texts) {
  std::vector<bp_string_t> views;
  for (const std::string &text : texts)
    views.push_back(toC(text));
  return views;
}

} // namespace backplane

#endif // BACKPLANE_SUPPORT_TEXTVIEWS_H
