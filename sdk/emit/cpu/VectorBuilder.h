// SPDX-License-Identifier: Apache-2.0
//
// VectorBuilder.h: index arithmetic, loops, and vectors of one width, made at
// the insertion point of a builder. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_VECTORBUILDER_H
#define BACKPLANE_EMIT_CPU_VECTORBUILDER_H

#include "sdk/emit/cpu/VectorBody.h"

namespace backplane {

class VectorBuilder {
public:
  /// Makes the number of lanes at the insertion point, which so is visible to
  /// all that is made later.
  VectorBuilder(mlir::OpBuilder &builder, mlir::Location loc,
                VectorWidth width);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  VectorWidth width;
  mlir::Value laneCount;

  // Arithmetic of type `index`, constants folded.
  mlir::Value index(int64_t value) const;
  mlir::Value add(mlir::Value a, mlir::Value b) const;
  mlir::Value add(mlir::Value a, int64_t b) const { return add(a, index(b)); }
  mlir::Value sub(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, int64_t b) const { return mul(a, index(b)); }
  mlir::Value floorDiv(mlir::Value a, mlir::Value b) const;
  mlir::Value ceilDiv(mlir::Value a, mlir::Value b) const;
  mlir::Value mod(mlir::Value a, mlir::Value b) const;
  mlir::Value minimum(mlir::Value a, mlir::Value b) const;
  mlir::Value lessOrEqual(mlir::Value a, mlir::Value b) const;
  /// The largest multiple of `step` up to `count`.
  mlir::Value wholeSteps(mlir::Value count, mlir::Value step) const;

  // Structured control flow; the bodies are made where they belong.
  void forRange(mlir::Value low, mlir::Value high, mlir::Value step,
                llvm::function_ref<void(mlir::Value)> body) const;
  void forRange(mlir::Value low, mlir::Value high, int64_t step,
                llvm::function_ref<void(mlir::Value)> body) const {
    forRange(low, high, index(step), body);
  }
  /// The same loop with values that it carries: `body` gives those of the next
  /// iteration. Returns those after the last one.
  using Values = llvm::SmallVector<mlir::Value>;
  Values forCarrying(
      mlir::Value low, mlir::Value high, mlir::ValueRange values,
      llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body) const;
  void ifElse(mlir::Value condition, llvm::function_ref<void()> yes,
              llvm::function_ref<void()> no) const;
  /// What one of two branches makes.
  mlir::Value either(mlir::Value condition, mlir::Type type,
                     llvm::function_ref<mlir::Value()> yes,
                     llvm::function_ref<mlir::Value()> no) const;

  // Vectors and their memory.
  mlir::VectorType vectorType(mlir::Type type) const { return width.of(type); }
  /// The lanes of `vectors` vectors.
  mlir::Value lanesOf(int64_t vectors) const { return mul(laneCount, vectors); }
  mlir::Value broadcast(mlir::Value value) const {
    return broadcastTo(builder, loc, value, width);
  }
  mlir::Value zeroVector(mlir::Type type) const {
    return zeroVector(type, width);
  }
  mlir::Value zeroVector(mlir::Type type, VectorWidth lanes) const;
  mlir::Value laneMask(mlir::Value count) const {
    return laneMask(count, width);
  }
  mlir::Value laneMask(mlir::Value count, VectorWidth lanes) const;
  /// Memory of the work-group, rank 1.
  mlir::Value scratch(int64_t elements, mlir::Type type) const;
  /// The elements from `offset` on; lanes that a mask leaves out are zero. A
  /// null mask leaves out none.
  mlir::Value loadContiguous(mlir::Value base, mlir::Value offset,
                             mlir::Value mask) const {
    return loadContiguous(base, offset, mask, width);
  }
  mlir::Value loadContiguous(mlir::Value base, mlir::Value offset,
                             mlir::Value mask, VectorWidth lanes) const;
  void storeVector(mlir::Value value, mlir::Value base,
                   mlir::Value offset) const;
  /// One after the other.
  void storeVectors(llvm::ArrayRef<mlir::Value> values, mlir::Value base,
                    mlir::Value offset) const;
  /// The sum of two numbers or vectors, of floats or integers.
  mlir::Value addElements(mlir::Value a, mlir::Value b) const;
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_VECTORBUILDER_H
