// SPDX-License-Identifier: Apache-2.0
//
// FileHash.h: the bytes of a plug-in library, checked before they are mapped:
// who may change the file, and what it hashes to.
#ifndef BACKPLANE_CORE_FILEHASH_H
#define BACKPLANE_CORE_FILEHASH_H

#include "backplane/cpp/Result.h"

#include <span>
#include <string>

namespace backplane {

/// Why a library must not be loaded: it is no regular file, or others than its
/// owner may write it or its folder. OK when nothing speaks against it.
Status checkLibraryFile(const std::string &path);

/// XXH3-128 of a file's contents as 32 hexadecimal digits.
Result<std::string> xxhOfFile(const std::string &path);

/// SHA-256 of a file's contents as 64 hexadecimal digits.
Result<std::string> sha256OfFile(const std::string &path);

/// SHA-256 of some bytes as 64 hexadecimal digits.
std::string sha256(std::span<const uint8_t> data);

} // namespace backplane

#endif // BACKPLANE_CORE_FILEHASH_H
