// SPDX-License-Identifier: Apache-2.0
//
// Finds attention in `main`: the product of queries and keys, whatever turns a
// row of scores into weights, the product of these with values, and what only
// reads the operands or writes the result in another order.
#include "backplane/compiler.h"
#include "sdk/fusion/Fusion.h"
#include "sdk/fusion/KernelGroups.h"

using namespace mlir;
using namespace bp;

namespace {

class Matcher {
public:
  Matcher(MatmulOp product, const FusionOptions &options)
      : product_(product), options_(options) {}

  /// The ops, in order; empty: this product is not the end of an attention.
  std::vector<Operation *> run(func::FuncOp main);

private:
  bool collectBehind();
  bool isRowWise(Operation *op);
  void takeWeights();
  bool takeOperand(Value operand);
  void takeTranspose();
  bool isClosed() const;
  bool fits() const;
  bool isClaimed(func::FuncOp main) const;

  MatmulOp product_, scores_;
  const FusionOptions &options_;
  llvm::SetVector<Operation *> behind_; ///< between both products, or a mask
  llvm::DenseSet<Operation *> rows_;    ///< the scores and what depends on them
  llvm::DenseSet<Operation *> inside_;
  std::vector<Operation *> ops_;
};

} // namespace

/// Ops that are looked at behind weights, at most.
static constexpr size_t maxBehind = 64;

/// Fewer rows of scores, as where one token is decoded, are faster by two
/// products, which read keys and values where they lie and pack nothing.
static constexpr int64_t minRows = 4;

static bool hasFewRows(Value scores) {
  backplane::Dims dims = dimsOf(scores.getType());
  return dims[dims.size() - 2].constant().value_or(minRows) < minRows;
}

static bool isFree(Operation *op) {
  return !op->hasAttr(kernelAttr) && !op->hasAttr(aloneAttr);
}

static int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

/// Whether the op computes scores, or one number for each row of them, from
/// scores of that row.
bool Matcher::isRowWise(Operation *op) {
  backplane::Dims scores = dimsOf(product_.getA().getType());
  int64_t rank = int64_t(scores.size());
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getAxes() == ArrayRef<int64_t>(rank - 1) &&
           dimsOf(reduce.getX().getType()) == scores;
  if (kindOf(op) != OpKind::Elementwise)
    return false;
  backplane::Dims dims = dimsOf(op->getResult(0).getType()), row = scores;
  row.back() = backplane::Dim(1);
  if (dims == scores || dims == row)
    return true;
  row.pop_back();
  return dims == row;
}

/// Goes back from the weights to the products that they are made of, of which
/// the last one makes the scores.
bool Matcher::collectBehind() {
  SmallVector<Value> work{product_.getA()};
  while (!work.empty() && behind_.size() <= maxBehind) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || behind_.contains(op))
      continue;
    if (auto matmul = dyn_cast<MatmulOp>(op)) {
      if (isFree(op) &&
          dimsOf(matmul.getType()) == dimsOf(product_.getA().getType()) &&
          (!scores_ || scores_->isBeforeInBlock(op)))
        scores_ = matmul;
    } else if (travelsWithUser(op) || (isFree(op) && isRowWise(op))) {
      behind_.insert(op);
      llvm::append_range(work, op->getOperands());
    }
  }
  return scores_ && behind_.size() <= maxBehind;
}

/// Of what is behind the weights, that which depends on the scores; the rest,
/// masks, is computed elsewhere.
void Matcher::takeWeights() {
  rows_ = {scores_};
  SmallVector<Operation *> sorted(behind_.begin(), behind_.end());
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : sorted) {
    if (llvm::none_of(op->getOperands(), [&](Value operand) {
          return rows_.contains(operand.getDefiningOp());
        }))
      continue;
    rows_.insert(op);
  }
  inside_ = rows_;
  inside_.insert(product_);
}

/// Whether all elements of a value are one constant.
static bool isNumber(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  return elements && elements.isSplat();
}

/// The operand that the op multiplies or divides by a number, or null.
static Value scaledOperand(Operation *op) {
  if (isa<MulOp, DivOp>(op) && isNumber(op->getOperand(1)))
    return op->getOperand(0);
  if (isa<MulOp>(op) && isNumber(op->getOperand(0)))
    return op->getOperand(1);
  return {};
}

/// Whether the op reshapes what is repeated, as heads are that several others
/// share, and leaves rows and columns as they are.
static bool mergesOuter(Operation *op) {
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (!reshape || !isa_and_nonnull<BroadcastOp, TransposeOp, MulOp, DivOp>(
                      reshape.getX().getDefiningOp()))
    return false;
  backplane::Dims from = dimsOf(reshape.getX().getType());
  backplane::Dims to = dimsOf(reshape.getType());
  return from.size() > to.size() && to.size() >= 2 &&
         from.back() == to.back() && from[from.size() - 2] == to[to.size() - 2];
}

/// Takes what brings an operand of a product into order, and its scale, unless
/// others need the result too. False where it is made of scores.
bool Matcher::takeOperand(Value operand) {
  while (Operation *op = operand.getDefiningOp()) {
    if (rows_.contains(op))
      return false;
    bool moves = isa<TransposeOp>(op);
    if (auto slice = dyn_cast<SliceOp>(op))
      moves =
          llvm::all_of(slice.getStrides(), [](int64_t s) { return s == 1; });
    Value scaled = scaledOperand(op);
    bool isView = isa<BroadcastOp>(op) || mergesOuter(op) ||
                  (isa<ReshapeOp>(op) && travelsWithUser(op));
    if (!(moves || scaled || isView) || !isFree(op) ||
        !usersOutside(op->getResult(0), inside_, 1).empty())
      return true;
    inside_.insert(op);
    operand = scaled ? scaled : op->getOperand(0);
  }
  return true;
}

/// Takes the transpose that follows, when it keeps rows whole.
void Matcher::takeTranspose() {
  auto users = usersOutside(product_.getResult(), inside_, 2);
  auto transpose =
      users.size() == 1 ? dyn_cast<TransposeOp>(users.front()) : TransposeOp();
  if (transpose && transpose.getX() == product_.getResult() &&
      isFree(transpose) &&
      transpose.getPermutation().back() == rankOf(transpose.getX()) - 1)
    inside_.insert(transpose);
}

/// Whether nothing but the last op has a result that is needed elsewhere.
bool Matcher::isClosed() const {
  return llvm::all_of(ops_, [&](Operation *op) {
    return op == ops_.back() ||
           usersOutside(op->getResult(0), inside_, 1).empty();
  });
}

bool Matcher::fits() const {
  llvm::DenseSet<Value> read;
  for (Operation *op : ops_)
    for (Value operand : op->getOperands())
      if (!inside_.contains(operand.getDefiningOp()))
        read.insert(operand);
  return (!options_.maxOps || ops_.size() <= options_.maxOps) &&
         (!options_.maxBindings || read.size() + 1 <= options_.maxBindings);
}

bool Matcher::isClaimed(func::FuncOp main) const {
  if (!options_.claim)
    return true;
  auto graph = groupGraph(main, ops_);
  return graph && options_.claim(*graph).supported;
}

std::vector<Operation *> Matcher::run(func::FuncOp main) {
  Type element = getElementTypeOrSelf(product_.getType());
  if (!isFree(product_) || product_.getTransposeA() || !element.isF32() ||
      rankOf(product_.getB()) != rankOf(product_.getA()) || !collectBehind() ||
      rankOf(scores_.getB()) != rankOf(scores_.getA()) ||
      hasFewRows(product_.getA()))
    return {};
  takeWeights();
  bool isSoftmax = llvm::any_of(inside_, llvm::IsaPred<ReduceOp>) &&
                   llvm::any_of(inside_, llvm::IsaPred<ExpOp>);
  for (Value operand : {scores_.getA(), scores_.getB(), product_.getB()})
    if (!takeOperand(operand))
      return {};
  takeTranspose();
  ops_.assign(inside_.begin(), inside_.end());
  llvm::sort(ops_,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  bool oneDevice = llvm::all_of(
      ops_, [&](Operation *op) { return deviceOf(op) == deviceOf(product_); });
  if (!isSoftmax || !oneDevice || !isClosed() || !fits() || !isClaimed(main))
    return {};
  return std::move(ops_);
}

/// The first number that no group of `main` has.
static int64_t firstUnused(func::FuncOp main) {
  int64_t next = 0;
  for (Operation &op : main.front())
    next = std::max(next, kernelGroupOf(&op).value_or(-1) + 1);
  return next;
}

void bp::gatherAttention(func::FuncOp main, ArrayRef<FusionOptions> devices) {
  if (llvm::none_of(devices, [](const FusionOptions &options) {
        return options.fusion & BP_FUSE_ATTENTION;
      }))
    return;
  int64_t next = firstUnused(main);
  for (auto product : main.front().getOps<MatmulOp>()) {
    const FusionOptions &options = devices[deviceOf(product)];
    if (!(options.fusion & BP_FUSE_ATTENTION))
      continue;
    std::vector<Operation *> ops = Matcher(product, options).run(main);
    if (!ops.empty())
      setAttention(ops, next++);
  }
}
