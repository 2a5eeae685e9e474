// SPDX-License-Identifier: Apache-2.0
//
// Few long searches, on devices whose work-groups share reductions: the index
// of the highest element is the lowest index of an element that equals the
// maximum. A search alone is one invocation's.
#include "sdk/layout/Layout.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace bp;
using backplane::Dims;

namespace {

/// As bp-gpu-reduce has it for reductions of a work-group.
constexpr int64_t kLongSearch = 512, kFewSearches = 64;

/// Makes ops that compute a search.
class Rewrite {
public:
  explicit Rewrite(ArgReduceOp op)
      : b_(op.getLoc(), op), op_(op), dims_(dimsOf(op.getX().getType())) {}

  Value run() {
    StringRef kind = op_.getLast() ? "max" : "min";
    Value found = reduce(indices(), kind, op_.getKeep());
    bool hasElements = dims_[op_.getAxis()].constant().has_value();
    return hasElements ? found : orZero(found);
  }

private:
  /// The index of each element that equals the best, elsewhere `unused`.
  Value indices() {
    Value index =
        keep(IotaOp::create(b_, TypeAttr::get(b_.getI64Type()), dims(dims_),
                            b_.getI64IntegerAttr(int64_t(op_.getAxis()))));
    return keep(
        SelectOp::create(b_, isBest(), index, fillLike(index, unused())));
  }

  /// The best is NaN where an element is, and equals none.
  Value isBest() {
    Value x = op_.getX();
    auto all = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(dims_.size())));
    Value best =
        keep(BroadcastOp::create(b_, reduce(x, op_.getKind(), /*keeps=*/true),
                                 dims(dims_), b_.getDenseI64ArrayAttr(all)));
    Value equal = compare(x, best, "eq");
    if (!isa<FloatType>(getElementTypeOrSelf(x.getType())))
      return equal;
    return keep(OrOp::create(b_, equal, compare(x, x, "ne")));
  }

  /// The index, 0 where there is no element.
  Value orZero(Value found) {
    Value none = compare(found, fillLike(found, unused()), "eq");
    return keep(SelectOp::create(b_, none, fillLike(found, 0), found));
  }

  /// What a reduction of no indices is.
  int64_t unused() {
    return op_.getLast() ? std::numeric_limits<int64_t>::min()
                         : std::numeric_limits<int64_t>::max();
  }

  Value reduce(Value x, StringRef kind, bool keeps) {
    return keep(
        ReduceOp::create(b_, x, b_.getStringAttr(kind),
                         b_.getDenseI64ArrayAttr(int64_t(op_.getAxis())),
                         b_.getBoolAttr(keeps)));
  }
  Value compare(Value a, Value b, StringRef direction) {
    return keep(CompareOp::create(b_, a, b, b_.getStringAttr(direction)));
  }
  Value fillLike(Value like, int64_t number) {
    return keep(fill(b_, b_.getLoc(), cast<RankedTensorType>(like.getType()),
                     b_.getI64IntegerAttr(number)));
  }
  DimsAttr dims(const Dims &of) { return DimsAttr::get(b_.getContext(), of); }
  /// On the device of the search.
  Value keep(Value value) { return onDeviceOf(op_, value); }

  ImplicitLocOpBuilder b_;
  ArgReduceOp op_;
  Dims dims_;
};

bool isShared(ArgReduceOp op, ArrayRef<LayoutOptions> devices) {
  if (!devices[deviceOf(op)].workGroups || op->hasAttr(kernelAttr))
    return false;
  Dims dims = dimsOf(op.getX().getType());
  std::optional<int64_t> length = dims[op.getAxis()].constant();
  auto result = cast<RankedTensorType>(op.getType());
  return length.value_or(kLongSearch) >= kLongSearch &&
         result.hasStaticShape() && result.getNumElements() <= kFewSearches;
}

} // namespace

void bp::shareSearches(func::FuncOp main, ArrayRef<LayoutOptions> devices) {
  for (ArgReduceOp op :
       llvm::make_early_inc_range(main.getOps<ArgReduceOp>())) {
    if (!isShared(op, devices))
      continue;
    op.getResult().replaceAllUsesWith(Rewrite(op).run());
    op.erase();
  }
}
