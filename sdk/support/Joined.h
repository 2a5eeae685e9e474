// SPDX-License-Identifier: Apache-2.0
//
// Joined.h: one text of several.
#ifndef BACKPLANE_SUPPORT_JOINED_H
#define BACKPLANE_SUPPORT_JOINED_H

#include <functional>
#include <string>
#include <string_view>

namespace backplane {

/// The texts of all items of a range, as `text` makes them, with `between`
/// behind each but the last.
template <typename Range, typename Text = std::identity>
std::string joined(const Range &range, std::string_view between = ", ",
                   Text text = {}) {
  std::string all;
  for (const auto &item : range)
    (all += all.empty() ? "" : between) += std::invoke(text, item);
  return all;
}

} // namespace backplane

#endif // BACKPLANE_SUPPORT_JOINED_H
