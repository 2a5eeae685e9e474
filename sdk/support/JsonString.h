// SPDX-License-Identifier: Apache-2.0
//
// JsonString.h: text as a string of JSON, for what writes JSON by hand.
// Header-only: the command line tool has it too.
#ifndef BACKPLANE_SUPPORT_JSONSTRING_H
#define BACKPLANE_SUPPORT_JSONSTRING_H

#include <cstdio>
#include <string>
#include <string_view>

namespace backplane {

/// In quotes, with everything escaped that JSON wants escaped.
inline std::string jsonString(std::string_view text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\')
      (out += '\\') += char(c);
    else if (c < 0x20)
      out.append(escaped,
                 size_t(std::snprintf(escaped, sizeof escaped, "\\u%04x", c)));
    else
      out += char(c);
  }
  return out + '"';
}

} // namespace backplane

#endif // BACKPLANE_SUPPORT_JSONSTRING_H
