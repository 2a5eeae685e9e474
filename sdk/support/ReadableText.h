// SPDX-License-Identifier: Apache-2.0
//
// ReadableText.h: text that came from a model, a file or another program, as
// people are shown it: on one line, without control characters, not endless.
#ifndef BACKPLANE_SUPPORT_READABLETEXT_H
#define BACKPLANE_SUPPORT_READABLETEXT_H

#include <string>
#include <string_view>

namespace backplane {

/// Control characters and bytes that are no UTF-8 as \n, \t or \xNN; the middle
/// of what is longer than `most` bytes is left out.
std::string readable(std::string_view text, size_t most = 160);

/// A message with every 'quoted' piece made readable, and then all of it.
std::string readableMessage(std::string_view message);

/// Lines of text with every word of them made readable.
std::string readableLines(std::string_view text);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_READABLETEXT_H
