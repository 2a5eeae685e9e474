// SPDX-License-Identifier: Apache-2.0
//
// random_bits, word by word as the paper defines it: J. Salmon et al.,
// "Parallel Random Numbers: As Easy as 1, 2, 3" (2011), section 3.3.
#include "Value.h"

#include <array>

namespace backplane::conformance {

namespace {

using Words = std::array<uint32_t, 4>;

Words philox(Words counter, std::array<uint32_t, 2> key) {
  constexpr uint64_t multipliers[] = {0xD2511F53, 0xCD9E8D57};
  constexpr uint32_t weyl[] = {0x9E3779B9, 0xBB67AE85};
  for (uint32_t round = 0; round < 10; ++round) {
    Words next;
    for (size_t half = 0; half < 2; ++half) {
      uint64_t product = multipliers[1 - half] * counter[2 - 2 * half];
      uint32_t roundKey = key[half] + round * weyl[half];
      next[2 * half] =
          uint32_t(product >> 32) ^ counter[2 * half + 1] ^ roundKey;
      next[2 * half + 1] = uint32_t(product);
    }
    counter = next;
  }
  return counter;
}

uint32_t low(uint64_t bits) { return uint32_t(bits); }
uint32_t high(uint64_t bits) { return uint32_t(bits >> 32); }

Result<std::vector<Value>> randomBits(const Step &step) {
  const Value &key = step.operand(0), &counter = step.operand(1);
  if (!key.exact || !counter.exact)
    return unimplemented("random_bits of a key or counter that is not exact");
  uint64_t keyBits = key.bits[0], count = counter.bits[0];
  Value result = step.exact(step.dtype);
  for (size_t i = 0; i < result.bits.size(); ++i)
    result.bits[i] = philox({low(i / 4), high(i / 4), low(count), high(count)},
                            {low(keyBits), high(keyBits)})[i % 4];
  return one(std::move(result));
}

} // namespace

void addRandomRules(Rules &rules) {
  rules.insert({{"random_bits", randomBits}});
}

} // namespace backplane::conformance
