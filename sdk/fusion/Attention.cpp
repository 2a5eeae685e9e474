// SPDX-License-Identifier: Apache-2.0
//
// Finds attention in `main`: the product of queries and keys, whatever turns a
// row of scores into weights, the product of these with values, and what only
// reads the operands or writes the result in another order.
#include "backplane/compiler.h"
#include "sdk/fusion/Fusion.h"
#include "sdk/fusion/KernelGroups.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

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
  bool isSupported();
  bool isAny() const { return options_.fusion & BP_FUSE_NARROW_ATTENTION; }
  bool collectBehind();
  bool isRowWise(Operation *op) const;
  bool keepsRows(Operation *op);
  void takeWeights();
  bool takeOperand(Value operand);
  bool takesView(Operation *op) const;
  Operation *userOf(Value value) const;
  void takeResult();
  void takeMask(Value mask);
  void copyMasks();
  bool isClosed() const;
  bool fits() const;
  bool isClaimed(func::FuncOp main) const;

  MatmulOp product_, scores_;
  const FusionOptions &options_;
  llvm::SetVector<Operation *> behind_; ///< between both products, or a mask
  /// Of scores, in the shapes that ops between the products have.
  std::vector<backplane::Dims> spaces_;
  /// What masks are made of, which is read nowhere.
  llvm::SetVector<Operation *> masks_;
  llvm::DenseSet<Operation *> rows_; ///< the scores and what depends on them
  llvm::DenseSet<Operation *> inside_;
  std::vector<Operation *> ops_;
};

} // namespace

/// Ops that are looked at behind weights, and behind a mask, at most.
static constexpr size_t maxBehind = 64, maxMask = 16;

static bool isBefore(Operation *a, Operation *b) {
  return a->isBeforeInBlock(b);
}

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
bool Matcher::isRowWise(Operation *op) const {
  return llvm::any_of(spaces_, [&](const backplane::Dims &scores) {
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
  });
}

/// Whether the op reshapes scores and leaves rows whole, as where heads that
/// share keys are put together.
bool Matcher::keepsRows(Operation *op) {
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (!reshape || !isAny())
    return false;
  backplane::Dims from = dimsOf(reshape.getX().getType());
  backplane::Dims to = dimsOf(reshape.getType());
  if (!llvm::is_contained(spaces_, to) || from.empty() ||
      from.back() != to.back())
    return false;
  spaces_.push_back(from);
  return true;
}

/// Goes back from the weights to the products that they are made of, of which
/// the last one makes the scores.
bool Matcher::collectBehind() {
  spaces_ = {dimsOf(product_.getA().getType())};
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
    } else if ((isFree(op) && (keepsRows(op) || isRowWise(op))) ||
               travelsWithUser(op)) {
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
  llvm::sort(sorted, isBefore);
  for (Operation *op : sorted) {
    if (llvm::none_of(op->getOperands(), [&](Value operand) {
          return rows_.contains(operand.getDefiningOp());
        }))
      continue;
    rows_.insert(op);
    if (isAny())
      for (Value operand : op->getOperands())
        takeMask(operand);
  }
  inside_ = rows_;
  inside_.insert(product_);
}

/// Takes what a mask is made of, where all of it is made of nothing but sizes
/// and numbers: a position that a row sees is computed where it is needed.
void Matcher::takeMask(Value mask) {
  llvm::SetVector<Operation *> made;
  SmallVector<Value> work{mask};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || rows_.contains(op) || made.size() > maxMask)
      return;
    bool isMade = travelsWithUser(op) ||
                  (isFree(op) && kindOf(op) == OpKind::Elementwise);
    if (!isMade)
      return;
    if (made.insert(op))
      llvm::append_range(work, op->getOperands());
  }
  if (!llvm::all_of(made, travelsWithUser))
    masks_.insert(made.begin(), made.end());
}

/// Gives the attention its own copies of what masks are made of, as other ops
/// may need them too.
void Matcher::copyMasks() {
  std::vector<Operation *> sorted(masks_.begin(), masks_.end());
  llvm::sort(sorted, isBefore);
  IRMapping copies;
  std::vector<Operation *> users = ops_;
  for (Operation *op : sorted) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    ops_.push_back(builder.clone(*op, copies));
  }
  for (Operation *op : users)
    for (OpOperand &operand : op->getOpOperands())
      operand.set(copies.lookupOrDefault(operand.get()));
  for (Operation *op : llvm::reverse(sorted))
    if (op->use_empty())
      op->erase();
  llvm::sort(ops_, isBefore);
}

/// Whether all elements of a value are one constant.
static bool isNumber(Value value) {
  SplatElementsAttr number;
  return matchPattern(value, m_Constant(&number));
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

/// Whether the same numbers are f32 and 16-bit floats, cast from one to the
/// other.
static bool isWidening(Value narrow, Value wide) {
  Type from = getElementTypeOrSelf(narrow), to = getElementTypeOrSelf(wide);
  return (from.isF16() || from.isBF16()) && to.isF32();
}

/// Whether the op reads an operand, as it is, in another order or type.
bool Matcher::takesView(Operation *op) const {
  if (isa<TransposeOp, BroadcastOp>(op) || mergesOuter(op))
    return true;
  if (auto slice = dyn_cast<SliceOp>(op))
    return llvm::all_of(slice.getStrides(), [](int64_t s) { return s == 1; });
  if (isAny() && isa<CastOp>(op))
    return isWidening(op->getOperand(0), op->getResult(0));
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (!reshape)
    return false;
  // Else a reshape is for nothing, and a division for each element here.
  Operation *source = reshape.getX().getDefiningOp();
  bool hasMore = source && isAny() &&
                 (scaledOperand(source) || isa<CastOp>(source)) &&
                 dimsOf(reshape.getX().getType()).back() ==
                     dimsOf(reshape.getType()).back();
  return travelsWithUser(op) || hasMore;
}

/// Takes what brings an operand of a product into order, and its scale, unless
/// others need the result too. False where it is made of scores.
bool Matcher::takeOperand(Value operand) {
  while (Operation *op = operand.getDefiningOp()) {
    if (rows_.contains(op))
      return false;
    Value scaled = scaledOperand(op);
    if (!(scaled || takesView(op)) || !isFree(op) ||
        !usersOutside(op->getResult(0), inside_, 1).empty())
      return true;
    inside_.insert(op);
    operand = scaled ? scaled : op->getOperand(0);
  }
  return true;
}

/// The only op that reads a value, itself and not behind what travels with it.
Operation *Matcher::userOf(Value value) const {
  auto users = usersOutside(value, inside_, 2);
  return users.size() == 1 && users.front()->getNumResults() == 1 &&
                 users.front()->getOperand(0) == value && isFree(users.front())
             ? users.front()
             : nullptr;
}

/// Takes the transpose that follows, when it keeps rows whole, and what rounds
/// the result, also behind a reshape.
void Matcher::takeResult() {
  Value result = product_.getResult();
  while (Operation *user = userOf(result)) {
    auto transpose = dyn_cast<TransposeOp>(user);
    bool keeps = transpose && transpose.getPermutation().back() ==
                                  rankOf(transpose.getX()) - 1;
    bool rounds = isAny() && isWidening(user->getResult(0), result);
    bool reshapes = isAny() && isa<ReshapeOp>(user) &&
                    isa_and_nonnull<CastOp>(userOf(user->getResult(0)));
    if (!keeps && !rounds && !reshapes)
      return;
    inside_.insert(user);
    result = user->getResult(0);
  }
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
      if (Operation *source = operand.getDefiningOp();
          !inside_.contains(source) && !masks_.contains(source))
        read.insert(operand);
  size_t count = ops_.size() + masks_.size();
  return (!options_.maxOps || count <= options_.maxOps) &&
         (!options_.maxBindings || read.size() + 1 <= options_.maxBindings);
}

bool Matcher::isClaimed(func::FuncOp main) const {
  if (!options_.claim)
    return true;
  std::vector<Operation *> all(masks_.begin(), masks_.end());
  all.insert(all.end(), ops_.begin(), ops_.end());
  llvm::sort(all, isBefore);
  auto graph = groupGraph(main, all);
  return graph && options_.claim(*graph).supported;
}

bool Matcher::isSupported() {
  Type element = getElementTypeOrSelf(product_.getType());
  bool isNarrow = element.isF16() || element.isBF16();
  return isFree(product_) && !product_.getTransposeA() &&
         (element.isF32() || (isNarrow && isAny())) &&
         (!hasFewRows(product_.getA()) || isAny()) &&
         rankOf(product_.getB()) == rankOf(product_.getA());
}

std::vector<Operation *> Matcher::run(func::FuncOp main) {
  if (!isSupported() || !collectBehind() ||
      rankOf(scores_.getB()) != rankOf(scores_.getA()))
    return {};
  takeWeights();
  bool isSoftmax = llvm::any_of(inside_, llvm::IsaPred<ReduceOp>) &&
                   llvm::any_of(inside_, llvm::IsaPred<ExpOp>);
  for (Value operand : {scores_.getA(), scores_.getB(), product_.getB()})
    if (!takeOperand(operand))
      return {};
  takeResult();
  ops_.assign(inside_.begin(), inside_.end());
  llvm::sort(ops_, isBefore);
  bool oneDevice = llvm::all_of(
      ops_, [&](Operation *op) { return deviceOf(op) == deviceOf(product_); });
  if (!isSoftmax || !oneDevice || !isClosed() || !fits() || !isClaimed(main))
    return {};
  copyMasks();
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
