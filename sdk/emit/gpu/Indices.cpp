// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/Indices.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace backplane {
namespace {

/// The last parts of an index, when they are those of one number, in their
/// order. The very last one may be taken times a factor, plus an offset.
struct SplitNumber {
  affine::AffineDelinearizeIndexOp split;
  int64_t factor = 1, offset = 0;

  size_t parts() { return split.getNumResults(); }
};

} // namespace

/// Takes `value + constant`, or `value * constant`, apart.
template <typename Op> static Value withoutConstant(Value value, int64_t &out) {
  auto op = value.getDefiningOp<Op>();
  std::optional<int64_t> known =
      op ? getConstantIntValue(op->getOperand(1)) : std::nullopt;
  if (!known)
    return value;
  out = *known;
  return op->getOperand(0);
}

static std::optional<SplitNumber>
findSplitNumber(affine::AffineLinearizeIndexOp op) {
  auto parts = op.getMultiIndex();
  if (parts.empty())
    return std::nullopt;
  SplitNumber number;
  Value last = withoutConstant<arith::AddIOp>(parts.back(), number.offset);
  last = withoutConstant<arith::MulIOp>(last, number.factor);
  number.split = last.getDefiningOp<affine::AffineDelinearizeIndexOp>();
  if (!number.split || number.parts() > parts.size())
    return std::nullopt;
  auto results = number.split.getResults();
  auto tail = parts.take_back(number.parts());
  if (results.back() != last ||
      !llvm::equal(results.drop_back(), tail.drop_back()))
    return std::nullopt;
  auto sizes = number.split.getPaddedBasis(), others = op.getPaddedBasis();
  auto have = ArrayRef(others).take_back(number.parts());
  // The size of the outermost axis does not matter.
  bool isAll = number.parts() == parts.size();
  for (size_t i = isAll ? 1 : 0; i < sizes.size(); ++i) {
    int64_t factor = i + 1 == sizes.size() ? number.factor : 1;
    auto size = getConstantIntValue(sizes[i]),
         other = getConstantIntValue(have[i]);
    bool same = size && other ? *size * factor == *other
                              : factor == 1 && sizes[i] && sizes[i] == have[i];
    if (!same || (!isAll && !other))
      return std::nullopt;
  }
  return number;
}

/// An index whose last parts are those of one number is made of the number.
static void joinParts(IRRewriter &rewriter, affine::AffineLinearizeIndexOp op) {
  auto found = findSplitNumber(op);
  if (!found)
    return;
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  Value number = rewriter.createOrFold<arith::MulIOp>(
      loc, found->split.getLinearIndex(), index(found->factor));
  number =
      rewriter.createOrFold<arith::AddIOp>(loc, number, index(found->offset));
  if (found->parts() == op.getMultiIndex().size())
    return rewriter.replaceOp(op, number);
  SmallVector<Value> parts(op.getMultiIndex().drop_back(found->parts()));
  SmallVector<OpFoldResult> sizes = op.getPaddedBasis();
  int64_t product = 1;
  for (OpFoldResult size : ArrayRef(sizes).take_back(found->parts()))
    product *= *getConstantIntValue(size);
  sizes.resize(parts.size());
  parts.push_back(number);
  sizes.push_back(rewriter.getIndexAttr(product));
  rewriter.replaceOpWithNewOp<affine::AffineLinearizeIndexOp>(
      op, parts, sizes, /*disjoint=*/true);
}

void expandIndices(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  auto index = [&](Location loc, OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(rewriter, loc, value);
  };
  module.walk(
      [&](affine::AffineLinearizeIndexOp op) { joinParts(rewriter, op); });
  module.walk([&](affine::AffineDelinearizeIndexOp op) {
    rewriter.setInsertionPoint(op);
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> sizes = op.getPaddedBasis();
    SmallVector<Value> parts(sizes.size());
    Value rest = op.getLinearIndex();
    for (size_t i = sizes.size(); i-- > 1;) {
      Value size = index(loc, sizes[i]);
      parts[i] = arith::RemUIOp::create(rewriter, loc, rest, size);
      rest = arith::DivUIOp::create(rewriter, loc, rest, size);
    }
    parts[0] = rest;
    rewriter.replaceOp(op, parts);
  });
  module.walk([&](affine::AffineLinearizeIndexOp op) {
    rewriter.setInsertionPoint(op);
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> sizes = op.getPaddedBasis();
    Value number;
    for (auto [size, at] : llvm::zip(sizes, op.getMultiIndex())) {
      if (number)
        number = arith::MulIOp::create(rewriter, loc, number, index(loc, size));
      number =
          number ? Value(arith::AddIOp::create(rewriter, loc, number, at)) : at;
    }
    rewriter.replaceOp(op, number);
  });
}

} // namespace backplane
