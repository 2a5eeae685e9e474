// SPDX-License-Identifier: Apache-2.0
//
// ContractPlan.h: block sizes of a contraction. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTPLAN_H
#define BACKPLANE_EMIT_CPU_CONTRACTPLAN_H

#include <array>
#include <cstdint>

namespace backplane {

/// Sizes of a contraction; a negative one is known at run time only.
struct ContractShape {
  int64_t m = 1, n = 1, k = 1, outer = 1;
  int64_t lanes = 16;           ///< elements of a vector register
  int64_t registers = 32;       ///< vector registers
  int64_t cacheBytes = 1 << 20; ///< of the cache that packed blocks stay in
  bool gathersB = false;        ///< B is costly to pack
  bool rowsOfA = false;         ///< A could be read where it is
  int64_t blockOfA = 0;         ///< rows of A that are neighbours, 0: none are
  bool rowsOfB = false;         ///< B could be read where it is
  int64_t blockOfB = 0; ///< columns of B that are neighbours, 0: any or none
  int64_t gemvRows = 0; ///< rows of A up to which they may pass over those of B
  /// Columns up to which lanes may be elements of k, of which rows of A and
  /// columns of B are read vector by vector.
  int64_t dotColumns = 0;
  int64_t bytesOfB = 4;  ///< of an element
  int64_t perLane = 1;   ///< elements of k that a lane multiplies at once
  int64_t block = 1;     ///< rows, and words of k, that are multiplied at once
  int64_t deepest = 128; ///< elements of k in a block, at most
  int64_t window = 1;    ///< elements of k that a block has all of, or none
  bool copiesImage = false; ///< B is copied as an image
  /// Columns that a group copies beside its own, as windows reach there.
  int64_t halo = 0;
  bool fewRows = false; ///< a group has all of m: columns alone make groups
  /// For each number of rows of a micro tile, the share of its products that
  /// are left out, as all of its rows are padding there.
  std::array<double, 16> leftOut = {};
  /// Registers beside sums and B: an element of A, and a product where none is
  /// added at once.
  int64_t temporaries = 2;
  /// Rows of a tile register, which has a vector of columns; 0: none.
  int64_t tileRows = 0;
  int64_t tileDepth = 0; ///< elements of k that it multiplies at once
  /// What a vector of B counts for beside an element of A where it is put in
  /// order or widened as it is multiplied; 1: it is loaded as it is.
  int64_t loadsOfB = 1;
};

/// Blocks, from the inside out: a micro tile of rows x vectors in registers, a
/// depth of k that is packed at once, the tile of C of one work-group.
struct ContractPlan {
  int64_t rows = 1, vectors = 1;
  int64_t depth = 1;
  /// Elements from one row of packed A to the next, or column of B for dots.
  int64_t pitchA = 1;
  int64_t groupM = 1, groupN = 1;
  bool allOuter = false;    ///< a group has all of the outer loops
  int64_t window = 1;       ///< as in the shape
  bool gemv = false;        ///< few rows: B is read once, in whole rows
  bool dots = false;        ///< few columns: lanes are elements of k
  bool packA = true;        ///< else A is read where it is
  bool packB = true;        ///< else whole panels of B are read where they are
  bool packsInTile = false; ///< full panels of B are packed by their first tile
  bool fetchesRows = false; ///< A comes from memory: its rows are asked for
  /// Each tile of a group has all of its rows inside, so that sums of few
  /// products need no memory.
  bool wholeTiles = false;
  /// C is computed transposed: rows are pixels, which are its columns. The sums
  /// of all tiles are kept until it is finished.
  bool transposed = false;
};

ContractPlan planContraction(const ContractShape &shape);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTPLAN_H
