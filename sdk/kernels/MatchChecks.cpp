// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/MatchChecks.h"

using namespace mlir;
using namespace bp;
using backplane::Dim;
using backplane::Symbol;

MatchedModel::MatchedModel(ModuleOp module, func::FuncOp main) : reads(main) {
  for (Operation &op : main.front()) {
    positions.try_emplace(&op, unsigned(positions.size()));
    hasReshapes |= isa<ReshapeOp>(op);
  }
  for (const Symbol &symbol : symbolsOf(module)) {
    // Of sizes without a limit any will do to compare costs.
    constexpr int64_t usual = 1024;
    bool isOpen = symbol.maximum == INT64_MAX;
    largest[symbol.name] =
        isOpen ? std::max(symbol.minimum, usual) : symbol.maximum;
    int64_t divisor = std::max<int64_t>(symbol.divisor, 1);
    if (divisor > 1)
      multiples[symbol.name] = Dim(divisor) * Dim::symbol(symbol.name);
    ranges[symbol.name] = {symbol.minimum / divisor, symbol.maximum / divisor};
  }
}

namespace {

class Checker {
public:
  Checker(const MatchedModel &model, const PatternMatch &match,
          const ValueMap &values)
      : model_(model), match_(match), values_(values) {}

  std::string conditions();
  std::string inputs();
  std::string innerValues();
  std::string innerReshapes();
  std::string convexity();

private:
  bool holds(const Dim &dim);
  bool lies(const Dim &dim, const Symbol &symbol);
  std::string sizes();
  bool isInside(Operation *op) {
    return llvm::is_contained(match_.ops, op) || isInnerReshape(op);
  }
  bool isInnerReshape(Operation *op) {
    return llvm::any_of(match_.reshapes,
                        [&](const InnerReshape &r) { return r.op == op; });
  }
  std::string usedOutside(Operation *op, Value result);

  const MatchedModel &model_;
  const PatternMatch &match_;
  const ValueMap &values_;
};

} // namespace

/// Whether the dim over symbols of the model is never 0.
bool Checker::holds(const Dim &dim) {
  Dim free = dim.substitute(model_.multiples);
  if (auto value = free.constant())
    return *value != 0;
  auto bounds = free.bounds(model_.ranges);
  return bounds && (bounds->low > 0 || bounds->high < 0);
}

/// Whether the dim is within the symbol's range.
bool Checker::lies(const Dim &dim, const Symbol &symbol) {
  return (symbol.minimum <= 0 || holds(Dim(1) - less(dim, symbol.minimum))) &&
         (symbol.maximum == INT64_MAX ||
          holds(Dim(1) - less(symbol.maximum, dim))) &&
         (symbol.divisor <= 1 || holds(equal(mod(dim, symbol.divisor), 0)));
}

/// "for d = 4*k, n = 8"
std::string Checker::sizes() {
  std::string text;
  for (const auto &[name, dim] : match_.symbols)
    text += (text.empty() ? " for " : ", ") + name + " = " + dim.str();
  return text;
}

std::string Checker::conditions() {
  const backplane::KernelText &text = match_.plan->text();
  for (const Symbol &symbol : text.symbols) {
    auto bound = match_.symbols.find(symbol.name);
    if (bound == match_.symbols.end())
      return "no axis of the model has the size " + symbol.name;
  }
  std::map<std::string, Dim, std::less<>> values(match_.symbols.begin(),
                                                 match_.symbols.end());
  for (const backplane::KernelPredicate &predicate : text.where)
    if (!holds(predicate.holds.substitute(values)))
      return "the condition " + predicate.text + " is not proved" + sizes();
  for (const Symbol &symbol : text.symbols)
    if (!lies(values.at(symbol.name), symbol))
      return "the size " + values.at(symbol.name).str() +
             " is not shown to be one that " + symbol.name + " may have";
  return {};
}

std::string Checker::inputs() {
  for (const auto &[pattern, number] : match_.plan->inputs) {
    Operation *source =
        sourceOfReshapes(values_.lookup(pattern)).getDefiningOp();
    auto inside = llvm::find(match_.ops, source);
    if (inside != match_.ops.end() &&
        !match_.plan->steps[size_t(inside - match_.ops.begin())].isShared)
      return "the input " + match_.plan->text().bindings[size_t(number)] +
             " would be " + describe(source) + ", which the kernel computes";
  }
  return {};
}

/// Who uses a result of an op outside; empty: nobody.
std::string Checker::usedOutside(Operation *op, Value result) {
  for (Operation *user : result.getUsers())
    if (!isInside(user))
      return "the kernel does not return " + describe(op) +
             ", which is used by " +
             (user->hasTrait<OpTrait::IsTerminator>()
                  ? std::string("the model's results")
                  : describe(user));
  return {};
}

/// A copy serves the kernel, unless the others need what it does not return.
std::string Checker::innerReshapes() {
  for (auto [op, value] : match_.reshapes) {
    if (match_.plan->inputs.contains(value) ||
        match_.plan->outputs.contains(value))
      continue;
    Operation *source = sourceOfReshapes(op->getResult(0)).getDefiningOp();
    auto found = llvm::find(match_.ops, source);
    if (found == match_.ops.end() ||
        match_.plan->steps[size_t(found - match_.ops.begin())].isShared)
      continue;
    if (auto user = usedOutside(source, op->getResult(0)); !user.empty())
      return user;
  }
  return {};
}

std::string Checker::innerValues() {
  for (auto [step, op] : llvm::zip_equal(match_.plan->steps, match_.ops)) {
    if (step.isShared)
      continue;
    for (auto [wanted, result] :
         llvm::zip_equal(step.op->getResults(), op->getResults())) {
      if (match_.plan->outputs.contains(wanted))
        continue;
      if (auto user = usedOutside(op, result); !user.empty())
        return user;
    }
  }
  return {};
}

/// Whether a path leads from the group through other ops back into it. Only ops
/// that stand between those of the group can be on it.
std::string Checker::convexity() {
  constexpr size_t most = 10000;
  llvm::DenseSet<Operation *> inside, seen;
  unsigned first = UINT_MAX;
  for (auto [step, op] : llvm::zip_equal(match_.plan->steps, match_.ops))
    if (!step.isShared) {
      inside.insert(op);
      first = std::min(first, model_.positions.at(op));
    }
  for (const InnerReshape &reshape : match_.reshapes)
    inside.insert(reshape.op);
  SmallVector<Operation *> open;
  auto visit = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && !inside.contains(op) && model_.positions.at(op) > first &&
        seen.insert(op).second)
      open.push_back(op);
  };
  auto visitSources = [&](Operation *op) {
    llvm::for_each(op->getOperands(), visit);
    llvm::for_each(model_.reads.neededBy(op), visit);
  };
  for (Operation *op : inside)
    visitSources(op);
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    if (seen.size() > most)
      return "too many ops stand between those of the kernel";
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && inside.contains(source))
        return "the kernel would need " + describe(op) +
               ", which needs the kernel's own result of " + describe(source);
    visitSources(op);
  }
  return {};
}

std::string bp::checkMatch(const MatchedModel &model, const PatternMatch &match,
                           const ValueMap &values) {
  Checker checker(model, match, values);
  for (auto check :
       {&Checker::conditions, &Checker::inputs, &Checker::innerValues,
        &Checker::innerReshapes, &Checker::convexity})
    if (std::string wrong = (checker.*check)(); !wrong.empty())
      return wrong;
  return {};
}
