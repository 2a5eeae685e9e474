// SPDX-License-Identifier: Apache-2.0
//
// Constants.h: which values depend on weights and constants only.
#ifndef BACKPLANE_OPTIMIZE_CONSTANTS_H
#define BACKPLANE_OPTIMIZE_CONSTANTS_H

#include "sdk/dialect/Convert.h"

namespace bp {

/// Whether the value is the same in every call: computed by pure ops from
/// weights and constants, with static shapes all the way. Remembers answers;
/// use one object while the IR does not change.
class ConstantAnalysis {
public:
  bool isConstant(mlir::Value value);

private:
  llvm::DenseMap<mlir::Operation *, bool> known_;
};

/// The same answer from the ops in front of the value, at most
/// `maxConstantOps` of them: more are taken to depend on an input. For use
/// while the IR changes.
inline constexpr size_t maxConstantOps = 1000;
bool isConstant(mlir::Value value);

/// Whether constantAlongAxis would give a value.
bool isConstantAlongAxis(mlir::Value value, int64_t axis);

/// The values along one axis of a constant tensor that is the same along all
/// others: a rank-1 value of that axis's size, made from the operand of a
/// broadcast or from a splat. Null when the value has another form.
mlir::Value constantAlongAxis(mlir::OpBuilder &builder, mlir::Value value,
                              int64_t axis);

} // namespace bp

#endif // BACKPLANE_OPTIMIZE_CONSTANTS_H
