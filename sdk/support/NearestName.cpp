// SPDX-License-Identifier: Apache-2.0
#include "NearestName.h"

#include <algorithm>

namespace backplane {

/// Number of single-letter edits between two words.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

std::string nearestName(std::string_view wanted,
                        const std::vector<std::string> &names) {
  size_t best = std::max<size_t>(2, wanted.size() / 3) + 1;
  std::string nearest;
  for (const std::string &name : names)
    if (size_t distance = editDistance(wanted, name); distance < best) {
      best = distance;
      nearest = name;
    }
  return nearest;
}

} // namespace backplane
