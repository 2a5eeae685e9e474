// SPDX-License-Identifier: Apache-2.0
#include "sdk/optimize/Constants.h"

#include "sdk/optimize/Patterns.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bp;

/// Whether a dim in the attributes depends on symbols.
static bool hasSymbols(Operation *op) {
  for (NamedAttribute attribute : op->getAttrs())
    if (auto dims = dyn_cast<DimsAttr>(attribute.getValue()))
      for (const backplane::Dim &dim : dims.getDims())
        if (!dim.constant())
          return true;
  return false;
}

/// Whether the result is constant where the operands are.
static bool keepsConstant(Operation *op) {
  return isPure(op) && isa<BpDialect>(op->getDialect()) &&
         !isa<ControlOp>(op) && !hasSymbols(op) && op->getNumResults() == 1;
}

/// Nearest ops first: an input is often near where the end of a chain is far.
bool bp::isConstant(Value value) {
  llvm::SmallSetVector<Operation *, 16> ops;
  ops.insert(value.getDefiningOp());
  for (size_t i = 0; i < ops.size(); ++i) {
    Operation *op = ops[i];
    if (i == maxConstantOps || !op || !keepsConstant(op))
      return false;
    for (Value operand : op->getOperands())
      ops.insert(operand.getDefiningOp());
  }
  return true;
}

bool ConstantAnalysis::isConstant(Value root) {
  Operation *start = root.getDefiningOp();
  if (!start)
    return false;
  // Depth first without recursion: graphs may be deep.
  SmallVector<Operation *> work{start};
  while (!work.empty()) {
    Operation *op = work.back();
    if (known_.contains(op)) {
      work.pop_back();
      continue;
    }
    bool fits = keepsConstant(op);
    SmallVector<Operation *> open;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      auto answer = known_.find(producer);
      if (!producer || (answer != known_.end() && !answer->second))
        fits = false;
      else if (answer == known_.end())
        open.push_back(producer);
    }
    if (fits && !open.empty()) {
      llvm::append_range(work, open);
      continue;
    }
    known_[op] = fits;
    work.pop_back();
  }
  return known_[start];
}

/// The axes of a shape that are not 1.
static SmallVector<int64_t> wideAxes(Type type) {
  SmallVector<int64_t> axes;
  for (auto [i, size] :
       llvm::enumerate(cast<RankedTensorType>(type).getShape()))
    if (size != 1)
      axes.push_back(int64_t(i));
  return axes;
}

/// What holds the values along an axis: a splat, or a tensor all of whose
/// other axes are 1. Null when there is no such thing.
static Value sourceAlongAxis(Value value, int64_t axis) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t size = type.getShape()[axis];
  if (ShapedType::isDynamic(size))
    return {};
  if (splatOf(value))
    return value;
  Value source = value;
  int64_t at = axis;
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    auto found = llvm::find(broadcast.getAxes(), axis);
    if (found == broadcast.getAxes().end())
      return {};
    at = found - broadcast.getAxes().begin();
    source = broadcast.getX();
  }
  SmallVector<int64_t> wide = wideAxes(source.getType());
  auto sourceType = cast<RankedTensorType>(source.getType());
  if (wide.size() > 1 || (wide.size() == 1 && wide[0] != at) ||
      sourceType.getShape()[at] != size || !isConstant(source))
    return {};
  return source;
}

bool bp::isConstantAlongAxis(Value value, int64_t axis) {
  return bool(sourceAlongAxis(value, axis));
}

Value bp::constantAlongAxis(OpBuilder &builder, Value value, int64_t axis) {
  Value source = sourceAlongAxis(value, axis);
  if (!source)
    return {};
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  auto rank1 = RankedTensorType::get({type.getShape()[axis]}, element);
  auto dims = DimsAttr::get(builder.getContext(), dimsOf(rank1));
  if (Attribute splat = splatOf(value))
    return ConstantOp::create(builder, value.getLoc(), rank1,
                              DenseElementsAttr::get(rank1, splat),
                              TypeAttr::get(element), dims);
  if (source.getType() == rank1)
    return source;
  return ReshapeOp::create(builder, value.getLoc(), rank1, source, dims);
}
