// SPDX-License-Identifier: Apache-2.0
//
// Hash.h: hashes of bytes and of files.
#ifndef BACKPLANE_SUPPORT_HASH_H
#define BACKPLANE_SUPPORT_HASH_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace backplane {

/// XXH3-128, for contents that nobody forges.
struct Hash128 {
  uint64_t low = 0, high = 0;

  bool operator==(const Hash128 &) const = default;
  /// 32 hexadecimal digits.
  std::string hex() const;
};

/// Whether a text is what Hash128::hex may return.
bool isHash(std::string_view text);

/// Of some bytes and others after them.
Hash128 hash128(std::span<const uint8_t> data,
                std::span<const uint8_t> more = {});

/// hash128 as text.
std::string hashBytes(std::span<const uint8_t> data);

/// XXH3-64.
uint64_t hash64(std::span<const uint8_t> data, uint64_t seed = 0);

/// XXH3-128 of a file's contents as 32 hexadecimal digits.
Result<std::string> xxhOfFile(const std::string &path);

/// SHA-256 of a file's contents as 64 hexadecimal digits.
Result<std::string> sha256OfFile(const std::string &path);

/// SHA-256 of some bytes as 64 hexadecimal digits.
std::string sha256(std::span<const uint8_t> data);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_HASH_H
