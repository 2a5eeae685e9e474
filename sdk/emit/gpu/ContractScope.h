// SPDX-License-Identifier: Apache-2.0
//
// ContractScope.h: what both ways to compute a contraction in work-groups have
// in common: the loop of work-groups, the elements of the factors, edges, and
// the results of finished sums. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_CONTRACTSCOPE_H
#define BACKPLANE_EMIT_GPU_CONTRACTSCOPE_H

#include "sdk/emit/gpu/Contraction.h"
#include "sdk/emit/gpu/ElementReader.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace backplane {

struct ContractScope {
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

  mlir::ImplicitLocOpBuilder &b;
  ElementReader reader;
  GpuContraction &c;
  GroupLoops loops;
  Value sizeM, sizeN, sizeK;
  Value startM, startN; ///< of the tile
  Value thread;         ///< number of this invocation in its work-group
  Values at;            ///< per loop, those outside of the tile

  ContractScope(mlir::ImplicitLocOpBuilder &builder, GpuContraction &c)
      : b(builder), reader(b), c(c), loops{b, {}} {}

  /// Reads the sizes of all loops.
  void readSizes();

  /// Opens the loop of work-groups, each of which has a tile.
  void enterGroup(int64_t tileM, int64_t tileN);

  /// The element of a factor for these values of the loops; one of `op`, whose
  /// body has its value.
  mlir::FailureOr<Value> readOperand(mlir::linalg::GenericOp op,
                                     const GpuOperand &factor,
                                     mlir::ValueRange loops);
  /// So many elements of a factor from a place in C and k on, neighbours in one
  /// of these.
  mlir::FailureOr<Values> readLanes(const GpuOperand &factor,
                                    llvm::ArrayRef<unsigned> rowLoops,
                                    bool alongK, Value rowAt, Value kAt,
                                    int64_t lanes);
  /// The values of all loops at such a place.
  Values indicesAt(llvm::ArrayRef<unsigned> rowLoops, Value rowAt, Value kAt);
  /// What `read` makes where the condition, if there is one, holds; zeros
  /// elsewhere.
  mlir::FailureOr<Values>
  guarded(Value inside, int64_t lanes, mlir::Type type,
          llvm::function_ref<mlir::FailureOr<Values>()> read);
  /// The condition, and that x is below the size, unless blocks of `step` fill
  /// it. Null: always.
  Value below(Value x, Value size, int64_t step, Value condition);

  /// What a turn makes, from its place and from what the turn before has made.
  using Step =
      llvm::function_ref<mlir::FailureOr<Values>(Value, mlir::ValueRange)>;
  /// A loop over the places below `end` that are `distance` apart.
  mlir::FailureOr<Values> forPlaces(Value end, int64_t distance,
                                    mlir::ValueRange carried, Step step);

  /// How many neighbours an invocation stores at once, when the work-group
  /// stores so many sums.
  int64_t lanesOfResult(int64_t sums);
  /// Finishes and stores the sums from (m, n) on, neighbours in n, where they
  /// are in C. `edgeM` and `edgeN`: see below().
  mlir::LogicalResult storeSums(Value m, Value n, int64_t lanes, int64_t edgeM,
                                int64_t edgeN,
                                llvm::function_ref<Value(int64_t)> sum);

  Value index(int64_t value) { return loops.index(value); }
  Value add(Value x, Value y) {
    return b.createOrFold<mlir::arith::AddIOp>(x, y);
  }
  Value mul(Value x, int64_t y) {
    return b.createOrFold<mlir::arith::MulIOp>(x, index(y));
  }
  Value div(Value x, int64_t y) {
    return b.createOrFold<mlir::arith::DivUIOp>(x, index(y));
  }
  Value rem(Value x, int64_t y) {
    return b.createOrFold<mlir::arith::RemUIOp>(x, index(y));
  }
};

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_CONTRACTSCOPE_H
