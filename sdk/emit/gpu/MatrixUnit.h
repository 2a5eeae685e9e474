// SPDX-License-Identifier: Apache-2.0
//
// MatrixUnit.h: the matrix instructions of a GPU, as a table that its vendor
// writes, and how they are emitted. bp-gpu-contract asks the dialect that its
// option `matrix-unit` names for this interface; nothing else knows a vendor.
//
// A subgroup multiplies together: each invocation of it, a lane, holds a part
// of each matrix, a fragment, in words of 32 bits. The elements of a word are
// neighbours along k.
#ifndef BACKPLANE_EMIT_GPU_MATRIXUNIT_H
#define BACKPLANE_EMIT_GPU_MATRIXUNIT_H

#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace backplane {

/// TF32: an f32 that is rounded to 11 significant bits when it is multiplied.
enum class MatrixElement : uint8_t { F16, BF16, TF32, S8, U8, F32, S32 };

/// Bytes of an element.
constexpr int64_t bytesOf(MatrixElement element) {
  return element == MatrixElement::F16 || element == MatrixElement::BF16 ? 2
         : element == MatrixElement::S8 || element == MatrixElement::U8  ? 1
                                                                         : 4;
}

/// A place in a matrix: a row of A or C and a column of B count as rows; the
/// other axis is k for A and B, n for C.
struct MatrixPlace {
  int64_t row, column;
};

/// Which elements a lane has: that of number e in lane l is where the entries
/// of the bits that are set in l and in e add up to.
struct FragmentLayout {
  llvm::ArrayRef<MatrixPlace> lane, element;

  int64_t elements() const { return int64_t(1) << element.size(); }
  MatrixPlace placeOf(int64_t number) const {
    MatrixPlace place = {0, 0};
    for (auto [bit, part] : llvm::enumerate(element))
      if (number >> bit & 1)
        place = {place.row + part.row, place.column + part.column};
    return place;
  }
};

/// C += A * B, of one subgroup, or of several (MemoryProducts).
struct MatrixInstruction {
  MatrixElement a, b, sum;
  int64_t m, n, k;
  FragmentLayout layoutA, layoutB, layoutC;

  /// Those that compute it together.
  int64_t lanes() const { return int64_t(1) << layoutC.lane.size(); }
};

/// Loads of fragments by which lanes load for each other.
class LineLoads {
public:
  /// Lines of a piece of a factor, and bytes of each.
  static constexpr int64_t kLines = 8, kBytes = 16;

  virtual ~LineLoads() = default;
  /// Loads `count` words, 1, 2 or 4. Lanes 8i to 8i + 7 have the addresses of
  /// the lines of piece i in memory of the work-group, in bytes. Word i of lane
  /// l is word l % 4 of line l / 4 of piece i; transposed, where elements have
  /// 16 bits, elements 2 (l % 4) and the next of column l / 4.
  virtual llvm::SmallVector<mlir::Value> load(mlir::ImplicitLocOpBuilder &b,
                                              mlir::Value address,
                                              int64_t count,
                                              bool transposed) const = 0;
};

/// Copies of lines to memory of the work-group that need no registers, and go
/// on while a lane does something else.
class LineCopies {
public:
  virtual ~LineCopies() = default;
  /// Begins to copy a line of 16 bytes from memory of a binding; `bytes`, null
  /// for all, are read, zeros follow. Addresses are in bytes.
  virtual void copy(mlir::ImplicitLocOpBuilder &b, mlir::Value to,
                    mlir::Value from, mlir::Value bytes) const = 0;
  /// The copies since the last group are a group.
  virtual void endGroup(mlir::ImplicitLocOpBuilder &b) const = 0;
  /// Waits until no more than the last `open` groups of this lane are under
  /// way.
  virtual void waitForGroups(mlir::ImplicitLocOpBuilder &b,
                             int64_t open) const = 0;
};

/// A tensor in a binding, as copies of blocks take it: axis 0 is the innermost
/// one, whose neighbours lie side by side.
struct TensorInBinding {
  unsigned binding;
  MatrixElement element;
  llvm::SmallVector<int64_t> sizes;   ///< elements of each axis
  llvm::SmallVector<int64_t> strides; ///< bytes, of each axis but the first
  int64_t lineElements;               ///< of a block, along axis 0
  int64_t lines;                      ///< of a block, along axis 1
};

/// Copies of blocks of a tensor that one invocation begins for its work-group.
/// A block has lines of MemoryProducts::kLineBytes and lies as MatrixInMemory
/// has them; what is beyond an edge of the tensor is zeros.
class BlockCopies {
public:
  static constexpr size_t kMostAxes = 5;
  /// Of lines; bytes that strides are multiples of.
  static constexpr int64_t kMostLines = 256, kStrideBytes = 16;
  /// Bytes of a barrier, which counts what was copied.
  static constexpr int64_t kBarrierBytes = 8;

  virtual ~BlockCopies() = default;
  /// Makes barriers in memory of the work-group; once, by one invocation, in
  /// front of a barrier of all.
  virtual void makeBarriers(mlir::ImplicitLocOpBuilder &b,
                            mlir::ValueRange addresses) const = 0;
  /// A barrier's next phase ends when so many bytes were copied.
  virtual void expect(mlir::ImplicitLocOpBuilder &b, mlir::Value barrier,
                      int64_t bytes) const = 0;
  /// Begins to copy the block whose first element has these indices, axis 0
  /// first. Addresses are in bytes.
  virtual void copy(mlir::ImplicitLocOpBuilder &b, mlir::Value to,
                    mlir::Value barrier, const TensorInBinding &tensor,
                    mlir::ValueRange indices) const = 0;
  /// Waits for the end of a phase, 0 or 1 in turn; by all invocations.
  virtual void wait(mlir::ImplicitLocOpBuilder &b, mlir::Value barrier,
                    mlir::Value phase) const = 0;
};

/// A factor in memory of the work-group, from one element on. Lines have 128
/// bytes and lie one behind the other; piece p of 16 bytes of line l is where
/// piece p ^ l % 8 would be.
struct MatrixInMemory {
  mlir::Value address; ///< in bytes
  bool alongK;         ///< a line has neighbours along k; else those of a row
  /// Where lines are not along k: from what has the first elements of rows to
  /// what has the next, in bytes.
  int64_t panelBytes;
};

/// Products of several subgroups together, which read both factors from memory
/// of the work-group and go on while their lanes do something else. Until
/// finish() nothing but a product may use their sums.
class MemoryProducts {
public:
  /// Bytes of a line, and of what the first of eight lines begins at a multiple
  /// of.
  static constexpr int64_t kLineBytes = 128, kAlignment = 1024;

  virtual ~MemoryProducts() = default;
  /// B has no layout. A has that of lanes which hold it themselves.
  virtual llvm::ArrayRef<MatrixInstruction> instructions() const = 0;
  /// What this lane has copied or written to memory, products behind the next
  /// barrier see.
  virtual void publish(mlir::ImplicitLocOpBuilder &b) const = 0;
  /// In front of the first product of a group: what its products have in
  /// registers, sums of 32 bits and words.
  virtual llvm::SmallVector<mlir::Value>
  beginGroup(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange values) const = 0;
  /// Begins a product; the sums, one value each.
  virtual llvm::SmallVector<mlir::Value>
  multiply(mlir::ImplicitLocOpBuilder &b, const MatrixInstruction &instruction,
           const MatrixInMemory &left, const MatrixInMemory &right,
           mlir::ValueRange sums) const = 0;
  /// The same where lanes hold A.
  virtual llvm::SmallVector<mlir::Value>
  multiply(mlir::ImplicitLocOpBuilder &b, const MatrixInstruction &instruction,
           mlir::ValueRange wordsA, const MatrixInMemory &right,
           mlir::ValueRange sums) const = 0;
  virtual void endGroup(mlir::ImplicitLocOpBuilder &b) const = 0;
  /// Waits until no more than the last `open` groups are under way.
  virtual void waitForGroups(mlir::ImplicitLocOpBuilder &b,
                             int64_t open) const = 0;
  /// The same; these values, which anything may use from then on.
  virtual llvm::SmallVector<mlir::Value> finish(mlir::ImplicitLocOpBuilder &b,
                                                mlir::ValueRange values,
                                                int64_t open = 0) const = 0;
};

/// Lines of a matrix in memory of the work-group: its rows, or its columns,
/// one every `distance` words, elements side by side.
struct MatrixLines {
  mlir::Value memory; ///< words of 32 bits
  mlir::Value first;  ///< the word that the first line begins with
  int64_t distance;
  bool ofRows; ///< else of columns; B has k rows
};

/// Products of a subgroup whose lanes have nobody knows which elements: it
/// loads factors from memory of the work-group and stores sums there. A matrix
/// is one value.
class OpaqueMatrices {
public:
  /// Of a subgroup. Targets with opaque matrices run where there are so many.
  static constexpr int64_t kLanes = 32;
  /// What lines begin at multiples of.
  static constexpr int64_t kLineWords = 4;
  enum class Factor : uint8_t { A, B };

  virtual ~OpaqueMatrices() = default;
  /// Without layouts.
  virtual llvm::ArrayRef<MatrixInstruction> instructions() const = 0;
  virtual mlir::Value load(mlir::ImplicitLocOpBuilder &b,
                           const MatrixInstruction &instruction, Factor factor,
                           const MatrixLines &lines) const = 0;
  /// Sums that are this number, all of them.
  virtual mlir::Value fill(mlir::ImplicitLocOpBuilder &b,
                           const MatrixInstruction &instruction,
                           mlir::Value number) const = 0;
  /// The sums after the product.
  virtual mlir::Value multiply(mlir::ImplicitLocOpBuilder &b, mlir::Value left,
                               mlir::Value right, mlir::Value sums) const = 0;
  virtual void store(mlir::ImplicitLocOpBuilder &b, mlir::Value sums,
                     const MatrixLines &lines) const = 0;
};

class MatrixUnit : public mlir::DialectInterface::Base<MatrixUnit> {
public:
  explicit MatrixUnit(mlir::Dialect *dialect) : Base(dialect) {}

  /// Those of fragments; none where all matrices are opaque.
  virtual llvm::ArrayRef<MatrixInstruction> instructions() const = 0;
  /// The sums, one value each, after the product of these words.
  virtual llvm::SmallVector<mlir::Value>
  multiply(mlir::ImplicitLocOpBuilder &b, const MatrixInstruction &instruction,
           mlir::ValueRange wordsA, mlir::ValueRange wordsB,
           mlir::ValueRange sums) const = 0;

  /// Two f32 as 16-bit floats in a word, the first in the lower bits, and such
  /// a word as two f32.
  virtual mlir::Value pack(mlir::ImplicitLocOpBuilder &b, mlir::Type half,
                           mlir::Value first, mlir::Value second) const;
  virtual std::pair<mlir::Value, mlir::Value>
  unpack(mlir::ImplicitLocOpBuilder &b, mlir::Type half,
         mlir::Value word) const;
  /// exp(x * scale) in f32, times what `shift` stands for: for weights, at most
  /// 2^15, within 2^-20 of themselves or 2^-40.
  virtual mlir::Value exp(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                          double scale, mlir::Value shift) const;
  /// The shift that stands for exp(-top * scale) * 2^exponent.
  virtual mlir::Value shift(mlir::ImplicitLocOpBuilder &b, mlir::Value top,
                            double scale, int64_t exponent) const;
  /// What a difference of two shifts stands for.
  virtual mlir::Value shiftBy(mlir::ImplicitLocOpBuilder &b,
                              mlir::Value difference) const;

  /// Null: each lane loads its own words.
  virtual const LineLoads *lineLoads() const { return nullptr; }
  /// Null: factors come through registers.
  virtual const LineCopies *lineCopies() const { return nullptr; }
  /// Null: all products are of fragments.
  virtual const MemoryProducts *memoryProducts() const { return nullptr; }
  /// Null: lanes copy what memoryProducts() read.
  virtual const BlockCopies *blockCopies() const { return nullptr; }
  /// Null: the places of all elements are known. Else for what instructions()
  /// do not multiply.
  virtual const OpaqueMatrices *opaqueMatrices() const { return nullptr; }

  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MatrixUnit)
};

/// Elements as words, the first in the lowest bits.
llvm::SmallVector<mlir::Value> packWords(mlir::ImplicitLocOpBuilder &b,
                                         mlir::ValueRange elements,
                                         int64_t inWord);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_MATRIXUNIT_H
