// SPDX-License-Identifier: Apache-2.0
//
// ContractGemv.h: one vector or a few times a matrix (GEMV): memory is the
// limit, so B is read in whole rows, a few at a time, and the sums stay in the
// nearest cache. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTGEMV_H
#define BACKPLANE_EMIT_CPU_CONTRACTGEMV_H

#include "sdk/emit/cpu/ContractEpilogue.h"

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

  mlir::Value sums;         ///< per row and column of the group
  mlir::Value wholeColumns; ///< columns in whole vectors
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTGEMV_H
