// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/CheckedPass.h"

#include "sdk/compiler/FatalErrors.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <mutex>
#include <set>

using namespace mlir;
using namespace backplane;

namespace {

using Dialects = std::set<StringRef>;

Dialects dialectsIn(Operation *root) {
  Dialects names;
  root->walk([&](Operation *op) {
    names.insert(op->getName().getDialectNamespace());
  });
  return names;
}

Dialects declaredBy(const Pass &pass) {
  DialectRegistry registry;
  pass.getDependentDialects(registry);
  Dialects names;
  for (StringRef name : registry.getDialectNames())
    names.insert(name);
  return names;
}

/// Whether `op` is `root` or in it.
bool isWithin(Operation *root, Operation *op) {
  for (; op; op = op->getParentOp())
    if (op == root)
      return true;
  return false;
}

/// Whether a value is defined in `root`.
bool isDefinedIn(Operation *root, mlir::Value value) {
  Block *block = value.getParentBlock();
  return block && isWithin(root, block->getParentOp());
}

std::string nameOf(Operation *op) { return op->getName().getStringRef().str(); }

/// What is wrong with who uses a value of `op`; empty: nothing.
std::string foreignUser(Operation *root, Operation *op, mlir::Value value) {
  for (Operation *user : value.getUsers())
    if (!isWithin(root, user))
      return "leaves a value of " + nameOf(op) + " to " + nameOf(user) +
             ", which is not in the IR";
  return {};
}

/// What an op leaves dangling; empty: nothing. The verifier looks for the
/// blocks that define values, and takes it for given that there are any.
std::string danglingOf(Operation *root, Operation *op) {
  std::string found;
  auto look = [&](mlir::Value value) {
    if (found.empty())
      found = foreignUser(root, op, value);
  };
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::for_each(block.getArguments(), look);
  if (op == root)
    return found;
  llvm::for_each(op->getResults(), look);
  for (mlir::Value operand : op->getOperands())
    if (found.empty() && !isDefinedIn(root, operand))
      found = "leaves " + nameOf(op) + " with an operand that is not in the IR";
  return found;
}

std::string findDangling(Operation *root) {
  std::string found;
  root->walk([&](Operation *op) {
    found = danglingOf(root, op);
    return found.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return found;
}

/// A pass of a plug-in. Each run makes it anew and runs it alone.
class CheckedPass final : public Pass {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckedPass)
  CheckedPass(std::string plugin, PassFactory factory,
              std::unique_ptr<Pass> made)
      : Pass(TypeID::get<CheckedPass>(), made->getOpName()),
        plugin_(std::move(plugin)), factory_(std::move(factory)),
        made_(std::move(made)) {}

  StringRef getName() const override { return made_->getName(); }
  StringRef getArgument() const override { return made_->getArgument(); }
  StringRef getDescription() const override { return made_->getDescription(); }
  void getDependentDialects(DialectRegistry &registry) const override {
    made_->getDependentDialects(registry);
  }
  LogicalResult initializeOptions(
      StringRef options,
      function_ref<LogicalResult(const Twine &)> errorHandler) override {
    options_ = options.str();
    return made_->initializeOptions(options, errorHandler);
  }

protected:
  bool canScheduleOn(RegisteredOperationName name) const override {
    return !getOpName() || name.getStringRef() == *getOpName();
  }
  std::unique_ptr<Pass> clonePass() const override {
    auto copy = std::make_unique<CheckedPass>(plugin_, factory_, factory_());
    copy->options_ = options_;
    return copy;
  }
  void runOnOperation() override {
    if (std::string fault = run(getOperation()); !fault.empty()) {
      getOperation()->emitError() << label() << " " << fault;
      signalPassFailure();
    }
  }

private:
  std::string label() const {
    return plugin_ + ": pass '" + getArgument().str() + "'";
  }

  /// What went wrong; empty: nothing.
  std::string run(Operation *root) {
    std::string fault;
    Status crash = catchCrash(label(), [&] { fault = runAndLook(root); });
    return crash.ok() ? fault : crash.message();
  }

  std::string runAndLook(Operation *root) {
    Dialects before = dialectsIn(root), declared = declaredBy(*made_);
    if (failed(runAlone(root)))
      return "failed";
    if (std::string dangling = findDangling(root); !dangling.empty())
      return dangling;
    for (StringRef name : dialectsIn(root))
      if (!before.count(name) && !declared.count(name))
        return "makes ops of dialect '" + name.str() +
               "', which it does not declare in getDependentDialects";
    return failed(verify(root)) ? "leaves IR that is not valid" : "";
  }

  LogicalResult runAlone(Operation *root) {
    std::unique_ptr<Pass> pass = factory_();
    if (failed(pass->initializeOptions(options_, [&](const Twine &text) {
          return root->emitError(text);
        })))
      return failure();
    PassManager manager(root->getContext(), root->getName().getStringRef());
    manager.enableVerifier(false);
    manager.addPass(std::move(pass));
    return manager.run(root);
  }

  std::string plugin_;
  PassFactory factory_;
  std::unique_ptr<Pass> made_;
  std::string options_;
};

} // namespace

Status backplane::catchCrash(const std::string &what,
                             const std::function<void()> &body) {
  static std::mutex mutex;
  static Status first;
  static std::string culprit;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!first.ok())
      return Status(first.code(),
                    "does not run: one before it " + first.message() +
                        " in this process: " + culprit + " " + first.message());
  }
  Status status = catchSignals(body);
  std::lock_guard<std::mutex> lock(mutex);
  if (first.ok()) {
    first = status;
    culprit = what;
  }
  return status;
}

void backplane::registerCheckedPass(std::string plugin, PassFactory factory) {
  registerPass([plugin = std::move(plugin),
                factory = std::move(factory)]() -> std::unique_ptr<Pass> {
    return std::make_unique<CheckedPass>(plugin, factory, factory());
  });
}
