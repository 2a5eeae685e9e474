// SPDX-License-Identifier: Apache-2.0
//
// Glob.h: patterns over ids of cases, devices and versions.
#ifndef BACKPLANE_SUPPORT_GLOB_H
#define BACKPLANE_SUPPORT_GLOB_H

#include <string_view>

namespace backplane {

/// Whether `text` as a whole matches `glob`: `*` is any text, `?` one byte,
/// `[abc]`, `[a-z]` and `[!x]` one byte of a set; all else stands for itself.
/// Takes any bytes, in time that no pattern makes more than the product of the
/// two lengths.
bool matchesGlob(std::string_view glob, std::string_view text);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_GLOB_H
