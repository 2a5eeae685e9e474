// SPDX-License-Identifier: Apache-2.0
//
// FileHash.h: what the contents of a file hash to.
#ifndef BACKPLANE_CORE_FILEHASH_H
#define BACKPLANE_CORE_FILEHASH_H

#include "backplane/cpp/Result.h"

#include <span>
#include <string>

namespace backplane {

/// XXH3-128 of a file's contents as 32 hexadecimal digits.
Result<std::string> xxhOfFile(const std::string &path);

/// SHA-256 of a file's contents as 64 hexadecimal digits.
Result<std::string> sha256OfFile(const std::string &path);

/// SHA-256 of some bytes as 64 hexadecimal digits.
std::string sha256(std::span<const uint8_t> data);

} // namespace backplane

#endif // BACKPLANE_CORE_FILEHASH_H
