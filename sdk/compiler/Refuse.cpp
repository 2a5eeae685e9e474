// SPDX-License-Identifier: Apache-2.0
//
// Refuse.cpp: what is noted when a backend refuses to compile something, so
// that the next attempt goes another way.
#include "sdk/compiler/Partitions.h"
#include "sdk/dialect/Attributes.h"

#include "sdk/fusion/Fusion.h"
#include "sdk/fusion/KernelGroups.h"
#include "sdk/graph/OpTable.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace backplane;

std::string backplane::describeOp(Operation &op) {
  std::string text = op.getName().stripDialect().str();
  if (auto control = dyn_cast<bp::ControlOp>(op))
    text = control.getKind().str();
  if (std::string location = bp::locationText(op.getLoc()); !location.empty())
    text += " (" + location + ")";
  std::set<std::string> dtypes;
  for (mlir::Value value : op.getResults())
    if (auto type = bp::toTensorType(value.getType()))
      dtypes.insert(std::string(name(type->dtype)));
  return dtypes.empty() ? text : text + " of " + llvm::join(dtypes, ", ");
}

std::string backplane::compositeKey(std::string_view op,
                                    std::string_view location) {
  return std::string(op) + " " + std::string(location);
}

/// The ops of a dispatch that it is named for, without what every user of them
/// computes again.
static std::vector<Operation *> mainOps(func::FuncOp dispatch) {
  std::vector<Operation *> ops;
  for (Operation &op : dispatch.front().without_terminator())
    if (bp::kindOf(&op) != bp::OpKind::Cheap && !isa<bp::ReshapeOp>(op))
      ops.push_back(&op);
  return ops;
}

static std::optional<size_t> positionOf(Operation *op) {
  auto positions = op->getAttrOfType<DenseI64ArrayAttr>(bp::positionsAttr);
  return positions ? std::optional(size_t(positions[0])) : std::nullopt;
}

/// "target npu refused 3 ops as one dispatch, conv (/a) to relu (/b): …"
static std::string refusedLine(const VariantContext &context, unsigned device,
                               const char *what, ArrayRef<Operation *> ops,
                               const Status &status, const char *then) {
  std::string text = describeOp(*ops.front());
  if (ops.size() > 1)
    text = std::to_string(ops.size()) + " ops, " + text + " to " +
           describeOp(*ops.back());
  return "target " + context.targets[device].name + " refused " + what + text +
         ": " + status.message() + "; " + then;
}

/// Notes a dispatch that is cut into its ops. False: it was before.
static bool refuseTogether(VariantContext &context, func::FuncOp dispatch,
                           ArrayRef<Operation *> ops, const Status &status,
                           Refusals &refusals) {
  unsigned device = bp::deviceOf(dispatch);
  size_t known = refusals.together.size();
  for (Operation *op : ops)
    if (auto position = positionOf(op))
      refusals.together.try_emplace({*position, device},
                                    "together its compiler refused them: " +
                                        status.message());
  if (refusals.together.size() == known)
    return false;
  refusals.report.push_back(refusedLine(context, device, "one dispatch of ",
                                        ops, status,
                                        "each gets a dispatch of its own"));
  return true;
}

/// Notes a composite that is decomposed. False: it is none, or was before.
static bool refuseComposite(VariantContext &context, Operation *op,
                            unsigned device, const Status &status) {
  std::string name = op->getName().stripDialect().str();
  const OpSpec *spec = findOp(name);
  if (!spec || !spec->composite)
    return false;
  std::string line = refusedLine(context, device, "the composite ", op, status,
                                 "it is decomposed");
  return context.refusedComposites
      .try_emplace(compositeKey(name, bp::locationText(op->getLoc())), line)
      .second;
}

void backplane::refuse(VariantContext &context, Operation *op,
                       const Status &status, Refusals &refusals) {
  unsigned device = bp::deviceOf(op);
  auto dispatch = dyn_cast<func::FuncOp>(op);
  std::vector<Operation *> ops =
      dispatch ? mainOps(dispatch) : std::vector<Operation *>{};
  if (auto named = bp::partitionOf(op); named && dispatch) {
    auto all = llvm::to_vector(
        llvm::make_pointer_range(dispatch.front().without_terminator()));
    refusals.report.push_back(
        refusedLine(context, device, "a partition of ",
                    ops.empty() ? ArrayRef(all) : ArrayRef(ops), status,
                    "it is cut again"));
    refusals.partitions.try_emplace({device, named->vec()}, status.message());
    return;
  }
  if (ops.size() > 1 &&
      refuseTogether(context, dispatch, ops, status, refusals))
    return;
  if (ops.size() == 1 && refuseComposite(context, ops[0], device, status))
    return;
  auto note = [&](Operation *inner) {
    if (auto position = positionOf(inner))
      refusals.ops[{*position, device}] = status.message();
  };
  note(op);
  op->walk(note);
}
