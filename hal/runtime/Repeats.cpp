// SPDX-License-Identifier: Apache-2.0
#include "Repeats.h"

#include <algorithm>

namespace backplane::rt {

namespace {

constexpr size_t longest = 128;

/// How often a block repeats from `first` on, at least once.
size_t countOf(const std::vector<std::string> &items, size_t first,
               size_t length) {
  size_t end = first + length;
  while (end < items.size() && items[end] == items[end - length])
    ++end;
  return (end - first) / length;
}

Block blockAt(const std::vector<std::string> &items, size_t first) {
  Block best{first, 1, 1};
  size_t most = std::min(longest, (items.size() - first) / 2);
  for (size_t length = 1; length <= most; ++length) {
    size_t count = countOf(items, first, length);
    if ((count - 1) * length > (best.count - 1) * best.length)
      best = {first, length, count};
  }
  return best;
}

} // namespace

std::vector<Block> blocksOf(const std::vector<std::string> &items) {
  std::vector<Block> blocks;
  for (size_t first = 0; first < items.size();) {
    Block block = blockAt(items, first);
    first += block.length * block.count;
    blocks.push_back(block);
  }
  return blocks;
}

} // namespace backplane::rt
