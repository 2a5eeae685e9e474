// SPDX-License-Identifier: Apache-2.0
#include "sdk/fusion/SymbolReads.h"

#include "sdk/dialect/Convert.h"

#include <set>

using namespace mlir;
using namespace bp;

SymbolReads::SymbolReads(func::FuncOp main) {
  for (auto read : main.getOps<ReadOp>())
    reads_.insert({read.getSymbolAttr(), read});
}

/// The names of the symbols in the result types and attributes of an op.
static std::set<std::string> symbolsOf(Operation *op) {
  std::set<std::string> names;
  auto add = [&](const backplane::Dims &dims) {
    for (const backplane::Dim &dim : dims)
      dim.collectSymbols(names);
  };
  for (Type type : op->getResultTypes())
    add(dimsOf(type));
  for (NamedAttribute attribute : op->getAttrs())
    if (auto dims = dyn_cast<DimsAttr>(attribute.getValue()))
      add(dims.getDims());
  return names;
}

SmallVector<Value> SymbolReads::neededBy(Operation *op) const {
  SmallVector<Value> values;
  if (reads_.empty())
    return values;
  std::set<std::string> names = symbolsOf(op);
  for (const auto &[name, read] : reads_) {
    bool isBefore = isa<ControlOp>(op) && read->isBeforeInBlock(op);
    if (op != read && (isBefore || names.contains(name.str())))
      values.push_back(const_cast<ReadOp &>(read).getResult());
  }
  return values;
}

SmallVector<Value> SymbolReads::neededBy(ArrayAttr symbols) const {
  SmallVector<Value> values;
  if (symbols && !reads_.empty())
    for (auto name : symbols.getAsRange<StringAttr>())
      if (auto found = reads_.find(name); found != reads_.end())
        values.push_back(const_cast<ReadOp &>(found->second).getResult());
  return values;
}

void bp::orderReads(func::FuncOp main) {
  SymbolReads reads(main);
  for (Operation &op : llvm::make_early_inc_range(main.front())) {
    Operation *last = nullptr;
    for (Value size : reads.neededBy(&op))
      if (!last || last->isBeforeInBlock(size.getDefiningOp()))
        last = size.getDefiningOp();
    if (last && op.getNumOperands() == 0 && op.isBeforeInBlock(last))
      op.moveAfter(last);
  }
}
