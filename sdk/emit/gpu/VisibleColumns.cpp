// SPDX-License-Identifier: Apache-2.0
//
// Up to which column rows see scores, where the ops in front of a softmax hide
// the others by their place: score where column <= row + c, else -infinity.
#include "sdk/emit/gpu/ScoreReader.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {
namespace {

/// A number that grows by these for each row and each column.
struct Slope {
  int64_t row = 0, column = 0;
};

/// low < high, or low <= high.
struct Bound {
  Value low, high;
  bool inclusive;
};

} // namespace

/// Code for one score, in a region that never runs.
struct ScoreProbe {
  Value row, column, score;
  Value made = {}; ///< what the softmax reads
  Region *region;
  mutable bool repeats = false;

  /// Within a stretch of rows that an axis of the mask has, which others may
  /// follow: `repeats` is set then.
  std::optional<Slope> slopeOf(Value value) const;
  bool depends(Value value) const;
  std::optional<Bound> findBound(Value condition) const;
  arith::SelectOp selection() const;
};

bool ScoreProbe::depends(Value value) const {
  if (value == row || value == column || value == score)
    return true;
  Operation *op = value.getDefiningOp();
  return op && llvm::any_of(op->getOperands(),
                            [&](Value operand) { return depends(operand); });
}

std::optional<Slope> ScoreProbe::slopeOf(Value value) const {
  if (value == row)
    return Slope{1, 0};
  if (value == column)
    return Slope{0, 1};
  if (!depends(value))
    return Slope{};
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return slopeOf(op->getOperand(0));
  if (auto split = dyn_cast_or_null<affine::AffineDelinearizeIndexOp>(op)) {
    repeats = true;
    return value == split.getResults().back() ? slopeOf(split.getLinearIndex())
                                              : std::nullopt;
  }
  if (auto join = dyn_cast_or_null<affine::AffineLinearizeIndexOp>(op)) {
    ValueRange places = join.getMultiIndex();
    bool others = llvm::any_of(places.drop_back(),
                               [&](Value place) { return depends(place); });
    return others ? std::nullopt : slopeOf(places.back());
  }
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  auto left = slopeOf(op->getOperand(0)), right = slopeOf(op->getOperand(1));
  if (!left || !right)
    return std::nullopt;
  int64_t sign = isa<arith::AddIOp>(op) ? 1 : -1;
  return Slope{left->row + sign * right->row,
               left->column + sign * right->column};
}

static std::optional<Bound> boundOf(arith::CmpIOp compare) {
  Value left = compare.getLhs(), right = compare.getRhs();
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::sle:
    return Bound{left, right, true};
  case arith::CmpIPredicate::slt:
    return Bound{left, right, false};
  case arith::CmpIPredicate::sge:
    return Bound{right, left, true};
  case arith::CmpIPredicate::sgt:
    return Bound{right, left, false};
  default:
    return std::nullopt;
  }
}

/// The comparison that a condition is, which may be held as a byte.
static arith::CmpIOp comparisonOf(Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  auto byte = compare ? compare.getLhs().getDefiningOp<arith::ExtUIOp>()
                      : arith::ExtUIOp();
  bool isByte = byte && byte.getIn().getType().isInteger(1) &&
                compare.getPredicate() == arith::CmpIPredicate::ne &&
                matchPattern(compare.getRhs(), m_Zero());
  return isByte ? comparisonOf(byte.getIn()) : compare;
}

/// That of a condition, or of a part of it, which fails from some column on:
/// later rows have it later.
std::optional<Bound> ScoreProbe::findBound(Value condition) const {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    auto left = findBound(both.getLhs());
    return left ? left : findBound(both.getRhs());
  }
  auto compare = comparisonOf(condition);
  if (!compare)
    return std::nullopt;
  auto bound = boundOf(compare);
  auto low = bound ? slopeOf(bound->low) : std::nullopt;
  auto high = bound ? slopeOf(bound->high) : std::nullopt;
  bool fails = low && high && low->column - high->column == 1 &&
               high->row - low->row >= 0;
  return fails ? bound : std::nullopt;
}

static Value behindCasts(Value value) {
  while (auto widening = value.getDefiningOp<arith::ExtFOp>())
    value = widening.getIn();
  while (auto rounding = value.getDefiningOp<arith::TruncFOp>())
    value = rounding.getIn();
  return value;
}

/// The op that makes -infinity of what is not seen; null where there is none.
arith::SelectOp ScoreProbe::selection() const {
  auto select = behindCasts(made).getDefiningOp<arith::SelectOp>();
  llvm::APFloat hidden(0.0F);
  bool hides = select &&
               matchPattern(select.getFalseValue(), m_ConstantFloat(&hidden)) &&
               hidden.isInfinity() && hidden.isNegative();
  return hides ? select : arith::SelectOp();
}

/// What a value is for other operands, in front of the builder.
static Value copyOf(ImplicitLocOpBuilder &b, Value value, IRMapping &map,
                    Region &from) {
  if (map.contains(value))
    return map.lookup(value);
  Operation *op = value.getDefiningOp();
  if (!op || !from.isAncestor(op->getParentRegion()))
    return value;
  for (Value operand : op->getOperands())
    map.map(operand, copyOf(b, operand, map, from));
  b.clone(*op, map);
  return map.lookup(value);
}

/// One more than the last column that a row may see.
static Value endOf(ImplicitLocOpBuilder &b, const Bound &bound, IRMapping &map,
                   Region &from) {
  Value low = copyOf(b, bound.low, map, from);
  Value high = copyOf(b, bound.high, map, from);
  Value end = b.createOrFold<arith::SubIOp>(high, low);
  if (!end.getType().isIndex())
    end = b.createOrFold<arith::IndexCastOp>(b.getIndexType(), end);
  Value one = arith::ConstantIndexOp::create(b, bound.inclusive ? 1 : 0);
  return b.createOrFold<arith::AddIOp>(end, one);
}

LogicalResult ScoreReader::probe(function_ref<void(const ScoreProbe &)> use) {
  Value never = arith::ConstantOp::create(b, b.getBoolAttr(false));
  auto branch = scf::IfOp::create(b, never);
  FailureOr<Value> made;
  ScoreProbe probe{};
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Type index = b.getIndexType();
    auto places = UnrealizedConversionCastOp::create(
        b, TypeRange{index, index, b.getF32Type()}, ValueRange());
    probe = {places.getResult(0),
             places.getResult(1),
             places.getResult(2),
             {},
             &branch.getThenRegion()};
    made = read(wholeInput(attention.softmax->top), probe.row, probe.column,
                probe.score);
  }
  if (failed(made))
    return failure();
  probe.made = *made;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch);
  use(probe);
  branch.erase();
  return success();
}

FailureOr<ScoreReader::Form> ScoreReader::findForm() {
  Form form;
  auto use = [&](const ScoreProbe &probe) {
    form.isPlain = probe.made == probe.score;
    arith::SelectOp select = probe.selection();
    if (!select || !probe.findBound(select.getCondition()))
      return;
    form.hasEnd = true;
    form.repeats = probe.repeats;
    form.isPlain = probe.made == select.getResult() &&
                   select.getTrueValue() == probe.score &&
                   bool(comparisonOf(select.getCondition()));
  };
  if (failed(probe(use)))
    return failure();
  return form;
}

FailureOr<ScoreReader::Values> ScoreReader::endsOfColumns(ValueRange rows) {
  Values ends;
  auto use = [&](const ScoreProbe &probe) {
    auto bound = probe.findBound(probe.selection().getCondition());
    for (Value row : rows) {
      IRMapping map;
      map.map(probe.row, row);
      map.map(probe.column, product.index(0));
      ends.push_back(endOf(b, *bound, map, *probe.region));
    }
  };
  if (failed(probe(use)))
    return failure();
  return ends;
}

} // namespace backplane
