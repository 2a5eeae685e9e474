// SPDX-License-Identifier: Apache-2.0
//
// The pass `bp-lower-to-linalg`: each function is rebuilt, op by op, behind
// its new signature; then elementwise ops are fused and results put into the
// destinations.
#include "sdk/dialect/Attributes.h"
#include "sdk/lower/Destination.h"
#include "sdk/lower/Fuse.h"
#include "sdk/lower/Lowering.h"
#include "sdk/lower/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace bp {
#define GEN_PASS_DEF_LOWERTOLINALGPASS
#include "sdk/lower/Passes.h.inc"
} // namespace bp

using namespace bp;
using namespace bp::lower;

namespace {

bool isBpOp(Operation &op) {
  return isa_and_nonnull<BpDialect>(op.getDialect());
}

/// Whether the pass has anything to do with the function.
bool concerns(func::FuncOp function) {
  if (function.isExternal() || function->hasAttr(bp::inputsAttr))
    return false;
  return function->hasAttr(bp::symbolsAttr) ||
         llvm::any_of(function.front(), isBpOp);
}

LogicalResult checkType(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitOpError("needs ranked tensors, found ") << type;
  if (!elementOf(type).storage)
    return op->emitOpError("has no lowering to linalg for elements of type ")
           << tensor.getElementType() << "; decompose or cast it first";
  if (!tensor.hasStaticShape() &&
      !isa_and_nonnull<DimsAttr>(tensor.getEncoding()))
    return op->emitOpError("needs #bp.dims on dynamic tensors, found ") << type;
  return success();
}

/// Ops the pass can take: `bp` ops over types that have a storage form.
LogicalResult check(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("needs one block to be lowered to linalg");
  if (Attribute symbols = function->getAttr(bp::symbolsAttr)) {
    auto list = dyn_cast<ArrayAttr>(symbols);
    if (!list || !llvm::all_of(list, llvm::IsaPred<StringAttr>))
      return function.emitOpError("needs bp.symbols to be a list of strings, "
                                  "found ")
             << symbols;
  }
  for (Type type : function.getFunctionType().getInputs())
    if (failed(checkType(function, type)))
      return failure();
  for (Operation &op : function.front()) {
    if (isa<func::ReturnOp>(op))
      continue;
    if (!isBpOp(op))
      return op.emitOpError("cannot stand among bp ops when they are lowered");
    for (Type type : op.getResultTypes())
      if (failed(checkType(&op, type)))
        return failure();
  }
  return success();
}

/// Rebuilds one function in its new form.
class FunctionLowering {
public:
  explicit FunctionLowering(func::FuncOp function)
      : function(function), old(function.front()),
        builder(function.getLoc(), function.getContext()), lowering(builder) {}

  LogicalResult run() {
    buildEntry();
    builder.setInsertionPointToStart(entry);
    readArguments();
    for (Operation &op : old.without_terminator()) {
      builder.setLoc(op.getLoc());
      if (failed(lowerOp(lowering, &op)) || lowering.broken)
        return failure();
    }
    finish();
    return lowering.broken ? failure() : success();
  }

private:
  void addTensor(Type bpType) {
    SmallVector<StringAttr> texts = lowering.boundaryDims(bpType);
    SmallVector<Attribute> list(texts.begin(), texts.end());
    auto dims = builder.getNamedAttr(bp::dimsAttr, builder.getArrayAttr(list));
    attributes.push_back(builder.getDictionaryAttr(dims));
    entry->addArgument(lowering.boundaryType(bpType), function.getLoc());
  }

  Value addPlain(Type type) {
    attributes.push_back(builder.getDictionaryAttr({}));
    return entry->addArgument(type, function.getLoc());
  }

  /// The new arguments, and what they mean.
  void buildEntry() {
    entry = new Block();
    function.getBody().push_back(entry);
    ArrayRef<Type> results = function.getFunctionType().getResults();
    for (BlockArgument argument : old.getArguments())
      addTensor(argument.getType());
    for (Type type : results)
      addTensor(type);
    if (auto symbols = function->getAttrOfType<ArrayAttr>(bp::symbolsAttr))
      for (StringAttr symbol : symbols.getAsRange<StringAttr>())
        lowering.symbols.bind(symbol, addPlain(builder.getIndexType()));
    if (llvm::any_of(old, [](Operation &op) { return mayReport(&op); }))
      lowering.errorWord = addPlain(MemRefType::get(1, builder.getI32Type()));
  }

  void readArguments() {
    for (auto [argument, bound] :
         llvm::zip(old.getArguments(), entry->getArguments()))
      lowering.setTensor(argument,
                         lowering.fromBoundary(bound, argument.getType()));
  }

  void finish() {
    SmallVector<Value> results;
    SmallVector<Type> types;
    for (Value result : old.getTerminator()->getOperands()) {
      results.push_back(
          lowering.toBoundary(lowering.tensor(result), result.getType()));
      types.push_back(lowering.boundaryType(result.getType()));
      if (results.back().getType() != types.back())
        results.back() =
            tensor::CastOp::create(builder, types.back(), results.back());
    }
    func::ReturnOp::create(builder, function.getLoc(), results);
    size_t inputs = old.getNumArguments();
    eraseOld();
    function.setFunctionType(
        builder.getFunctionType(entry->getArgumentTypes(), types));
    function.setAllArgAttrs(attributes);
    function.removeResAttrsAttr();
    function->setAttr(bp::inputsAttr, builder.getI64IntegerAttr(inputs));
    function->setAttr(bp::outputsAttr, builder.getI64IntegerAttr(types.size()));
    if (!function->hasAttr(bp::symbolsAttr))
      function->setAttr(bp::symbolsAttr, builder.getArrayAttr({}));
    if (lowering.errorWord)
      function->setAttr(bp::errorAttr, builder.getUnitAttr());
  }

  void eraseOld() {
    while (!old.empty())
      old.back().erase();
    old.erase();
  }

  func::FuncOp function;
  Block &old;
  Block *entry = nullptr;
  SmallVector<DictionaryAttr> attributes;
  ImplicitLocOpBuilder builder;
  Lowering lowering;
};

struct LowerToLinalgPass : bp::impl::LowerToLinalgPassBase<LowerToLinalgPass> {
  LogicalResult lowerFunction(func::FuncOp function) {
    if (failed(check(function)) || failed(FunctionLowering(function).run()) ||
        failed(fuseElementwise(function)))
      return failure();
    assignDestinations(function);
    return success();
  }

  void runOnOperation() override {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (concerns(function) && failed(lowerFunction(function)))
        return signalPassFailure();
  }
};

} // namespace
