// SPDX-License-Identifier: Apache-2.0
#include "Glob.h"

#include <cstddef>

namespace backplane {
namespace {

/// Matches one byte against what stands at `at`, and moves behind that. A `[`
/// without its end is an ordinary byte.
bool matchesOne(std::string_view glob, size_t &at, char byte) {
  char first = glob[at++];
  if (first == '?')
    return true;
  size_t end = first == '[' ? glob.find(']', at + 1) : std::string_view::npos;
  if (end == std::string_view::npos)
    return first == byte;
  bool inverse = glob[at] == '!' && end > at + 1;
  at += inverse;
  bool found = false;
  while (at < end) {
    char low = glob[at], high = low;
    if (at + 2 < end && glob[at + 1] == '-')
      high = glob[at += 2];
    found |= low <= byte && byte <= high;
    ++at;
  }
  at = end + 1;
  return found != inverse;
}

} // namespace

bool matchesGlob(std::string_view glob, std::string_view text) {
  size_t inGlob = 0, inText = 0;
  // Where to go on when the text after the last star did not fit.
  size_t afterStar = std::string_view::npos, retry = 0;
  while (inText < text.size() || inGlob < glob.size()) {
    if (inGlob < glob.size() && glob[inGlob] == '*') {
      afterStar = ++inGlob;
      retry = inText;
      continue;
    }
    if (inGlob < glob.size() && inText < text.size() &&
        matchesOne(glob, inGlob, text[inText])) {
      ++inText;
      continue;
    }
    if (afterStar == std::string_view::npos || retry >= text.size())
      return false;
    inText = ++retry;
    inGlob = afterStar;
  }
  return true;
}

} // namespace backplane
