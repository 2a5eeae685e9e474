// SPDX-License-Identifier: Apache-2.0
//
// ElementReader.h: code for one element of a tensor, on demand, through
// everything that it was computed from. Private to this folder.
//
// Nothing is stored in between: an element that is needed twice at different
// indices is computed twice, a reduction is a loop that carries its sum.
#ifndef BACKPLANE_EMIT_GPU_ELEMENTREADER_H
#define BACKPLANE_EMIT_GPU_ELEMENTREADER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>

namespace backplane {

class ElementReader {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

  /// Code goes where `builder` stands; it may be moved between the calls, into
  /// blocks that the earlier ones dominate.
  explicit ElementReader(mlir::OpBuilder &builder) : builder(builder) {}

  /// The element of `tensor` at these indices; null, after a diagnostic, where
  /// an op is met that has no elements by themselves.
  Value read(Value tensor, mlir::ValueRange at);

  /// Runs the body of an op for these values of all its loops.
  mlir::FailureOr<Values> runBody(mlir::linalg::GenericOp op,
                                  mlir::ValueRange loops,
                                  mlir::ValueRange outputs);

  /// The element of an operand of `op` for these values of the loops that its
  /// map names; null after a diagnostic.
  Value operand(mlir::linalg::GenericOp op, mlir::OpOperand &operand,
                mlir::ValueRange loops);

  /// From here on, whatever element of `tensor` is read, it is this one.
  void know(Value tensor, Value element) {
    known[{tensor.getAsOpaquePointer()}] = element;
  }

  /// The size of an axis, as index. It is computed behind the tensor, so that
  /// it dominates all code that reads it: upstream patterns that cancel
  /// linearize_index and delinearize_index use sizes of either for both.
  Value size(mlir::Location loc, Value tensor, int64_t axis);
  /// The trip counts of all loops.
  Values loopSizes(mlir::linalg::GenericOp op);

  /// What was read while this lives is forgotten with it: code in a region is
  /// of no use behind it.
  class Scope {
  public:
    explicit Scope(ElementReader &reader)
        : reader(reader), known(reader.known) {}
    ~Scope() { reader.known = std::move(known); }

  private:
    ElementReader &reader;
    std::map<std::vector<void *>, Value> known;
  };

private:
  using Builder = mlir::ImplicitLocOpBuilder;

  Value compute(mlir::OpResult result, mlir::ValueRange at);
  Value ofGeneric(mlir::OpResult result, mlir::ValueRange at);
  Value reduce(mlir::OpResult result, mlir::linalg::GenericOp op, Values loops,
               Values outputs);
  Value ofSlice(mlir::tensor::ExtractSliceOp op, mlir::ValueRange at);
  Value ofInsertSlice(mlir::tensor::InsertSliceOp op, mlir::ValueRange at);
  Value ofInsert(mlir::tensor::InsertOp op, mlir::ValueRange at);
  Value ofExpand(mlir::tensor::ExpandShapeOp op, mlir::ValueRange at);
  Value ofCollapse(mlir::tensor::CollapseShapeOp op, mlir::ValueRange at);
  Value ofPad(mlir::tensor::PadOp op, mlir::ValueRange at);
  Value choose(Builder &b, Value condition, Value tensor, mlir::ValueRange at,
               llvm::function_ref<Value()> otherwise);
  mlir::LogicalResult rewriteInner(mlir::Operation *root,
                                   mlir::ValueRange loops);
  Value index(Builder &b, mlir::OpFoldResult value);
  mlir::OpBuilder &builder;
  std::map<std::vector<void *>, Value> known;
};

/// The sizes of a tensor, computed behind it for the same reason.
llvm::SmallVector<mlir::OpFoldResult> sizesOf(mlir::ImplicitLocOpBuilder &b,
                                              mlir::Value tensor);

/// Named ops of a function become linalg.generic, which is what a reader knows;
/// one without loops is a diagnostic.
mlir::LogicalResult generaliseOps(mlir::func::FuncOp func);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_ELEMENTREADER_H
