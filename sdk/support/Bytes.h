// SPDX-License-Identifier: Apache-2.0
//
// Bytes.h: bytes that somebody owns.
#ifndef BACKPLANE_SUPPORT_BYTES_H
#define BACKPLANE_SUPPORT_BYTES_H

#include <cstdint>
#include <vector>

namespace backplane {

using Bytes = std::vector<uint8_t>;

} // namespace backplane

#endif // BACKPLANE_SUPPORT_BYTES_H
