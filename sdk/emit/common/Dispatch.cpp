// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/common/Dispatch.h"
#include "sdk/dialect/Attributes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
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

/// Follows index arithmetic; `bound` is what the result may be.
struct DimReader {
  const Dispatch &dispatch;

  std::optional<Dim> read(Value value, DimBound bound);
  std::optional<Dim> readArgument(BlockArgument argument);
  std::optional<Dim> readSize(Value source, std::optional<int64_t> axis);
  std::optional<Dim> readProduct(Value source, ArrayRef<int64_t> axes);
  std::optional<Dim> readBinary(Operation *op, DimBound bound);
  std::optional<Dim> readSelect(arith::SelectOp op, DimBound bound);
  std::optional<Dim> readExpr(AffineExpr expr, AffineMap map,
                              ValueRange operands, DimBound bound);
  std::optional<Dim> readMin(AffineMap map, ValueRange operands,
                             DimBound bound);
  std::optional<Dim> readMax(AffineMap map, ValueRange operands,
                             DimBound bound);
};

} // namespace

std::optional<Dim> DimReader::readArgument(BlockArgument argument) {
  func::FuncOp func = dispatch.func;
  if (argument.getOwner() != &func.getBody().front())
    return std::nullopt;
  unsigned first = dispatch.bindings();
  unsigned number = argument.getArgNumber();
  if (number < first || number - first >= dispatch.symbols.size())
    return std::nullopt;
  return Dim::symbol(dispatch.symbols[number - first]);
}

/// The sizes that an op states for its result; none when it states none.
static SmallVector<OpFoldResult> statedSizes(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<OpFoldResult>>(op)
      .Case<tensor::EmptyOp, memref::AllocOp>(
          [](auto made) { return made.getMixedSizes(); })
      .Case<tensor::ExpandShapeOp, memref::ExpandShapeOp>([](auto expand) {
        return getMixedValues(expand.getStaticOutputShape(),
                              expand.getOutputShape(), expand.getContext());
      })
      .Case<memref::ViewOp>([](auto view) {
        return getMixedValues(view.getType().getShape(), view.getSizes(),
                              view.getContext());
      })
      .Default([](Operation *) { return SmallVector<OpFoldResult>(); });
}

/// The product of some sizes of a value.
std::optional<Dim> DimReader::readProduct(Value source,
                                          ArrayRef<int64_t> axes) {
  Dim product(1);
  for (int64_t axis : axes) {
    auto size = readSize(source, axis);
    if (!size)
      return std::nullopt;
    product = product * *size;
  }
  return product;
}

std::optional<Dim> DimReader::readSize(Value source,
                                       std::optional<int64_t> axis) {
  if (!axis)
    return std::nullopt;
  if (auto type = cast<ShapedType>(source.getType()); !type.isDynamicDim(*axis))
    return Dim(type.getDimSize(*axis));
  if (auto toTensor = source.getDefiningOp<bufferization::ToTensorOp>())
    source = toTensor.getBuffer();
  if (Operation *op = source.getDefiningOp()) {
    if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op))
      return readProduct(collapse.getSrc(),
                         collapse.getReassociationIndices()[*axis]);
    SmallVector<OpFoldResult> sizes = statedSizes(op);
    if (size_t(*axis) < sizes.size())
      return indexDim(dispatch, sizes[*axis], DimBound::Exact);
    return std::nullopt;
  }
  auto argument = cast<BlockArgument>(source);
  func::FuncOp func = dispatch.func;
  if (argument.getOwner() != &func.getBody().front())
    return std::nullopt;
  FailureOr<Dim> dim = argumentDim(dispatch, argument.getArgNumber(), *axis);
  if (failed(dim))
    return std::nullopt;
  return *dim;
}

/// 1 where the comparison holds, else 0.
static std::optional<Dim> compared(arith::CmpIPredicate predicate, const Dim &a,
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
    return std::nullopt;
  }
}

std::optional<Dim> DimReader::readSelect(arith::SelectOp op, DimBound bound) {
  auto a = read(op.getTrueValue(), bound), b = read(op.getFalseValue(), bound);
  auto condition = read(op.getCondition(), DimBound::Exact);
  if (!a || !b)
    return std::nullopt;
  if (condition)
    return select(*condition, *a, *b);
  return bound == DimBound::Upper ? std::optional(max(*a, *b)) : std::nullopt;
}

std::optional<Dim> DimReader::readBinary(Operation *op, DimBound bound) {
  if (op->getNumOperands() != 2)
    return std::nullopt;
  if (bound == DimBound::Upper && isa<arith::MinSIOp, arith::MinUIOp>(op)) {
    auto a = read(op->getOperand(0), bound), b = read(op->getOperand(1), bound);
    return a && b ? min(*a, *b) : (a ? a : b);
  }
  bool monotone =
      isa<arith::AddIOp, arith::MulIOp, arith::MaxSIOp, arith::MaxUIOp>(op);
  auto a = read(op->getOperand(0), monotone ? bound : DimBound::Exact);
  auto b = read(op->getOperand(1), monotone ? bound : DimBound::Exact);
  if (!a || !b)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<Dim>>(op)
      .Case<arith::AddIOp>([&](auto) { return *a + *b; })
      .Case<arith::SubIOp>([&](auto) { return *a - *b; })
      .Case<arith::MulIOp>([&](auto) { return *a * *b; })
      .Case<arith::DivUIOp, arith::FloorDivSIOp>(
          [&](auto) { return floorDiv(*a, *b); })
      .Case<arith::DivSIOp>([&](auto) { return truncDiv(*a, *b); })
      .Case<arith::CmpIOp>([&](arith::CmpIOp comparison) {
        return compared(comparison.getPredicate(), *a, *b);
      })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>(
          [&](auto) { return ceilDiv(*a, *b); })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](auto) { return mod(*a, *b); })
      .Case<arith::MinSIOp, arith::MinUIOp>([&](auto) { return min(*a, *b); })
      .Case<arith::MaxSIOp, arith::MaxUIOp>([&](auto) { return max(*a, *b); })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<Dim> DimReader::readExpr(AffineExpr expr, AffineMap map,
                                       ValueRange operands, DimBound bound) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Dim(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return read(operands[dim.getPosition()], bound);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return read(operands[map.getNumDims() + symbol.getPosition()], bound);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  // Growing in both operands, unless it takes a negative multiple.
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  bool grows = expr.getKind() == AffineExprKind::Add ||
               (factor && factor.getValue() >= 0 &&
                expr.getKind() != AffineExprKind::Mod);
  DimBound inner = grows ? bound : DimBound::Exact;
  auto a = readExpr(binary.getLHS(), map, operands, inner);
  auto b = readExpr(binary.getRHS(), map, operands, inner);
  if (!a || !b)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return *a + *b;
  case AffineExprKind::Mul:
    return *a * *b;
  case AffineExprKind::Mod:
    return mod(*a, *b);
  case AffineExprKind::FloorDiv:
    return floorDiv(*a, *b);
  case AffineExprKind::CeilDiv:
    return ceilDiv(*a, *b);
  default:
    return std::nullopt;
  }
}

std::optional<Dim> DimReader::readMin(AffineMap map, ValueRange operands,
                                      DimBound bound) {
  std::optional<Dim> result;
  for (AffineExpr expr : map.getResults()) {
    auto dim = readExpr(expr, map, operands, bound);
    if (!dim && bound == DimBound::Exact)
      return std::nullopt;
    if (dim)
      result = result ? min(*result, *dim) : *dim;
  }
  return result;
}

std::optional<Dim> DimReader::readMax(AffineMap map, ValueRange operands,
                                      DimBound bound) {
  std::optional<Dim> result;
  for (AffineExpr expr : map.getResults()) {
    auto dim = readExpr(expr, map, operands, bound);
    if (!dim)
      return std::nullopt;
    result = result ? max(*result, *dim) : *dim;
  }
  return result;
}

std::optional<Dim> DimReader::read(Value value, DimBound bound) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return Dim(constant.getSExtValue());
  if (auto argument = dyn_cast<BlockArgument>(value))
    return readArgument(argument);
  Operation *op = value.getDefiningOp();
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return readExpr(apply.getMap().getResult(0), apply.getMap(),
                    apply.getOperands(), bound);
  if (auto minimum = dyn_cast<affine::AffineMinOp>(op))
    return readMin(minimum.getMap(), minimum.getOperands(), bound);
  if (auto maximum = dyn_cast<affine::AffineMaxOp>(op))
    return readMax(maximum.getMap(), maximum.getOperands(), bound);
  if (auto size = dyn_cast<memref::DimOp>(op))
    return readSize(size.getSource(), size.getConstantIndex());
  if (auto size = dyn_cast<tensor::DimOp>(op))
    return readSize(size.getSource(), size.getConstantIndex());
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp>(op))
    return read(op->getOperand(0), bound);
  if (auto choice = dyn_cast<arith::SelectOp>(op))
    return readSelect(choice, bound);
  return readBinary(op, bound);
}

std::optional<Dim> indexDim(const Dispatch &dispatch, Value value,
                            DimBound bound) {
  return DimReader{dispatch}.read(value, bound);
}

std::optional<Dim> indexDim(const Dispatch &dispatch, OpFoldResult value,
                            DimBound bound) {
  if (auto attribute = dyn_cast<Attribute>(value))
    return Dim(cast<IntegerAttr>(attribute).getInt());
  return indexDim(dispatch, cast<Value>(value), bound);
}

/// The largest that a size can be: a number where there is one.
static std::optional<Dim> upperBound(const Dispatch &dispatch,
                                     OpFoldResult size) {
  auto value = dyn_cast<Value>(size);
  if (!value)
    return indexDim(dispatch, size, DimBound::Upper);
  FailureOr<int64_t> number = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, {value}, /*stopCondition=*/nullptr,
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
