// SPDX-License-Identifier: Apache-2.0
//
// ScoreReader.h: what the ops between the products of an attention make of a
// score, wherever that is. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_SCOREREADER_H
#define BACKPLANE_EMIT_GPU_SCOREREADER_H

#include "sdk/emit/gpu/Attention.h"
#include "sdk/emit/gpu/ContractScope.h"

namespace backplane {

/// The input that has an element for each of the loops.
mlir::Value wholeInput(mlir::linalg::GenericOp op);

class ScoreReader {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

  /// `scores` and `product` are within the loop of work-groups.
  ScoreReader(const GpuAttention &attention, ContractScope &scores,
              ContractScope &product)
      : attention(attention), scores(scores), product(product), b(product.b) {}

  /// From here on, whatever element of `tensor` is read, it is this one: a
  /// number of the row.
  void knowOfRow(Value tensor, Value number) {
    ofRow.push_back({tensor, number});
  }
  /// An element, as f32, of what is made of this score.
  mlir::FailureOr<Value> read(Value tensor, Value row, Value column,
                              Value score);
  /// What the body of a reduction over rows makes of this score.
  mlir::FailureOr<Values> reduce(mlir::linalg::GenericOp op, Value row,
                                 Value column, Value score,
                                 mlir::ValueRange carried);
  /// Whether the ops in front of the softmax read memory, as masks are.
  bool readsMemory() const;
  /// The product of all that sums are scaled by; nothing where it is no number
  /// above 0.
  std::optional<double> scale() const;
  /// What the ops in front of the softmax make of scores.
  struct Form {
    bool hasEnd = false;  ///< rows see columns up to some place alone
    bool repeats = false; ///< stretches of rows do, one behind the other
    bool isPlain = false; ///< what they see are scores, and nothing else
  };
  mlir::FailureOr<Form> findForm();
  /// Of each of these rows one more than the last column whose score it sees,
  /// or any number that is beyond all columns, or negative. A form with an end
  /// has them; they are not smaller in later rows of a stretch.
  mlir::FailureOr<Values> endsOfColumns(mlir::ValueRange rows);

  /// What `make` makes where the condition holds; null: always.
  mlir::FailureOr<Values>
  choose(Value condition, mlir::ValueRange otherwise,
         llvm::function_ref<mlir::FailureOr<Values>()> make);
  mlir::FailureOr<Value>
  chooseOne(Value condition, Value otherwise,
            llvm::function_ref<mlir::FailureOr<Value>()> make);

  /// The maximum, or zero where nothing above -infinity was seen: powers of its
  /// scores are zeros then.
  Value safe(Value top);
  /// A power of a score, or a quotient of two: zero where none is a number and
  /// the ops make that of it.
  Value weight(Value power);
  /// The factor of sums of exp(row - safe(top)) that add up to `sum`, so that
  /// they are the weighted values that the ops say. It is one of no columns,
  /// and of a row beyond the last, where tiles have so many.
  mlir::FailureOr<Value> lastFactor(Value row, int64_t tileRows, Value top,
                                    Value sum);

  Value number(double value);
  /// The score of a column that a row does not see, -infinity.
  Value unseen();

private:
  mlir::LogicalResult
  probe(llvm::function_ref<void(const struct ScoreProbe &)> use);
  Values placeIn(Value tensor, Value row, Value column);
  void know(Value score);
  mlir::FailureOr<Value> lastFactorInside(Value row, Value top, Value sum);
  mlir::FailureOr<Value> readRow(mlir::linalg::GenericOp op, Value row,
                                 const GpuOperand &operand);

  const GpuAttention &attention;
  ContractScope &scores, &product;
  mlir::ImplicitLocOpBuilder &b;
  llvm::SmallVector<std::pair<Value, Value>> ofRow;
};

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_SCOREREADER_H
