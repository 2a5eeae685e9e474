// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/Matcher.h"

#include "sdk/kernels/MatchChecks.h"
#include "sdk/kernels/OtherShape.h"

using namespace mlir;
using namespace bp;
using backplane::Dim;
using backplane::Dims;

namespace {

/// Ways that are tried for each op of a pattern at one place of a model.
constexpr size_t triesPerStep = 16;
/// Users of a value that are looked at.
constexpr size_t maxUsers = 64;

/// How an op of the model stands for one of a pattern.
struct Way {
  bool swapped = false;    ///< its two operands have changed places
  bool otherShape = false; ///< its tensors have other shapes
};

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
    size_t values, symbols, deferred, others;
  };
  Mark mark() const {
    return {boundValues_.size(), boundSymbols_.size(), deferred_.size(),
            otherShapes_.size()};
  }
  void undo(const Mark &mark);
  bool match(size_t step);
  bool matchOp(size_t step, Operation *op);
  bool matchOp(size_t step, Operation *op, Way way);
  bool matchUser(size_t step, Value via);
  bool bind(const PatternStep &step, Operation *op, Way way);
  bool bindAttributes(Operation *pattern, Operation *op, bool otherShape);
  bool bindAttribute(Operation *op, NamedAttribute wanted, Attribute found);
  bool bindValue(Value pattern, Value value, bool otherShape);
  bool isSameValue(Value pattern, Value value);
  bool bindDims(const Dims &pattern, const Dims &dims, Value value);
  bool bindDim(const Dim &pattern, const Dim &dim);
  bool finish();
  bool checkSizes();
  void collectReshapes(ValueMap &values);
  ResultRange resultsOf(Operation *op);
  /// Notes why it is not this op; the furthest difference is kept.
  bool differ(llvm::function_ref<std::string()> text);

  const MatchedModel &model_;
  const PatternPlan &plan_;
  size_t tries_ = 0; ///< that are left
  PatternMatch result_;
  ValueMap values_;
  std::vector<Value> boundValues_;
  std::vector<std::string> boundSymbols_;
  /// Pairs that wait for symbols, and the values that they are of.
  std::vector<std::tuple<Dim, Dim, Value>> deferred_;
  /// Ops of the pattern and of the model whose tensors have other shapes.
  std::vector<std::pair<Operation *, Operation *>> otherShapes_;
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

} // namespace

Value bp::sourceOfReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

void Matcher::undo(const Mark &mark) {
  for (; boundValues_.size() > mark.values; boundValues_.pop_back())
    values_.erase(boundValues_.back());
  for (; boundSymbols_.size() > mark.symbols; boundSymbols_.pop_back())
    result_.symbols.erase(boundSymbols_.back());
  deferred_.resize(mark.deferred);
  otherShapes_.resize(mark.others);
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

/// Whether the value, or what it is a reshape of, is that of the pattern.
bool Matcher::isSameValue(Value pattern, Value value) {
  auto [known, isNew] = values_.try_emplace(pattern, value);
  if (isNew)
    boundValues_.push_back(pattern);
  if (sourceOfReshapes(known->second) == sourceOfReshapes(value))
    return true;
  return differ([&] {
    return "its graph has one value, " + ::describe(pattern) +
           ", where the model has " + ::describe(known->second) + " and " +
           ::describe(value);
  });
}

bool Matcher::bindValue(Value pattern, Value value, bool otherShape) {
  if (!isSameValue(pattern, value))
    return false;
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
  if (otherShape || bindDims(wanted->dims, found->dims, value))
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

bool Matcher::bindAttributes(Operation *pattern, Operation *op,
                             bool otherShape) {
  DictionaryAttr wanted = pattern->getAttrDictionary();
  DictionaryAttr found = op->getAttrDictionary();
  auto ignored = [&](StringRef name) {
    return name.starts_with("bp.") || (otherShape && isOfShape(name));
  };
  for (NamedAttribute next : wanted)
    if (!ignored(next.getName()) &&
        !bindAttribute(op, next, found.get(next.getName())))
      return false;
  for (NamedAttribute next : found)
    if (!ignored(next.getName()) && !wanted.contains(next.getName()))
      return differ([&] {
        return bp::describe(op) + " has " + next.getName().str() + " = " +
               textOf(next.getValue()) + ", its graph has none";
      });
  return true;
}

// ---- ops ----

/// A constant is known by then, in whose place its broadcast stands.
ResultRange Matcher::resultsOf(Operation *op) {
  Operation *constant = model_.fills->constantOf(op);
  return (constant ? constant : op)->getResults();
}

bool Matcher::bind(const PatternStep &step, Operation *op, Way way) {
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
  if (!bindAttributes(step.op, op, way.otherShape))
    return false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (!bindValue(step.op->getOperand(i),
                   op->getOperand(way.swapped ? 1 - i : i), way.otherShape))
      return false;
  for (auto [wanted, found] :
       llvm::zip_equal(step.op->getResults(), resultsOf(op)))
    if (!bindValue(wanted, found, way.otherShape))
      return false;
  if (way.otherShape)
    otherShapes_.emplace_back(step.op, op);
  return true;
}

bool Matcher::matchOp(size_t step, Operation *op, Way way) {
  if (tries_ == 0)
    return differ([] { return std::string("too many ways to match it"); });
  --tries_;
  Mark before = mark();
  if (bind(plan_.steps[step], op, way)) {
    result_.ops.push_back(op);
    result_.swapped.push_back(way.swapped);
    if (match(step + 1))
      return true;
    result_.ops.pop_back();
    result_.swapped.pop_back();
  }
  undo(before);
  return false;
}

bool Matcher::matchOp(size_t step, Operation *op) {
  bool both = plan_.steps[step].isCommutative && op->getNumOperands() == 2 &&
              op->getOperand(0) != op->getOperand(1);
  bool others = step > 0 && model_.hasReshapes && allowsOtherShape(op);
  for (bool otherShape : {false, true})
    for (bool swapped : {false, true})
      if ((both || !swapped) && (others || !otherShape) &&
          matchOp(step, op, {swapped, otherShape}))
        return true;
  return false;
}

/// Users of the value, and of its reshapes, unless one is looked for.
bool Matcher::matchUser(size_t step, Value via) {
  Operation *wanted = plan_.steps[step].op;
  SmallVector<Value> open = {via};
  size_t tried = 0;
  for (size_t i = 0; i < open.size(); ++i)
    for (Operation *user : open[i].getUsers()) {
      if (tried == maxUsers)
        break;
      if (isa<ReshapeOp>(user) && !isa<ReshapeOp>(wanted))
        open.push_back(user->getResult(0));
      if (user->getName() == wanted->getName() &&
          !llvm::is_contained(result_.ops, user) && ++tried &&
          matchOp(step, user))
        return true;
    }
  return tried ? false : differ([&] {
    return "its graph has " + bp::describe(wanted) + ", which no user of " +
           ::describe(via) + " is";
  });
}

bool Matcher::match(size_t step) {
  if (step == plan_.steps.size())
    return finish();
  const PatternStep &wanted = plan_.steps[step];
  Value via = values_.lookup(wanted.via);
  if (!wanted.forward) {
    if (!isa<ReshapeOp>(wanted.op))
      via = sourceOfReshapes(via);
    Operation *op = via.getDefiningOp();
    if (Operation *fill = model_.fills->broadcastOf(op);
        fill && isa<BroadcastOp>(wanted.op))
      op = fill;
    return op ? matchOp(step, op) : differ([&] {
      return "its graph has " + bp::describe(wanted.op) +
             ", the model has its input " + ::describe(via);
    });
  }
  return matchUser(step, via);
}

bool Matcher::checkSizes() {
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
  for (auto [pattern, op] : otherShapes_)
    if (!isSameInOtherShape(pattern, op,
                            {result_.symbols.begin(), result_.symbols.end()}))
      return differ([&] {
        return bp::describe(op) + " is not " + bp::describe(pattern) +
               " of its graph in another shape";
      });
  return true;
}

/// Finds the reshapes between values that stand for one of the pattern; that
/// one is what all of them are reshapes of.
void Matcher::collectReshapes(ValueMap &values) {
  result_.reshapes.clear();
  llvm::DenseSet<Operation *> seen(result_.ops.begin(), result_.ops.end());
  auto walk = [&](Value pattern, Value value) {
    auto reshape = value.getDefiningOp<ReshapeOp>();
    while (reshape && seen.insert(reshape).second) {
      result_.reshapes.push_back({reshape, pattern});
      reshape = reshape.getX().getDefiningOp<ReshapeOp>();
    }
  };
  auto collect = [&](Value pattern, Value value) {
    Value first = values_.lookup(pattern);
    if (value == first)
      return;
    walk(pattern, value);
    walk(pattern, first);
    values[pattern] = sourceOfReshapes(value);
  };
  for (auto [step, op, swapped] :
       llvm::zip_equal(plan_.steps, result_.ops, result_.swapped)) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      collect(step.op->getOperand(i), op->getOperand(swapped ? 1 - i : i));
    for (auto [wanted, found] :
         llvm::zip_equal(step.op->getResults(), resultsOf(op)))
      collect(wanted, found);
  }
}

/// What only the whole shows.
bool Matcher::finish() {
  if (!checkSizes())
    return false;
  ValueMap values = values_;
  collectReshapes(values);
  std::string wrong = checkMatch(model_, result_, values);
  return wrong.empty() || differ([&] { return wrong; });
}

PatternMatch bp::matchAt(const MatchedModel &model, const PatternPlan &plan,
                         Operation *root) {
  return Matcher(model, plan).run(root);
}
