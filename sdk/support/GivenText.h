// SPDX-License-Identifier: Apache-2.0
//
// GivenText.h: texts that a plug-in gives, before their bytes are used.
#ifndef BACKPLANE_SUPPORT_GIVENTEXT_H
#define BACKPLANE_SUPPORT_GIVENTEXT_H

#include "backplane/abi.h"

namespace backplane {

/// Bytes that a text of a plug-in may have.
inline constexpr uint64_t maxGivenTextBytes = 1u << 16;

/// Whether a text is empty, or is there and not too long.
inline bool isReadable(bp_string_t text) {
  return text.size == 0 || (text.data && text.size <= maxGivenTextBytes);
}

} // namespace backplane

#endif // BACKPLANE_SUPPORT_GIVENTEXT_H
