// SPDX-License-Identifier: Apache-2.0
//
// Fills.h: constants of one number as broadcasts of a scalar, which graphs of
// kernels have as an input. Private to sdk/kernels.
#ifndef BACKPLANE_KERNELS_FILLS_H
#define BACKPLANE_KERNELS_FILLS_H

#include "sdk/kernels/PatternPlan.h"

namespace bp {

/// While it lives, `main` has a scalar and a broadcast of it, which nothing
/// uses, before each such constant, where a plan broadcasts a scalar. What
/// nothing uses is gone with it.
class Fills {
public:
  Fills(mlir::func::FuncOp main, llvm::ArrayRef<PatternPlan> plans);
  ~Fills();
  Fills(const Fills &) = delete;
  Fills &operator=(const Fills &) = delete;

  /// The broadcast that equals a constant; null: there is none.
  mlir::Operation *broadcastOf(mlir::Operation *constant) const {
    return broadcasts_.lookup(constant);
  }
  /// The constant that a broadcast of ours equals; null: it is another op.
  mlir::Operation *constantOf(mlir::Operation *broadcast) const {
    return constants_.lookup(broadcast);
  }

private:
  void add(mlir::Operation *constant, mlir::Attribute number);

  llvm::DenseMap<mlir::Operation *, mlir::Operation *> broadcasts_, constants_;
};

} // namespace bp

#endif // BACKPLANE_KERNELS_FILLS_H
