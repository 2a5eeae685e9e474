// SPDX-License-Identifier: Apache-2.0
//
// Passes of a vendor, all but the first of which break a rule.
#include "backplane/mlir/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace {

arith::AddFOp sumIn(Operation *root) {
  arith::AddFOp found;
  root->walk([&](arith::AddFOp op) { found = op; });
  return found;
}

/// Breaks nothing: notes its option.
struct Note : PassWrapper<Note, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Note)
  Note() = default;
  Note(const Note &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "toy-note"; }
  void runOnOperation() override {
    Attribute value = Builder(&getContext()).getI64IntegerAttr(factor);
    getOperation().walk([&](func::FuncOp op) { op->setAttr("factor", value); });
  }
  Option<int64_t> factor{*this, "factor", llvm::cl::init(1)};
};

/// The same for a function.
struct NoteFunction : PassWrapper<NoteFunction, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NoteFunction)
  StringRef getArgument() const override { return "toy-note-function"; }
  void runOnOperation() override {
    getOperation()->setAttr("seen", UnitAttr::get(&getContext()));
  }
};

struct Crash : PassWrapper<Crash, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Crash)
  StringRef getArgument() const override { return "toy-crash"; }
  void runOnOperation() override {
    Operation *volatile nothing = nullptr;
    nothing->setAttr("x", UnitAttr::get(&getContext()));
  }
};

struct Fail : PassWrapper<Fail, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Fail)
  StringRef getArgument() const override { return "toy-fail"; }
  void runOnOperation() override {
    sumIn(getOperation())->emitError("no sums");
    signalPassFailure();
  }
};

/// An operand that is in no block.
struct Operand : PassWrapper<Operand, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Operand)
  StringRef getArgument() const override { return "toy-operand"; }
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    arith::AddFOp sum = sumIn(getOperation());
    sum->setOperand(1, arith::ConstantOp::create(builder, sum.getLoc(),
                                                 builder.getF32FloatAttr(1)));
  }
};

/// An op that is in no block, and uses an argument.
struct User : PassWrapper<User, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(User)
  StringRef getArgument() const override { return "toy-user"; }
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    arith::AddFOp sum = sumIn(getOperation());
    arith::NegFOp::create(builder, sum.getLoc(), sum.getLhs());
  }
};

struct Undeclared : PassWrapper<Undeclared, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Undeclared)
  StringRef getArgument() const override { return "toy-undeclared"; }
  void runOnOperation() override {
    arith::AddFOp sum = sumIn(getOperation());
    OpBuilder builder(sum);
    sum->setOperand(0,
                    math::AbsFOp::create(builder, sum.getLoc(), sum.getLhs()));
  }
};

/// A block without its end.
struct Invalid : PassWrapper<Invalid, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Invalid)
  StringRef getArgument() const override { return "toy-invalid"; }
  void runOnOperation() override {
    getOperation().walk([](func::ReturnOp op) { op.erase(); });
  }
};

} // namespace

void bp_mlir_passes_v0(backplane::PassSink *sink) {
  sink->put<Note>();
  sink->put<NoteFunction>();
  sink->put<Crash>();
  sink->put<Fail>();
  sink->put<Operand>();
  sink->put<User>();
  sink->put<Undeclared>();
  sink->put<Invalid>();
}
