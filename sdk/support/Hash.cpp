// SPDX-License-Identifier: Apache-2.0
#include "Hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace backplane {

namespace {

constexpr size_t pieceBytes = 1 << 18;

/// Gives the contents of a file to `take`, piece by piece. It is read, not
/// mapped: a file may be cut off meanwhile.
Status
forEachPiece(const std::string &path,
             const std::function<void(std::span<const uint8_t> piece)> &take) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info = {};
  bool ok = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  std::vector<uint8_t> piece(ok ? pieceBytes : 0);
  while (ok) {
    ssize_t got = read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR)
      continue;
    ok = got >= 0;
    if (got <= 0)
      break;
    take({piece.data(), size_t(got)});
  }
  if (fd >= 0)
    close(fd);
  return ok ? Status() : notFound("cannot read " + path);
}

template <typename Word> std::string hexDigits(Word word) {
  std::string text;
  for (int shift = 8 * sizeof(Word) - 4; shift >= 0; shift -= 4)
    text += "0123456789abcdef"[word >> shift & 15];
  return text;
}

/// The state of FIPS 180-4's SHA-256.
class Sha256 {
public:
  void add(std::span<const uint8_t> bytes);
  /// The hash of everything that was added; ends it.
  std::string hex();

private:
  static constexpr size_t blockBytes = 64;

  void block(const uint8_t *bytes);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                    0xa54ff53a, 0x510e527f, 0x9b05688c,
                                    0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, blockBytes> rest_; ///< what fills no block yet
  uint64_t size_ = 0;                    ///< of all that was added
};

constexpr uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void Sha256::block(const uint8_t *bytes) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t(bytes[4 * i]) << 24 | uint32_t(bytes[4 * i + 1]) << 16 |
           uint32_t(bytes[4 * i + 2]) << 8 | bytes[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] +
           (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int i = 0; i < 64; ++i) {
    uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                  ((e & f) ^ (~e & g)) + roundConstants[i] + w[i];
    uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) +
                  ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const uint32_t round[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state_[i] += round[i];
}

void Sha256::add(std::span<const uint8_t> bytes) {
  size_t held = size_ % blockBytes;
  size_ += bytes.size();
  if (held) {
    size_t taken = std::min(bytes.size(), blockBytes - held);
    std::copy_n(bytes.begin(), taken, rest_.begin() + held);
    bytes = bytes.subspan(taken);
    if (held + taken < blockBytes)
      return;
    block(rest_.data());
  }
  for (; bytes.size() >= blockBytes; bytes = bytes.subspan(blockBytes))
    block(bytes.data());
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
}

std::string Sha256::hex() {
  uint64_t bits = size_ * 8;
  size_t held = size_ % blockBytes;
  std::array<uint8_t, blockBytes + 8> tail = {0x80};
  size_t zeros = (held < 56 ? 56 : 120) - held;
  for (size_t i = 0; i < 8; ++i)
    tail[zeros + i] = uint8_t(bits >> (56 - 8 * i));
  add({tail.data(), zeros + 8});
  std::string text;
  for (uint32_t word : state_)
    text += hexDigits(word);
  return text;
}

} // namespace

std::string sha256(std::span<const uint8_t> data) {
  Sha256 hash;
  hash.add(data);
  return hash.hex();
}

Result<std::string> sha256OfFile(const std::string &path) {
  Sha256 hash;
  Status status = forEachPiece(
      path, [&](std::span<const uint8_t> piece) { hash.add(piece); });
  return status.ok() ? Result<std::string>(hash.hex())
                     : Result<std::string>(status);
}

static Hash128 fromLibrary(XXH128_hash_t hash) {
  return {hash.low64, hash.high64};
}

std::string Hash128::hex() const { return hexDigits(high) + hexDigits(low); }

bool isHash(std::string_view text) {
  return text.size() == 32 &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

Hash128 hash128(std::span<const uint8_t> data, std::span<const uint8_t> more) {
  if (more.empty())
    return fromLibrary(XXH3_128bits(data.data(), data.size()));
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, data.data(), data.size());
  XXH3_128bits_update(&state, more.data(), more.size());
  return fromLibrary(XXH3_128bits_digest(&state));
}

std::string hashBytes(std::span<const uint8_t> data) {
  return hash128(data).hex();
}

uint64_t hash64(std::span<const uint8_t> data, uint64_t seed) {
  return XXH3_64bits_withSeed(data.data(), data.size(), seed);
}

Result<std::string> xxhOfFile(const std::string &path) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  Status status = forEachPiece(path, [&](std::span<const uint8_t> piece) {
    XXH3_128bits_update(&state, piece.data(), piece.size());
  });
  if (!status.ok())
    return status;
  return fromLibrary(XXH3_128bits_digest(&state)).hex();
}

} // namespace backplane
