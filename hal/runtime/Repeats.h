// SPDX-License-Identifier: Apache-2.0
//
// Repeats.h: blocks of a list that follow one another several times, as the
// layers of a model do, so that a text can show each once.
#ifndef BACKPLANE_HAL_RUNTIME_REPEATS_H
#define BACKPLANE_HAL_RUNTIME_REPEATS_H

#include <string>
#include <vector>

namespace backplane::rt {

/// `count` times `length` items from `first` on.
struct Block {
  size_t first = 0, length = 1, count = 1;
};

/// The list in blocks, in order. At each place the block is taken that leaves
/// out most items, the shortest of these; a block has at most 128 items. Time
/// is proportional to the number of items.
std::vector<Block> blocksOf(const std::vector<std::string> &items);

} // namespace backplane::rt

#endif // BACKPLANE_HAL_RUNTIME_REPEATS_H
