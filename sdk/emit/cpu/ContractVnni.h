// SPDX-License-Identifier: Apache-2.0
//
// ContractVnni.h: narrow operands, for machines that multiply several of them
// at once. Private to this folder.
//
// VNNI packing: a 32-bit lane of packed B has several neighbours in k, of
// bytes, 16-bit integers or bf16, which an instruction multiplies and adds up.
// Bytes are widened to 16 bits on the way where none multiplies them exactly.
// Where an instruction
// multiplies blocks, it takes two such lanes of each of two rows, and of each
// of two columns, from every 128 bits, and returns 2 x 2 sums. So the lanes of
// a step of B alternate, and so do rows of A; the sums are told apart after the
// loop.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTVNNI_H
#define BACKPLANE_EMIT_CPU_CONTRACTVNNI_H

#include "sdk/emit/cpu/ContractScope.h"

namespace backplane {

/// Row k of a panel of B as it is stored: one vector for each of the panel's.
using RowReader =
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value k)>;

class VnniBuilder : ContractScope {
public:
  explicit VnniBuilder(const ContractScope &scope) : ContractScope(scope) {}

  /// Packs one step of the kernel: what a panel, which begins at element `to`
  /// of `packedB`, has from element firstK of k on. Unless `whole`, elements
  /// from countK on are zero.
  void packStep(mlir::Value packedB, mlir::Value to, mlir::Value firstK,
                mlir::Value countK, bool whole, RowReader read);
  /// Two vectors of bytes of B as 16 bits, neighbours in each lane.
  mlir::Value widenPairs(llvm::ArrayRef<mlir::Value> elements);
  /// Lanes of packed B, each with as many elements as an instruction multiplies
  /// in one: `elements[i]` are the i-th ones.
  mlir::Value packElements(llvm::ArrayRef<mlir::Value> elements);
  /// Lanes of B from bytes of a block of columns, which are read row by row: as
  /// many columns as a vector has lanes, from `column` of the block on.
  mlir::Value lanesOfBlock(mlir::Value block, int64_t column);
  /// Lanes of B from bytes that lie as an instruction multiplies them, which
  /// may widen them first.
  mlir::Value loadLanes(mlir::Value memref, mlir::Value at);
  /// A lane of A for all lanes; of a block of rows, the same in all 128 bits.
  mlir::Value broadcastA(mlir::Value memref, mlir::Value at);
  /// sum + a * b.
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum);
  /// The sums of pairs of rows, row by row.
  llvm::SmallVector<mlir::Value> sumsByRow(mlir::ValueRange sums);

private:
  mlir::Value permuteBytes(mlir::Value bytes, llvm::ArrayRef<int64_t> order);
  mlir::Value stackElements(llvm::ArrayRef<mlir::Value> elements);
  mlir::Value multiplyAddAvx(mlir::Value a, mlir::Value b, mlir::Value sum);
  mlir::Value callAvx(llvm::StringRef name, mlir::ValueRange operands);
  mlir::Value packLanes(mlir::Value firstK, mlir::Value countK, bool whole,
                        size_t group, llvm::ArrayRef<mlir::Value> elements);
  mlir::Value callProduct(llvm::StringRef name, mlir::ValueRange operands);
  std::pair<mlir::Value, mlir::Value> rowsOfPair(mlir::Value low,
                                                 mlir::Value high);
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTVNNI_H
