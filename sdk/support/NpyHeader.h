// SPDX-License-Identifier: Apache-2.0
//
// NpyHeader.h: the dictionary at the front of a .npy file.
#ifndef BACKPLANE_SUPPORT_NPYHEADER_H
#define BACKPLANE_SUPPORT_NPYHEADER_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

/// What it says; a header that was read says all three.
struct NpyHeader {
  std::optional<std::string> descr;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<int64_t>> shape; ///< at most 64 sizes
};

/// Reads the dictionary, which is a literal of Python: the three keys, each
/// once, in any order, and nothing else. None when it is not as it should be.
std::optional<NpyHeader> parseNpyHeader(std::string_view text);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_NPYHEADER_H
