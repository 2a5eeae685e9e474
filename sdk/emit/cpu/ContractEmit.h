// SPDX-License-Identifier: Apache-2.0
//
// ContractEmit.h: the loops of a contraction on memrefs. Private to this
// folder.
//
//   for each work-group (outer, tile of n, tile of m):
//     for each block of k:
//       pack B: panels of [k][vectors * lanes], zero beyond the edge
//       pack A: panels of [rows][k]
//       (narrow factors stay narrow: words of several k in B; where an
//       instruction multiplies blocks, words of two rows side by side in A)
//       for each panel of B, for each panel of A:
//         multiply into registers, then add, finish and store
#ifndef BACKPLANE_EMIT_CPU_CONTRACTEMIT_H
#define BACKPLANE_EMIT_CPU_CONTRACTEMIT_H

#include "sdk/emit/cpu/ContractPlan.h"
#include "sdk/emit/cpu/Contraction.h"
#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/IR/Builders.h"

namespace backplane {

/// An operand as one run of elements: the index of an element is linear in the
/// loops.
struct FlatOperand {
  mlir::Value memref;                     ///< rank 1
  llvm::SmallVector<mlir::Value> strides; ///< per loop; null: 0
  bool unitStride(unsigned loop) const;
};

/// An axis of B whose index may lie in the padding.
struct PaddedAxis {
  llvm::SmallVector<int64_t> factors; ///< of the index, per loop
  mlir::Value low, size;
  mlir::Value lanesBase; ///< memref<roomN x i32>: the share of n in the index
};

/// vscale is at most this: vectors of 2048 bits.
inline constexpr int64_t kMostScale = 16;

/// How the machine adds products of narrow factors to 32 bits.
struct NarrowProducts {
  /// What the names of LLVM's intrinsics begin with: "llvm.aarch64.neon".
  std::string intrinsics;
  /// What there is of them, without signs: "dot" and "mmla" of bytes, "usdot"
  /// for mixed signs, "bfmlal" and "bfmmla".
  llvm::SmallVector<std::string> names;
  bool has(llvm::StringRef name) const {
    return llvm::is_contained(names, name);
  }
};

/// How a contraction uses them.
struct WordPlan {
  mlir::Type factor;   ///< i8 or bf16; null: factors are as wide as sums
  int64_t perWord = 1; ///< elements of k in a lane of B
  /// 2: an instruction multiplies two rows by two columns, of which each has
  /// two words of k.
  int64_t block = 1;
};

/// State shared by the parts of the emitter.
struct ContractEmitter {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  Contraction c;
  ContractPlan plan;
  VectorWidth width;
  mlir::Value laneCount; ///< of a vector of `element`
  mlir::Type element;    ///< of sums, and of packed panels
  NarrowProducts products;
  WordPlan words;
  llvm::SmallVector<mlir::Value> sizes; ///< per loop
  FlatOperand a, b;
  llvm::SmallVector<FlatOperand> destinations; ///< per result
  llvm::SmallVector<FlatOperand> epilogue;
  llvm::SmallVector<PaddedAxis> padded;
  mlir::Value sizeM, sizeN, sizeK;
  mlir::Value packedA, packedB, tile; ///< rank 1
  mlir::Value sums;       ///< partial C of the group, null: not needed
  mlir::Value laneOffset; ///< memref<roomN x i32>: the share of n in B's index
  llvm::SmallVector<mlir::Value> outer; ///< index per outer loop
  mlir::Value firstM, firstN, countM, countN;

  ContractEmitter(mlir::OpBuilder &builder, Contraction contraction,
                  VectorWidth width, int64_t registers,
                  NarrowProducts products);

  /// Elements of k that the kernel multiplies at once.
  int64_t stepK() const { return words.perWord * words.block; }
  /// Rows of packed B for each block of k.
  int64_t depthB() const { return plan.depth / words.perWord; }

  /// The lanes of `vectors` vectors, and of a panel of B.
  mlir::Value lanesOf(int64_t vectors) { return mul(laneCount, vectors); }
  mlir::Value panelN() { return lanesOf(plan.vectors); }
  /// What these can be at most: memory is made before the machine is known.
  int64_t maxLanes() const {
    return width.scalable ? width.count * kMostScale : width.count;
  }
  int64_t maxPanelN() const { return plan.vectors * maxLanes(); }
  /// Columns of a group, rounded up to whole panels.
  int64_t roomN() const {
    return width.scalable ? plan.groupN + maxPanelN() : plan.groupN;
  }
  mlir::VectorType vectorType(mlir::Type type) const { return width.of(type); }

  void run();

  // ContractEmit.cpp
  void flatten(const ContractionOperand &operand, FlatOperand &flat);
  void readShape(ContractShape &shape);
  void emitGroup(mlir::ValueRange ids);
  void allocate();
  void emitBlock(mlir::Value firstK, mlir::Value countK);

  // ContractPack.cpp
  void packRowsOfA(mlir::Value firstK, mlir::Value countK);
  /// What a row of A is copied by.
  VectorWidth chunkOfA() const;
  mlir::Value placeInA(mlir::Value row, mlir::Value k);
  void prepareLanes();
  void packB(mlir::Value firstK, mlir::Value countK);
  void packPanel(mlir::Value panel, mlir::Value firstK, mlir::Value countK,
                 bool full);
  /// What a panel of B has in row k, before it is converted.
  using ReadRow =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value k)>;
  void storeRows(mlir::Value to, mlir::Value countK, ReadRow read);
  mlir::Value axisStride(unsigned axis);
  mlir::Value loadContiguous(mlir::Value base, mlir::Value offset,
                             mlir::Value mask) {
    return loadContiguous(base, offset, mask, width);
  }
  mlir::Value loadContiguous(mlir::Value base, mlir::Value offset,
                             mlir::Value mask, VectorWidth lanes);
  mlir::Value convertLeft(mlir::Value value);
  mlir::Value convertRight(mlir::Value value);

  // ContractVnni.cpp
  void storeWords(mlir::Value to, mlir::Value firstK, mlir::Value countK,
                  bool whole, ReadRow read);
  mlir::Value wordOfK(mlir::Value firstK, mlir::Value countK, bool whole,
                      size_t vector, llvm::ArrayRef<mlir::Value> factors);
  mlir::Value wordsOfA(mlir::Value memref, mlir::Value at);
  mlir::Value addNarrow(mlir::Value a, mlir::Value b, mlir::Value sum);
  mlir::Value callProduct(llvm::StringRef name, mlir::ValueRange operands);
  std::pair<mlir::Value, mlir::Value> rowsOfPair(mlir::Value low,
                                                 mlir::Value high);
  void storePairs(mlir::ValueRange sums);

  // ContractKernel.cpp
  /// Where the micro kernel reads: element (row, k) of A at
  /// start + row * rowStride + k, vector v of row k of B at
  /// start + k * rowStride + v * lanes.
  struct Source {
    mlir::Value memref, start, rowStride;
  };
  void multiply(const Source &fromA, const Source &fromB, mlir::Value countK);
  llvm::SmallVector<mlir::Value> addProducts(const Source &fromA,
                                             const Source &fromB, mlir::Value k,
                                             mlir::ValueRange sums);
  mlir::Value factorOfA(mlir::Value memref, mlir::Value at);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum);
  Source sourceA(mlir::Value panelA, mlir::Value firstK);
  Source sourceB(mlir::Value panelB, mlir::Value firstK);
  mlir::Value isFull(mlir::Value panelB);
  void emitMicroTile(mlir::Value panelB, mlir::Value panelA, mlir::Value countK,
                     mlir::Value firstK);
  void emitStream();
  void streamRows(mlir::Value firstK, int64_t rows, mlir::Value whole);
  void finishTile(mlir::Value panelB, mlir::Value panelA, mlir::Value firstK,
                  mlir::Value last);
  void finishRow(mlir::Value panelB, mlir::Value row, mlir::Value tileRow,
                 mlir::Value firstK, bool last, bool full);
  mlir::Value firstRow(mlir::Value panelA);
  void finishVector(mlir::Value sum, mlir::Value m, mlir::Value n,
                    mlir::Value mask);
  llvm::SmallVector<mlir::Value> runEpilogue(mlir::Value sum, mlir::Value m,
                                             mlir::Value n, mlir::Value mask);
  mlir::Value elementOf(const FlatOperand &operand, mlir::Value m,
                        mlir::Value n);

  // Small helpers.
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, index(b)); }
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b) { return mul(a, index(b)); }
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  mlir::Value zeroVector(mlir::Type type) { return zeroVector(type, width); }
  mlir::Value zeroVector(mlir::Type type, VectorWidth lanes);
  mlir::Value laneMask(mlir::Value count) { return laneMask(count, width); }
  mlir::Value laneMask(mlir::Value count, VectorWidth lanes);
  mlir::Value scratch(int64_t elements, mlir::Type type);
  void forRange(mlir::Value low, mlir::Value high, mlir::Value step,
                llvm::function_ref<void(mlir::Value)> body);
  void forRange(mlir::Value low, mlir::Value high, int64_t step,
                llvm::function_ref<void(mlir::Value)> body) {
    forRange(low, high, index(step), body);
  }
  /// The largest multiple of the lanes up to `count`.
  mlir::Value wholeLanes(mlir::Value count) {
    return wholeSteps(count, laneCount);
  }
  /// The largest multiple of `step` up to `count`.
  mlir::Value wholeSteps(mlir::Value count, mlir::Value step);
  /// The least multiple of a panel from `count` on.
  mlir::Value wholePanels(mlir::Value count);
  void ifElse(mlir::Value condition, llvm::function_ref<void()> yes,
              llvm::function_ref<void()> no);
  /// `linear` as indices of `loops`, last one fastest.
  llvm::SmallVector<mlir::Value> split(mlir::Value linear,
                                       llvm::ArrayRef<unsigned> loops);
  /// Element index: the sum of index times stride over `loops`.
  mlir::Value dot(const FlatOperand &operand, llvm::ArrayRef<unsigned> loops,
                  mlir::ValueRange indices);
  /// Stride of the merged loop of a group.
  mlir::Value groupStride(const FlatOperand &operand,
                          llvm::ArrayRef<unsigned> loops);
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTEMIT_H
