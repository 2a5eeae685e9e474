// SPDX-License-Identifier: Apache-2.0
//
// ContractGemv.h: one vector or a few times a matrix (GEMV): memory is the
// limit, so B is read in whole rows, a few at a time, and the sums stay in the
// nearest cache. Several rows take bytes of B in pairs of 16 bits,
// which one does not pay for. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTGEMV_H
#define BACKPLANE_EMIT_CPU_CONTRACTGEMV_H

#include "sdk/emit/cpu/ContractEpilogue.h"
#include "sdk/emit/cpu/ContractVnni.h"

namespace backplane {

class GemvBuilder : ContractScope {
public:
  explicit GemvBuilder(const ContractScope &scope);
  void run();

private:
  void forColumns(
      llvm::function_ref<void(mlir::Value column, mlir::Value mask)> body);
  mlir::Value sumAt(mlir::Value row, mlir::Value column);
  void addRows(mlir::Value firstK, int64_t rows);
  llvm::SmallVector<mlir::Value> lanesOfA(mlir::Value firstK, int64_t rows);
  mlir::Value pairOfA(mlir::Value at, int64_t count);
  llvm::SmallVector<mlir::Value> rowsOfB(llvm::ArrayRef<mlir::Value> starts,
                                         mlir::Value column, mlir::Value mask);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum);

  mlir::Value sums;         ///< per row and column of the group
  mlir::Value wholeColumns; ///< columns in whole vectors
  bool pairs;               ///< bytes are multiplied in pairs of 16 bits
  int64_t rowsAtOnce;       ///< rows of B
  VnniBuilder narrow;
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTGEMV_H
