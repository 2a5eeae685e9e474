// SPDX-License-Identifier: Apache-2.0
//
// RandomBits.h: random bits that are the same on every machine.
#ifndef BACKPLANE_CONFORMANCE_ORACLE_RANDOMBITS_H
#define BACKPLANE_CONFORMANCE_ORACLE_RANDOMBITS_H

#include <cstdint>

namespace backplane::conformance {

/// 64 random bits, a function of both (SplitMix64).
inline uint64_t randomBits(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_RANDOMBITS_H
