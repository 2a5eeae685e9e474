// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/common/Dispatch.h"
#include "sdk/dialect/Attributes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace backplane {

static FailureOr<Dispatch> readDispatch(func::FuncOp func) {
  Dispatch result{.func = func};
  auto inputs = func->getAttrOfType<IntegerAttr>(bp::inputsAttr);
  auto outputs = func->getAttrOfType<IntegerAttr>(bp::outputsAttr);
  if (!inputs || !outputs)
    return func.emitOpError("a dispatch needs bp.inputs and bp.outputs");
  result.inputs = inputs.getInt();
  result.outputs = outputs.getInt();
  if (auto symbols = func->getAttrOfType<ArrayAttr>(bp::symbolsAttr))
    for (Attribute symbol : symbols)
      result.symbols.push_back(cast<StringAttr>(symbol).str());
  result.hasError = func->hasAttr(bp::errorAttr);
  unsigned expected =
      result.bindings() + result.symbols.size() + (result.hasError ? 1 : 0);
  if (func.getNumArguments() != expected)
    return func.emitOpError("has ")
           << func.getNumArguments() << " arguments, its attributes say "
           << expected;
  return result;
}

FailureOr<SmallVector<Dispatch>> findDispatches(ModuleOp module) {
  SmallVector<Dispatch> result;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (!func->hasAttr(bp::inputsAttr))
      continue;
    FailureOr<Dispatch> dispatch = readDispatch(func);
    if (failed(dispatch))
      return failure();
    result.push_back(*dispatch);
  }
  return result;
}

FailureOr<Dim> argumentDim(const Dispatch &dispatch, unsigned argument,
                           unsigned axis) {
  func::FuncOp func = dispatch.func;
  auto type = cast<ShapedType>(func.getArgument(argument).getType());
  if (!type.isDynamicDim(axis))
    return Dim(type.getDimSize(axis));
  auto dims = func.getArgAttrOfType<ArrayAttr>(argument, bp::dimsAttr);
  if (!dims || dims.size() != size_t(type.getRank()))
    return func.emitOpError("argument ")
           << argument << " has dynamic sizes and no bp.dims";
  Result<Dim> dim = Dim::parse(cast<StringAttr>(dims[axis]).getValue());
  if (!dim)
    return func.emitOpError("argument ")
           << argument << ": bp.dims: " << dim.message();
  return *dim;
}

namespace {

/// Follows index arithmetic. A value that depends on anything but symbols has a
/// dim that is not valid, and so has all that is made from it. `bound` is what
/// the result may be.
struct DimReader {
  const Dispatch &dispatch;

  Dim read(OpFoldResult value, DimBound bound);
  Dim readArgument(BlockArgument argument);
  Dim readSize(Value source, std::optional<int64_t> axis);
  Dim readOp(Operation *op, DimBound bound);
  Dim readSelect(arith::SelectOp op, DimBound bound);
  Dim readExpr(AffineExpr expr, affine::AffineApplyOp op, DimBound bound);
  bool isOfFunction(BlockArgument argument) const {
    return argument.getOwner() == &func::FuncOp(dispatch.func).front();
  }
};

} // namespace

static Dim unknownDim() { return Dim::symbol(""); }

Dim DimReader::readArgument(BlockArgument argument) {
  unsigned first = dispatch.bindings(), number = argument.getArgNumber();
  bool isSymbol = isOfFunction(argument) && number >= first &&
                  number - first < dispatch.symbols.size();
  return isSymbol ? Dim::symbol(dispatch.symbols[number - first])
                  : unknownDim();
}

/// The sizes that an op states for its result; none when it states none.
static SmallVector<OpFoldResult> statedSizes(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<OpFoldResult>>(op)
      .Case<memref::AllocOp>([](auto made) { return made.getMixedSizes(); })
      .Case<memref::ExpandShapeOp>([](auto expand) {
        return getMixedValues(expand.getStaticOutputShape(),
                              expand.getOutputShape(), expand.getContext());
      })
      .Case<memref::ViewOp>([](auto view) {
        return getMixedValues(view.getType().getShape(), view.getSizes(),
                              view.getContext());
      })
      .Default([](Operation *) { return SmallVector<OpFoldResult>(); });
}

Dim DimReader::readSize(Value source, std::optional<int64_t> axis) {
  if (!axis)
    return unknownDim();
  if (auto type = cast<ShapedType>(source.getType()); !type.isDynamicDim(*axis))
    return type.getDimSize(*axis);
  if (auto collapse = source.getDefiningOp<memref::CollapseShapeOp>()) {
    Dim product(1);
    for (int64_t part : collapse.getReassociationIndices()[*axis])
      product = product * readSize(collapse.getSrc(), part);
    return product;
  }
  if (Operation *op = source.getDefiningOp()) {
    SmallVector<OpFoldResult> sizes = statedSizes(op);
    return size_t(*axis) < sizes.size() ? read(sizes[*axis], DimBound::Exact)
                                        : unknownDim();
  }
  auto argument = cast<BlockArgument>(source);
  if (!isOfFunction(argument))
    return unknownDim();
  FailureOr<Dim> dim = argumentDim(dispatch, argument.getArgNumber(), *axis);
  return succeeded(dim) ? *dim : unknownDim();
}

/// 1 where the comparison holds, else 0.
static Dim compared(arith::CmpIPredicate predicate, const Dim &a,
                    const Dim &b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return equal(a, b);
  case arith::CmpIPredicate::ne:
    return Dim(1) - equal(a, b);
  case arith::CmpIPredicate::slt:
    return less(a, b);
  case arith::CmpIPredicate::sle:
    return Dim(1) - less(b, a);
  case arith::CmpIPredicate::sgt:
    return less(b, a);
  case arith::CmpIPredicate::sge:
    return Dim(1) - less(a, b);
  default:
    return unknownDim();
  }
}

Dim DimReader::readSelect(arith::SelectOp op, DimBound bound) {
  Dim condition = read(op.getCondition(), DimBound::Exact);
  Dim a = read(op.getTrueValue(), bound), b = read(op.getFalseValue(), bound);
  return bound == DimBound::Upper && !condition.valid()
             ? max(a, b)
             : select(condition, a, b);
}

Dim DimReader::readOp(Operation *op, DimBound bound) {
  if (op->getNumOperands() != 2)
    return unknownDim();
  bool grows =
      isa<arith::AddIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp>(op);
  DimBound inner = grows ? bound : DimBound::Exact;
  Dim a = read(op->getOperand(0), inner), b = read(op->getOperand(1), inner);
  return llvm::TypeSwitch<Operation *, Dim>(op)
      .Case<arith::AddIOp>([&](auto) { return a + b; })
      .Case<arith::SubIOp>([&](auto) { return a - b; })
      .Case<arith::MulIOp>([&](auto) { return a * b; })
      .Case<arith::DivUIOp, arith::FloorDivSIOp>(
          [&](auto) { return floorDiv(a, b); })
      .Case<arith::DivSIOp>([&](auto) { return truncDiv(a, b); })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>(
          [&](auto) { return ceilDiv(a, b); })
      .Case<arith::CmpIOp>([&](arith::CmpIOp comparison) {
        return compared(comparison.getPredicate(), a, b);
      })
      .Case<arith::MinSIOp>([&](auto) {
        if (bound == DimBound::Upper && a.valid() != b.valid())
          return a.valid() ? a : b;
        return min(a, b);
      })
      .Case<arith::MaxSIOp>([&](auto) { return max(a, b); })
      .Default([](Operation *) { return unknownDim(); });
}

Dim DimReader::readExpr(AffineExpr expr, affine::AffineApplyOp op,
                        DimBound bound) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return read(op.getDimOperands()[dim.getPosition()], bound);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return read(op.getSymbolOperands()[symbol.getPosition()], bound);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  // Growing in both operands, unless it takes a negative multiple.
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  bool grows = expr.getKind() == AffineExprKind::Add ||
               (factor && factor.getValue() >= 0 &&
                expr.getKind() != AffineExprKind::Mod);
  DimBound inner = grows ? bound : DimBound::Exact;
  Dim a = readExpr(binary.getLHS(), op, inner);
  Dim b = readExpr(binary.getRHS(), op, inner);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::Mod:
    return mod(a, b);
  case AffineExprKind::FloorDiv:
    return floorDiv(a, b);
  default:
    return ceilDiv(a, b);
  }
}

Dim DimReader::read(OpFoldResult size, DimBound bound) {
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return *constant;
  auto value = cast<Value>(size);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return readArgument(argument);
  Operation *op = value.getDefiningOp();
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return readExpr(apply.getMap().getResult(0), apply, bound);
  if (auto dim = dyn_cast<memref::DimOp>(op))
    return readSize(dim.getSource(), dim.getConstantIndex());
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return read(op->getOperand(0), bound);
  if (auto choice = dyn_cast<arith::SelectOp>(op))
    return readSelect(choice, bound);
  return readOp(op, bound);
}

std::optional<Dim> indexDim(const Dispatch &dispatch, OpFoldResult value,
                            DimBound bound) {
  Dim dim = DimReader{dispatch}.read(value, bound);
  return dim.valid() ? std::optional(dim) : std::nullopt;
}

/// The largest that a size can be: a number where there is one.
static std::optional<Dim> upperBound(const Dispatch &dispatch,
                                     OpFoldResult size) {
  FailureOr<int64_t> number = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, size, /*stopCondition=*/nullptr,
      /*closedUB=*/true);
  if (succeeded(number))
    return Dim(std::max<int64_t>(*number, 0));
  return indexDim(dispatch, size, DimBound::Upper);
}

FailureOr<Dim> allocationBytes(const Dispatch &dispatch, memref::AllocOp op) {
  unsigned bits = op.getType().getElementTypeBitWidth();
  Dim bytes(int64_t(llvm::divideCeil(bits, 8)));
  for (OpFoldResult size : op.getMixedSizes()) {
    auto dim = upperBound(dispatch, size);
    if (!dim)
      return op.emitOpError("its size has no bound in terms of the symbols");
    bytes = bytes * *dim;
  }
  return ceilDiv(bytes, Dim(64)) * Dim(64);
}

bool isInput(Value memory) {
  while (auto view = memory.getDefiningOp<ViewLikeOpInterface>())
    memory = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(memory);
  auto func = argument
                  ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                  : func::FuncOp();
  auto inputs =
      func ? func->getAttrOfType<IntegerAttr>(bp::inputsAttr) : IntegerAttr();
  return inputs && int64_t(argument.getArgNumber()) < inputs.getInt();
}

bool hasOuterEffects(Operation &op) {
  return !isMemoryEffectFree(&op) && !isa<memref::AllocOp>(op);
}

void addCleanup(OpPassManager &passes) {
  passes.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

} // namespace backplane
