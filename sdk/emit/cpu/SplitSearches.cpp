// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/SplitSearches.h"

#include "sdk/emit/common/CodePaths.h"
#include "sdk/emit/cpu/LaneAccess.h"
#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

#include <limits>
#include <optional>

using namespace mlir;

namespace backplane {
namespace {

/// Ops that compute an element, at most: they are done twice.
constexpr int64_t kElementOps = 4;

/// What a linalg.generic with the results (extreme, index) searches for.
struct Search {
  linalg::GenericOp op;
  unsigned loop = 0; ///< along rows
  Value element;     ///< in the body
  bool lowest = false, isUnsigned = false;
  bool last = false; ///< of several equal elements

  bool isFloat() const { return isa<FloatType>(element.getType()); }
  /// What the extreme is of two elements.
  vector::CombiningKind kind() const {
    using Kind = vector::CombiningKind;
    if (isFloat())
      return lowest ? Kind::MINIMUMF : Kind::MAXIMUMF;
    if (isUnsigned)
      return lowest ? Kind::MINUI : Kind::MAXUI;
    return lowest ? Kind::MINSI : Kind::MAXSI;
  }
};

/// The comparison of `better` in a search, of an element with the best.
Operation *comparisonOf(Value better, Value best) {
  Operation *op = better.getDefiningOp();
  if (op && isa<arith::AndIOp, arith::OrIOp>(op))
    op = op->getOperand(0).getDefiningOp();
  bool compares = isa_and_nonnull<arith::CmpFOp, arith::CmpIOp>(op) &&
                  llvm::is_contained(op->getOperands(), best);
  return compares ? op : nullptr;
}

/// Reads which element wins; false: none that is known.
bool readOrder(Search &search, Operation *comparison, Value best) {
  search.lowest = comparison->getOperand(1) == best;
  if (comparison->getOperand(search.lowest ? 0 : 1) != search.element)
    return false;
  if (auto floats = dyn_cast<arith::CmpFOp>(comparison)) {
    search.last = floats.getPredicate() == arith::CmpFPredicate::OLE;
    return search.last || floats.getPredicate() == arith::CmpFPredicate::ULT;
  }
  using Kind = arith::CmpIPredicate;
  Kind kind = cast<arith::CmpIOp>(comparison).getPredicate();
  search.last = kind == Kind::sle || kind == Kind::ule;
  search.isUnsigned = kind == Kind::ult || kind == Kind::ule;
  return search.last || kind == Kind::slt || kind == Kind::ult;
}

/// Whether the value is the index of the loop.
bool isIndexOf(Value value, unsigned loop) {
  auto cast = value.getDefiningOp<arith::IndexCastOp>();
  auto index =
      cast ? cast.getIn().getDefiningOp<linalg::IndexOp>() : linalg::IndexOp();
  return index && index.getDim() == loop;
}

std::optional<Search> matchSearch(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInits() != 2 ||
      op.getNumReductionLoops() != 1 || op.getNumDpsInputs() != 1 ||
      !canVectorizeBody(*op.getBody()))
    return std::nullopt;
  Search search{op};
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  search.loop = reductions.front();
  Value best = op.getBody()->getArgument(1),
        index = op.getBody()->getArgument(2);
  Operation *yield = op.getBody()->getTerminator();
  auto better = yield->getOperand(0).getDefiningOp<arith::SelectOp>(),
       at = yield->getOperand(1).getDefiningOp<arith::SelectOp>();
  if (!better || !at || better.getCondition() != at.getCondition() ||
      better.getFalseValue() != best || at.getFalseValue() != index ||
      !isIndexOf(at.getTrueValue(), search.loop) ||
      laneAccess(op, op->getOpOperand(0), search.loop) !=
          LaneAccess::Contiguous)
    return std::nullopt;
  search.element = better.getTrueValue();
  Operation *comparison = comparisonOf(better.getCondition(), best);
  if (!comparison || !readOrder(search, comparison, best))
    return std::nullopt;
  return search;
}

/// The ops of the body that compute the element, in order; none: they are many
/// or use what was found so far.
std::optional<SmallVector<Operation *>> elementOps(Search &search) {
  SmallVector<Operation *> ops;
  SmallVector<Value> wanted = {search.element};
  while (!wanted.empty()) {
    Value value = wanted.pop_back_val();
    auto argument = dyn_cast<BlockArgument>(value);
    Operation *op = value.getDefiningOp();
    if (argument && argument.getArgNumber() > 0)
      return std::nullopt;
    if (argument || op->getBlock() != search.op.getBody() ||
        llvm::is_contained(ops, op))
      continue;
    ops.push_back(op);
    llvm::append_range(wanted, op->getOperands());
  }
  if (int64_t(ops.size()) > kElementOps)
    return std::nullopt;
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ops;
}

/// Writes the two reductions.
class Split {
public:
  Split(Search &search, ArrayRef<Operation *> ops)
      : builder(search.op.getLoc(), search.op), search(search), ops(ops) {}

  void run() {
    linalg::GenericOp op = search.op;
    Value x = op.getDpsInputs()[0], best = op.getDpsInits()[0],
          index = op.getDpsInits()[1];
    reduce({x}, best, [&](ImplicitLocOpBuilder &b, ValueRange args) {
      return vector::makeArithReduction(b, b.getLoc(), search.kind(),
                                        args.back(), element(b, args));
    });
    if (!search.last)
      linalg::FillOp::create(builder, constant(builder, kNone), index);
    reduce({x, best}, index, [&](ImplicitLocOpBuilder &b, ValueRange args) {
      return found(b, element(b, args), args[1], args.back());
    });
    if (!search.last && mayBeEmpty())
      replaceNone(index);
  }

private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  /// Over all loops of the search; `body` gets the inputs and what is reduced
  /// so far.
  void reduce(ValueRange inputs, Value init,
              function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> body) {
    SmallVector<AffineMap> maps(search.op.getIndexingMapsArray());
    SmallVector<AffineMap> used(maps.begin(), maps.begin() + inputs.size());
    used.push_back(maps.back());
    linalg::GenericOp::create(
        builder, inputs, init, used, search.op.getIteratorTypesArray(),
        [&](OpBuilder &inner, Location loc, ValueRange args) {
          ImplicitLocOpBuilder b(loc, inner);
          linalg::YieldOp::create(b, body(b, args));
        });
  }

  /// A copy of what computes the element of a row.
  Value element(ImplicitLocOpBuilder &b, ValueRange args) {
    IRMapping map;
    map.map(search.op.getBody()->getArgument(0), args[0]);
    for (Operation *op : ops)
      b.clone(*op, map);
    return map.lookupOrDefault(search.element);
  }

  /// The index so far, or that of this element where it is the best. A best
  /// that is NaN equals none.
  Value found(ImplicitLocOpBuilder &b, Value next, Value best, Value before) {
    Value here;
    if (search.isFloat()) {
      using Kind = arith::CmpFPredicate;
      here = arith::OrIOp::create(
          b, arith::CmpFOp::create(b, Kind::OEQ, next, best),
          arith::CmpFOp::create(b, Kind::UNO, next, next));
    } else {
      here = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, best);
    }
    Value at = arith::IndexCastOp::create(
        b, b.getI64Type(), linalg::IndexOp::create(b, search.loop));
    at = arith::SelectOp::create(b, here, at,
                                 constant(b, search.last ? 0 : kNone));
    return search.last ? arith::MaxSIOp::create(b, before, at).getResult()
                       : arith::MinSIOp::create(b, before, at).getResult();
  }

  bool mayBeEmpty() {
    int64_t size = search.op.getStaticLoopRanges()[search.loop];
    return ShapedType::isDynamic(size) || size == 0;
  }

  /// Of rows without an element the index is 0.
  void replaceNone(Value index) {
    auto rank = cast<MemRefType>(index.getType()).getRank();
    SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
    linalg::GenericOp::create(
        builder, ValueRange(), index, builder.getMultiDimIdentityMap(rank),
        loops, [&](OpBuilder &inner, Location loc, ValueRange args) {
          ImplicitLocOpBuilder b(loc, inner);
          Value none = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                             args[0], constant(b, kNone));
          linalg::YieldOp::create(
              b, arith::SelectOp::create(b, none, constant(b, 0), args[0])
                     .getResult());
        });
  }

  static Value constant(ImplicitLocOpBuilder &b, int64_t value) {
    return arith::ConstantIntOp::create(b, value, 64);
  }

  ImplicitLocOpBuilder builder;
  Search &search;
  ArrayRef<Operation *> ops;
};

} // namespace

void splitSearches(ModuleOp module, int64_t shortest) {
  SmallVector<linalg::GenericOp> ops;
  module.walk([&](linalg::GenericOp op) { ops.push_back(op); });
  for (linalg::GenericOp op : ops) {
    std::optional<Search> search = matchSearch(op);
    auto elements = search ? elementOps(*search) : std::nullopt;
    if (!elements)
      continue;
    int64_t size = op.getStaticLoopRanges()[search->loop];
    if (!ShapedType::isDynamic(size) && size < shortest)
      continue;
    tellPath(op.getLoc(), path::searches);
    Split(*search, *elements).run();
    op.erase();
  }
}

} // namespace backplane
