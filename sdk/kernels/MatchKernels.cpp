// SPDX-License-Identifier: Apache-2.0
//
// MatchKernels.cpp: which of all matches are used, and their marks.
#include "sdk/kernels/Matcher.h"

#include "sdk/fusion/Fusion.h"
#include "sdk/support/Joined.h"

#include "mlir/IR/Builders.h"

#include <cmath>
#include <tuple>

using namespace mlir;
using namespace bp;
using backplane::Dim;

namespace {

constexpr size_t maxNearMisses = 8; ///< reported of a kernel

/// What a match costs where the symbols are largest, in ns.
struct Price {
  double kernel = 0; ///< infinite: its expression has no value
  std::optional<double> generated;
  bool isLow() const { return !generated || kernel < *generated; }
  std::string text() const;
};

/// A match, and what it is compared by.
struct Candidate {
  PatternMatch match;
  Price price;
  auto rank(const MatchedModel &model) const {
    size_t size = match.ops.size();
    return std::tuple(!match.plan->pattern.kernel->cost.empty(),
                      price.kernel / double(size), SIZE_MAX - size,
                      match.plan->pattern.number,
                      model.positions.at(match.ops[0]));
  }
};

class KernelMatcher {
public:
  KernelMatcher(ModuleOp module, func::FuncOp main, unsigned device,
                ArrayRef<KernelPattern> patterns,
                const GeneratedCost &generated);
  KernelReport run();

private:
  std::vector<PatternPlan> planAll(ArrayRef<KernelPattern> patterns);
  void find(const PatternPlan &plan);
  void note(const PatternPlan &plan, PatternMatch match, Operation *root);
  backplane::SymbolValues sizesOf(const PatternMatch &match) const;
  Price priceOf(const PatternMatch &match) const;
  std::set<int32_t> fusedInputs(const PatternMatch &match) const;
  void take(const Candidate &candidate);
  void takeFills(SmallVector<Operation *> &own);
  SmallVector<Operation *> ownOps(const PatternMatch &match);
  void mark(const PatternMatch &match, ArrayRef<Operation *> own);
  DictionaryAttr markOf(const PatternMatch &match, ArrayRef<int32_t> operands,
                        ArrayRef<int32_t> results);
  void reportNearMisses();

  func::FuncOp main_;
  const GeneratedCost &generated_;
  Builder builder_;
  KernelReport report_;
  std::vector<PatternPlan> plans_;
  Fills fills_;
  MatchedModel model_;
  llvm::StringMap<SmallVector<Operation *>> byName_;
  std::vector<Candidate> candidates_;
  /// The furthest near miss of each kernel at each op.
  llvm::MapVector<std::pair<size_t, Operation *>, PatternMatch> nearMisses_;
  llvm::DenseSet<Operation *> taken_;
  int64_t groups_ = 0;
};

/// "matmul (/a), add (/b) and 3 more"
std::string listOf(ArrayRef<Operation *> ops) {
  constexpr size_t most = 8;
  std::string text =
      backplane::joined(ops.take_front(most), ", ", bp::describe);
  if (ops.size() > most)
    text += " and " + std::to_string(ops.size() - most) + " more";
  return text;
}

std::string nameOf(const PatternPlan &plan) {
  const std::string &choice = plan.text().graphs[plan.pattern.graph].choice;
  return "kernel " + plan.pattern.kernel->fullName() +
         (choice.empty() ? "" : " (" + choice + ")");
}

/// "90 ns, generated code an estimated 100 ns"
std::string Price::text() const {
  auto ns = [](double value) {
    return std::isfinite(value) ? std::to_string(int64_t(value)) + " ns"
                                : std::string("too much to say");
  };
  return ns(kernel) + ", generated code an estimated " + ns(*generated);
}

} // namespace

KernelMatcher::KernelMatcher(ModuleOp module, func::FuncOp main,
                             unsigned device, ArrayRef<KernelPattern> patterns,
                             const GeneratedCost &generated)
    : main_(main), generated_(generated), builder_(module.getContext()),
      plans_(planAll(patterns)), fills_(main, plans_), model_(module, main) {
  model_.fills = &fills_;
  // What other devices' kernels, or partitions, have taken.
  for (Operation &op : main.front().without_terminator())
    if (auto group = op.getAttrOfType<DictionaryAttr>(kernelAttr)) {
      groups_ =
          std::max(groups_, group.getAs<IntegerAttr>("group").getInt() + 1);
      taken_.insert(&op);
    } else if (deviceOf(&op) == device) {
      byName_[op.getName().getStringRef()].push_back(&op);
    }
}

std::vector<PatternPlan>
KernelMatcher::planAll(ArrayRef<KernelPattern> patterns) {
  std::vector<PatternPlan> plans;
  for (const KernelPattern &pattern : patterns) {
    auto plan = planPattern(pattern);
    if (plan) {
      plans.push_back(std::move(*plan));
    } else if (pattern.replaced.empty()) {
      PatternPlan failed;
      failed.pattern = pattern;
      report_.nearMisses.push_back(nameOf(failed) +
                                   " is never used: " + plan.message());
    }
  }
  return plans;
}

/// What the symbols of the text are where those of the model are largest;
/// without those that have no value.
backplane::SymbolValues
KernelMatcher::sizesOf(const PatternMatch &match) const {
  backplane::SymbolValues sizes;
  for (const auto &[symbol, dim] : match.symbols)
    if (auto size = dim.evaluate(model_.largest))
      sizes[symbol] = *size;
  return sizes;
}

/// What generated code would neither write nor read: results of ops that
/// nothing else uses and that fuse with a kernel of elementwise ops.
std::set<int32_t> KernelMatcher::fusedInputs(const PatternMatch &match) const {
  std::set<int32_t> fused;
  const PatternPlan &plan = *match.plan;
  const backplane::KernelGraph &graph = plan.text().graphs[plan.pattern.graph];
  for (auto [step, op, swapped] :
       llvm::zip_equal(plan.steps, match.ops, match.swapped)) {
    if (step.isShared)
      continue;
    if (kindOf(op) != OpKind::Elementwise)
      return {};
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      auto input = plan.inputs.find(step.op->getOperand(i));
      Value value = op->getOperand(swapped ? 1 - i : i);
      Operation *source = value.getDefiningOp();
      if (input == plan.inputs.end() || !source || !value.hasOneUse())
        continue;
      OpKind kind = kindOf(source);
      if (kind == OpKind::Elementwise || kind == OpKind::Reduction ||
          kind == OpKind::Window || kind == OpKind::Contraction)
        fused.insert(graph.bindings[size_t(input->second)]);
    }
  }
  return fused;
}

/// Of a kernel without a cost: nothing.
Price KernelMatcher::priceOf(const PatternMatch &match) const {
  const std::string &text = match.plan->pattern.kernel->cost;
  if (text.empty())
    return {};
  const backplane::KernelText &kernel = match.plan->text();
  const backplane::KernelGraph &graph =
      kernel.graphs[match.plan->pattern.graph];
  backplane::SymbolValues sizes = sizesOf(match);
  Price price;
  // A share of generated code is one of code that fuses with nothing.
  if (auto alone =
          generated_ ? generated_(graph.graph, sizes, {}) : std::nullopt) {
    price.generated = generated_(graph.graph, sizes, fusedInputs(match));
    sizes[std::string(backplane::generatedSymbol)] = int64_t(*alone);
  }
  for (uint32_t i = 0; i < kernel.inputCount; ++i)
    sizes[backplane::presenceSymbol(kernel.bindings[i])] =
        graph.bindings[i] >= 0;
  for (auto [name, choice] : llvm::zip_equal(kernel.variables, graph.choices))
    sizes[name] = choice;
  price.kernel = std::numeric_limits<double>::infinity();
  if (auto cost = Dim::parse(text))
    if (auto ns = cost->evaluate(sizes))
      price.kernel = double(*ns);
  return price;
}

void KernelMatcher::note(const PatternPlan &plan, PatternMatch match,
                         Operation *root) {
  if (match.found) {
    Price price = priceOf(match);
    if (price.isLow()) {
      candidates_.push_back({std::move(match), price});
      return;
    }
    match.difference = "it costs " + price.text();
  }
  if (match.difference.empty())
    return;
  auto [known, isNew] =
      nearMisses_.insert({{plan.pattern.number, root}, match});
  if (!isNew && known->second.agreed < match.agreed)
    known->second = std::move(match);
}

void KernelMatcher::find(const PatternPlan &plan) {
  auto roots = byName_.find(plan.steps[0].op->getName().getStringRef());
  if (roots == byName_.end())
    return;
  for (Operation *root : roots->second)
    note(plan, matchAt(model_, plan, root), root);
}

/// Puts copies of broadcasts in the place of the constants that they equal.
void KernelMatcher::takeFills(SmallVector<Operation *> &own) {
  for (Operation *&op : own)
    if (Operation *constant = fills_.constantOf(op)) {
      op = OpBuilder(op).clone(*op);
      constant->getResult(0).replaceUsesWithIf(
          op->getResult(0), [&](OpOperand &use) {
            return llvm::is_contained(own, use.getOwner());
          });
    }
}

/// The ops of a match, then the reshapes between them, with copies of those
/// that are used outside, too. Weights stay in `main`.
SmallVector<Operation *> KernelMatcher::ownOps(const PatternMatch &match) {
  SmallVector<Operation *> own(match.ops.begin(), match.ops.end());
  SmallVector<size_t> shared;
  for (auto [i, step] : llvm::enumerate(match.plan->steps))
    if (step.isShared && !isa<WeightOp>(step.op))
      shared.push_back(i);
  for (const InnerReshape &reshape : match.reshapes) {
    shared.push_back(own.size());
    own.push_back(reshape.op);
  }
  takeFills(own);
  auto isOwn = [&](Operation *op) { return llvm::is_contained(own, op); };
  // A copy of a user leaves the original outside: users go first.
  llvm::sort(shared, [&](size_t a, size_t b) {
    return own[b]->isBeforeInBlock(own[a]);
  });
  for (size_t i : shared) {
    Operation *op = own[i];
    if (llvm::all_of(op->getUsers(), isOwn))
      continue;
    own[i] = OpBuilder(op).clone(*op);
    op->getResult(0).replaceUsesWithIf(
        own[i]->getResult(0),
        [&](OpOperand &use) { return isOwn(use.getOwner()); });
  }
  return own;
}

/// For each value of the model its number among those of the pattern, where the
/// group reads it from outside or returns it; else -1.
static SmallVector<int32_t>
numbersOf(ValueRange patterns, ValueRange values,
          const llvm::DenseMap<Value, int32_t> &known,
          const llvm::DenseSet<Operation *> &reshapes) {
  SmallVector<int32_t> numbers;
  for (auto [pattern, value] : llvm::zip_equal(patterns, values)) {
    auto found = known.find(pattern);
    bool isInner = reshapes.contains(value.getDefiningOp());
    numbers.push_back(found == known.end() || isInner ? -1 : found->second);
  }
  return numbers;
}

DictionaryAttr KernelMatcher::markOf(const PatternMatch &match,
                                     ArrayRef<int32_t> operands,
                                     ArrayRef<int32_t> results) {
  const PatternPlan &plan = *match.plan;
  std::vector<Dim> symbols;
  for (const backplane::Symbol &symbol : plan.text().symbols)
    symbols.push_back(match.symbols.at(symbol.name));
  Builder &b = builder_;
  auto number = [&](int64_t value) { return b.getI64IntegerAttr(value); };
  return b.getDictionaryAttr(
      {b.getNamedAttr("group", number(groups_)),
       b.getNamedAttr("name", b.getStringAttr(plan.pattern.kernel->fullName())),
       b.getNamedAttr("number", number(int64_t(plan.pattern.number))),
       b.getNamedAttr("graph", number(int64_t(plan.pattern.graph))),
       b.getNamedAttr("symbols", DimsAttr::get(b.getContext(), symbols)),
       b.getNamedAttr("bindings", number(int64_t(plan.text().bindings.size()))),
       b.getNamedAttr("operands", b.getDenseI32ArrayAttr(operands)),
       b.getNamedAttr("results", b.getDenseI32ArrayAttr(results))});
}

void KernelMatcher::mark(const PatternMatch &match, ArrayRef<Operation *> own) {
  const PatternPlan &plan = *match.plan;
  size_t steps = plan.steps.size();
  llvm::DenseSet<Operation *> reshapes(own.begin() + steps, own.end());
  for (auto [i, op] : llvm::enumerate(own)) {
    if (isa<WeightOp>(op))
      continue;
    if (i >= steps) {
      Value pattern = match.reshapes[i - steps].value;
      op->setAttr(kernelAttr, markOf(match,
                                     numbersOf(pattern, op->getOperands(),
                                               plan.inputs, reshapes),
                                     -1));
      continue;
    }
    Operation *step = plan.steps[i].op;
    SmallVector<Value> patterns(step->getOperands());
    if (match.swapped[i])
      std::reverse(patterns.begin(), patterns.end());
    op->setAttr(
        kernelAttr,
        markOf(
            match,
            numbersOf(patterns, op->getOperands(), plan.inputs, reshapes),
            numbersOf(step->getResults(), op->getResults(), plan.outputs, {})));
  }
}

void KernelMatcher::take(const Candidate &candidate) {
  const PatternMatch &match = candidate.match;
  SmallVector<Operation *> own = ownOps(match);
  mark(match, own);
  ++groups_;
  std::vector<Operation *> ops;
  for (auto [step, op] : llvm::zip(match.plan->steps, own))
    if (!step.isShared)
      ops.push_back(op);
  taken_.insert(ops.begin(), ops.end());
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  report_.used.push_back(nameOf(*match.plan) + " computes " + listOf(ops) +
                         (candidate.price.generated
                              ? ": it costs " + candidate.price.text()
                              : ""));
}

/// Those whose first op no kernel computes now.
void KernelMatcher::reportNearMisses() {
  std::map<const backplane::RegisteredKernel *, size_t> counts;
  for (const auto &[where, match] : nearMisses_) {
    Operation *root = where.second;
    if (taken_.contains(root))
      continue;
    size_t count = ++counts[match.plan->pattern.kernel];
    if (count > maxNearMisses)
      continue;
    report_.nearMisses.push_back(nameOf(*match.plan) + " is not used at " +
                                 describe(root) + ": " + match.difference);
  }
  for (auto [kernel, count] : counts)
    if (count > maxNearMisses)
      report_.nearMisses.push_back(
          "kernel " + kernel->fullName() + " is not used at " +
          std::to_string(count - maxNearMisses) + " more ops");
}

KernelReport KernelMatcher::run() {
  for (const PatternPlan &plan : plans_)
    find(plan);
  llvm::stable_sort(candidates_, [&](const Candidate &a, const Candidate &b) {
    return a.rank(model_) < b.rank(model_);
  });
  for (const Candidate &candidate : candidates_)
    if (llvm::none_of(candidate.match.ops,
                      [&](Operation *op) { return taken_.contains(op); }))
      take(candidate);
  reportNearMisses();
  return std::move(report_);
}

KernelReport bp::matchKernels(ModuleOp module, unsigned device,
                              ArrayRef<KernelPattern> patterns,
                              const GeneratedCost &generated) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || !main.getBody().hasOneBlock() ||
      patterns.empty())
    return {};
  return KernelMatcher(module, main, device, patterns, generated).run();
}
