// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/Matcher.h"

#include "sdk/kernels/MatchChecks.h"

using namespace mlir;
using namespace bp;
using backplane::Dim;
using backplane::Dims;

namespace {

/// Ways that are tried for each op of a pattern at one place of a model.
constexpr size_t triesPerStep = 16;
/// Users of a value that are looked at.
constexpr size_t maxUsers = 64;

/// Backtracks over the two orders of operands and over the users of a value.
class Matcher {
public:
  Matcher(const MatchedModel &model, const PatternPlan &plan)
      : model_(model), plan_(plan) {}

  PatternMatch run(Operation *root) {
    result_.plan = &plan_;
    tries_ = triesPerStep * plan_.steps.size();
    result_.found = matchOp(0, root);
    return std::move(result_);
  }

private:
  struct Mark {
    size_t values, symbols, deferred;
  };
  Mark mark() const {
    return {boundValues_.size(), boundSymbols_.size(), deferred_.size()};
  }
  void undo(const Mark &mark);
  bool match(size_t step);
  bool matchOp(size_t step, Operation *op);
  bool bind(const PatternStep &step, Operation *op, bool swapped);
  bool bindAttributes(Operation *pattern, Operation *op);
  bool bindAttribute(Operation *op, NamedAttribute wanted, Attribute found);
  bool bindValue(Value pattern, Value value);
  bool bindDims(const Dims &pattern, const Dims &dims, Value value);
  bool bindDim(const Dim &pattern, const Dim &dim);
  bool finish();
  /// Notes why it is not this op; the furthest difference is kept.
  bool differ(llvm::function_ref<std::string()> text);

  const MatchedModel &model_;
  const PatternPlan &plan_;
  size_t tries_ = 0; ///< that are left
  PatternMatch result_;
  llvm::DenseMap<Value, Value> values_;
  std::vector<Value> boundValues_;
  std::vector<std::string> boundSymbols_;
  /// Pairs that wait for symbols, and the values that they are of.
  std::vector<std::tuple<Dim, Dim, Value>> deferred_;
};

std::string describe(Value value) {
  if (Operation *op = value.getDefiningOp())
    return bp::describe(op);
  auto argument = cast<BlockArgument>(value);
  auto main = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name =
      main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nameAttr);
  return name ? "%" + name.str() : "an input";
}

std::string textOf(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text.size() > 80 ? text.substr(0, 80) + "…" : text;
}

bool isIgnored(StringRef attribute) { return attribute.starts_with("bp."); }

} // namespace

std::string bp::describe(Operation *op) {
  std::string text = op->getName().stripDialect().str();
  std::string location = locationText(op->getLoc());
  return location.empty() ? text : text + " (" + location + ")";
}

void Matcher::undo(const Mark &mark) {
  for (; boundValues_.size() > mark.values; boundValues_.pop_back())
    values_.erase(boundValues_.back());
  for (; boundSymbols_.size() > mark.symbols; boundSymbols_.pop_back())
    result_.symbols.erase(boundSymbols_.back());
  deferred_.resize(mark.deferred);
}

bool Matcher::differ(llvm::function_ref<std::string()> text) {
  size_t agreed = result_.ops.size();
  bool isNear = agreed > 0 && 2 * agreed >= plan_.steps.size();
  if (isNear && (result_.difference.empty() || agreed > result_.agreed)) {
    result_.difference = text();
    result_.agreed = agreed;
  }
  return false;
}

// ---- dims ----

bool Matcher::bindDim(const Dim &pattern, const Dim &dim) {
  if (auto symbol = pattern.symbolName()) {
    auto [known, isNew] = result_.symbols.try_emplace(*symbol, dim);
    if (isNew)
      boundSymbols_.push_back(*symbol);
    return known->second == dim;
  }
  return pattern.substitute({result_.symbols.begin(), result_.symbols.end()}) ==
         dim;
}

bool Matcher::bindDims(const Dims &pattern, const Dims &dims, Value value) {
  bool same = pattern.size() == dims.size();
  for (size_t i = 0; same && i < dims.size(); ++i) {
    std::set<std::string> names;
    pattern[i].collectSymbols(names);
    bool isKnown = llvm::all_of(
        names, [&](auto &name) { return result_.symbols.contains(name); });
    if (isKnown || pattern[i].symbolName())
      same = bindDim(pattern[i], dims[i]);
    else
      deferred_.emplace_back(pattern[i], dims[i], value);
  }
  return same;
}

// ---- values ----

bool Matcher::bindValue(Value pattern, Value value) {
  auto [known, isNew] = values_.try_emplace(pattern, value);
  if (!isNew)
    return known->second == value || differ([&] {
             return "its graph has one value, " + ::describe(pattern) +
                    ", where the model has " + ::describe(known->second) +
                    " and " + ::describe(value);
           });
  boundValues_.push_back(pattern);
  auto wanted = toTensorType(pattern.getType());
  auto found = toTensorType(value.getType());
  if (!wanted || !found)
    return differ([] { return std::string("a value is no tensor"); });
  if (wanted->dtype != found->dtype)
    return differ([&] {
      return ::describe(pattern) + " is " +
             std::string(backplane::name(wanted->dtype)) + ", " +
             ::describe(value) + " is " +
             std::string(backplane::name(found->dtype));
    });
  if (bindDims(wanted->dims, found->dims, value))
    return true;
  return differ([&] {
    return ::describe(pattern) + " is " + wanted->str() + ", " +
           ::describe(value) + " is " + found->str();
  });
}

// ---- attributes ----

bool Matcher::bindAttribute(Operation *op, NamedAttribute wanted,
                            Attribute found) {
  bool same = wanted.getValue() == found;
  if (auto dims = dyn_cast<DimsAttr>(wanted.getValue())) {
    auto others = dyn_cast_or_null<DimsAttr>(found);
    same = others && bindDims(dims.getDims(), others.getDims(),
                              op->getNumResults() ? op->getResult(0) : Value());
  } else if (auto elements = dyn_cast<DenseElementsAttr>(wanted.getValue())) {
    // One that fills a value has another type if the dims are symbols.
    auto others = dyn_cast_or_null<DenseElementsAttr>(found);
    same = others && elements.getElementType() == others.getElementType() &&
           toBytes(elements) == toBytes(others);
  }
  return same || differ([&] {
           return "its graph has " + wanted.getName().str() + " = " +
                  textOf(wanted.getValue()) + ", " + bp::describe(op) +
                  " has " +
                  (found ? wanted.getName().str() + " = " + textOf(found)
                         : std::string("none"));
         });
}

bool Matcher::bindAttributes(Operation *pattern, Operation *op) {
  DictionaryAttr wanted = pattern->getAttrDictionary();
  DictionaryAttr found = op->getAttrDictionary();
  for (NamedAttribute next : wanted)
    if (!isIgnored(next.getName()) &&
        !bindAttribute(op, next, found.get(next.getName())))
      return false;
  for (NamedAttribute next : found)
    if (!isIgnored(next.getName()) && !wanted.contains(next.getName()))
      return differ([&] {
        return bp::describe(op) + " has " + next.getName().str() + " = " +
               textOf(next.getValue()) + ", its graph has none";
      });
  return true;
}

// ---- ops ----

bool Matcher::bind(const PatternStep &step, Operation *op, bool swapped) {
  if (op->getName() != step.op->getName() ||
      op->getNumOperands() != step.op->getNumOperands())
    return differ([&] {
      return "its graph has " + bp::describe(step.op) + ", the model has " +
             bp::describe(op);
    });
  if (deviceOf(op) != deviceOf(result_.ops.empty() ? op : result_.ops[0]))
    return differ([&] { return bp::describe(op) + " is on another device"; });
  if (op->hasAttr(kernelAttr) || llvm::is_contained(result_.ops, op))
    return differ([&] { return bp::describe(op) + " is taken already"; });
  if (!bindAttributes(step.op, op))
    return false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (!bindValue(step.op->getOperand(i), op->getOperand(swapped ? 1 - i : i)))
      return false;
  // A constant is known by then, in whose place its broadcast stands.
  Operation *constant = model_.fills->constantOf(op);
  for (auto [wanted, found] :
       llvm::zip_equal(step.op->getResults(),
                       constant ? constant->getResults() : op->getResults()))
    if (!bindValue(wanted, found))
      return false;
  return true;
}

bool Matcher::matchOp(size_t step, Operation *op) {
  const PatternStep &wanted = plan_.steps[step];
  bool both = wanted.isCommutative && op->getNumOperands() == 2 &&
              op->getOperand(0) != op->getOperand(1);
  for (bool swapped : {false, true}) {
    if (swapped && !both)
      break;
    if (tries_ == 0)
      return differ([] { return std::string("too many ways to match it"); });
    --tries_;
    Mark before = mark();
    if (bind(wanted, op, swapped)) {
      result_.ops.push_back(op);
      result_.swapped.push_back(swapped);
      if (match(step + 1))
        return true;
      result_.ops.pop_back();
      result_.swapped.pop_back();
    }
    undo(before);
  }
  return false;
}

bool Matcher::match(size_t step) {
  if (step == plan_.steps.size())
    return finish();
  const PatternStep &wanted = plan_.steps[step];
  Value via = values_.lookup(wanted.via);
  if (!wanted.forward) {
    Operation *op = via.getDefiningOp();
    if (Operation *fill = model_.fills->broadcastOf(op);
        fill && isa<BroadcastOp>(wanted.op))
      op = fill;
    return op ? matchOp(step, op) : differ([&] {
      return "its graph has " + bp::describe(wanted.op) +
             ", the model has its input " + ::describe(via);
    });
  }
  size_t tried = 0;
  for (Operation *user : via.getUsers())
    if (user->getName() == wanted.op->getName() &&
        !llvm::is_contained(result_.ops, user) && ++tried <= maxUsers &&
        matchOp(step, user))
      return true;
  return tried ? false : differ([&] {
    return "its graph has " + bp::describe(wanted.op) + ", which no user of " +
           ::describe(via) + " is";
  });
}

/// What only the whole shows.
bool Matcher::finish() {
  for (const auto &[wanted, found, value] : deferred_)
    if (!bindDim(wanted, found))
      return differ([&] {
        return "its graph has a size " + wanted.str() + ", " +
               ::describe(value) + " has " + found.str();
      });
  for (const auto &[name, dim] : plan_.pattern.replaced)
    if (!bindDim(Dim::symbol(name), dim.substitute({result_.symbols.begin(),
                                                    result_.symbols.end()})))
      return false;
  std::string wrong = checkMatch(model_, result_, values_);
  return wrong.empty() || differ([&] { return wrong; });
}

PatternMatch bp::matchAt(const MatchedModel &model, const PatternPlan &plan,
                         Operation *root) {
  return Matcher(model, plan).run(root);
}
