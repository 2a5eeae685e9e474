// SPDX-License-Identifier: Apache-2.0
//
// Partition.cpp: a program over several devices. Each op of `main` gets the
// device that sdk/partition chooses; when a backend then refuses to compile
// something, its ops go elsewhere and everything behind that is done again.
#include "sdk/compiler/Variant.h"
#include "sdk/compiler/WidenFloats.h"
#include "sdk/dialect/Attributes.h"

#include "sdk/fusion/Fusion.h"
#include "sdk/graph/Control.h"
#include "sdk/partition/Partition.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace backplane;

namespace {

using Nodes = llvm::DenseMap<Operation *, uint32_t>;

std::string describeOp(Operation &op) {
  std::string text = op.getName().stripDialect().str();
  if (auto control = dyn_cast<bp::ControlOp>(op))
    text = control.getKind().str();
  if (std::string location = bp::locationText(op.getLoc()); !location.empty())
    text += " (" + location + ")";
  std::set<std::string> dtypes;
  for (mlir::Value value : op.getResults())
    if (auto type = bp::toTensorType(value.getType()))
      dtypes.insert(std::string(name(type->dtype)));
  std::string list;
  for (const std::string &dtype : dtypes)
    list += (list.empty() ? " of " : ", ") + dtype;
  return text + list;
}

/// Bytes of a value as far as they are known; symbols count as 64.
double bytesOf(mlir::Value value) {
  auto type = bp::toTensorType(value.getType());
  if (!type)
    return 0;
  double bits = bitWidth(type->dtype);
  for (const Dim &dim : type->dims)
    bits *= double(dim.constant().value_or(64));
  return bits / 8;
}

/// Whether the op runs on a device, or is memory that everybody may use.
bool needsDevice(Operation &op) {
  bp::OpKind kind = bp::kindOf(&op);
  if (kind == bp::OpKind::Free)
    return isa<bp::ControlOp>(op);
  return kind != bp::OpKind::Cheap ||
         llvm::any_of(op.getUsers(), [](Operation *user) {
           return user->hasTrait<OpTrait::IsTerminator>() ||
                  bp::kindOf(user) == bp::OpKind::Free;
         });
}

/// Whether an op of a graph names memory and runs nowhere.
bool isMemory(std::string_view op) {
  return op == "weight" || op == "constant" || op == "reshape" ||
         op == "variable_read" || op == "variable_write" || op == "read";
}

/// The nodes that give an op something, behind what needs no device.
void addProducers(mlir::Value value, double bytes, const Nodes &nodes,
                  std::vector<PartitionNode::Edge> &edges) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  if (auto node = nodes.find(op); node != nodes.end())
    edges.push_back({node->second, bytes ? bytes : bytesOf(value)});
  else
    for (mlir::Value operand : op->getOperands())
      addProducers(operand, 0, nodes, edges);
}

} // namespace

/// Why a device does not run all of a graph; empty when it does.
static std::string refusal(const VariantContext &context, const Graph &graph,
                           unsigned device) {
  auto ops = decomposeFor(context, graph, device);
  if (!ops)
    return ops.message();
  for (const backplane::Op &op : ops->ops) {
    for (const Graph &region : op.regions) {
      Graph inside = region;
      inside.symbols = symbolsInside(graph.symbols, region);
      if (std::string why = refusal(context, inside, device); !why.empty())
        return why;
    }
    if (!op.regions.empty() || isMemory(op.name))
      continue;
    Claim claim = askClaim(context.services, context.targets[device], *ops, op);
    if (claim.answered && !claim.supported)
      return op.name + " (" + op.location + "): " + claim.reason;
  }
  return {};
}

static DeviceOffer offer(const VariantContext &context, Operation &op,
                         func::FuncOp main, const Graph &graph, unsigned device,
                         const Refusals &refusals) {
  const Target &target = context.targets[device];
  for (auto types :
       {TypeRange(op.getOperandTypes()), TypeRange(op.getResultTypes())})
    for (Type type : types)
      if (auto tensor = bp::toTensorType(type);
          tensor && !(target.storageDTypes >> unsigned(tensor->dtype) & 1))
        return {false, "it has no " + std::string(name(tensor->dtype))};
  auto position =
      size_t(op.getAttrOfType<DenseI64ArrayAttr>(bp::positionsAttr)[0]);
  if (auto known = refusals.find({position, device}); known != refusals.end())
    return {false, known->second};
  if (auto control = dyn_cast<bp::ControlOp>(op)) {
    for (const Graph &region : bp::controlOf(control, graph).regions) {
      Graph inside = region;
      inside.symbols = symbolsInside(graph.symbols, region);
      if (std::string why = refusal(context, inside, device); !why.empty())
        return {false, why};
    }
    return {};
  }
  auto single = bp::groupGraph(main, {&op});
  if (!single)
    return {};
  for (const backplane::Op &alone : single->ops)
    if (auto type = missingDType(target, *single, alone))
      return {false, "it does not compute in " + std::string(name(*type))};
  Claim claim = askClaim(context.services, target, *single);
  if (!claim.answered)
    return {};
  return {claim.supported, claim.reason, claim.costNs};
}

static PartitionNode describe(const VariantContext &context, Operation &op,
                              func::FuncOp main, const Graph &graph,
                              const Refusals &refusals) {
  PartitionNode node;
  node.name = describeOp(op);
  bp::OpKind kind = bp::kindOf(&op);
  node.light = kind == bp::OpKind::Elementwise ||
               kind == bp::OpKind::Movement || kind == bp::OpKind::Cheap;
  for (unsigned device = 0; device < context.targets.size(); ++device)
    node.offers.push_back(offer(context, op, main, graph, device, refusals));
  return node;
}

void backplane::placeOn(ModuleOp module, unsigned device) {
  if (device == 0)
    return;
  Builder builder(module.getContext());
  for (Operation &op :
       module.lookupSymbol<func::FuncOp>("main").front().without_terminator())
    op.setAttr(bp::deviceAttr, builder.getI64IntegerAttr(device));
}

Status backplane::partition(const VariantContext &context, ModuleOp module,
                            const Graph &graph, const Refusals &refusals,
                            Draft &draft) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  Builder builder(module.getContext());
  std::vector<std::string> names;
  for (const Target &target : context.targets)
    names.push_back(target.name);
  std::vector<PartitionNode> nodes;
  std::vector<Operation *> ops;
  Nodes numbers;
  for (auto [position, op] :
       llvm::enumerate(main.front().without_terminator())) {
    op.setAttr(bp::positionsAttr,
               builder.getDenseI64ArrayAttr({int64_t(position)}));
    if (!needsDevice(op))
      continue;
    PartitionNode node = describe(context, op, main, graph, refusals);
    for (mlir::Value operand : op.getOperands())
      addProducers(operand, 0, numbers, node.operands);
    numbers[&op] = uint32_t(nodes.size());
    nodes.push_back(std::move(node));
    ops.push_back(&op);
  }
  auto assigned = assignDevices(nodes, names);
  if (!assigned)
    return assigned.status();
  for (auto [node, op, assignment] : llvm::zip(nodes, ops, *assigned)) {
    if (assignment.device == 0)
      continue;
    op->setAttr(bp::deviceAttr, builder.getI64IntegerAttr(assignment.device));
    draft.report.push_back(node.name + ": on " + names[assignment.device] +
                           ", as " + assignment.reason);
  }
  return {};
}

void backplane::refuse(Operation *op, const Status &status,
                       Refusals &refusals) {
  auto note = [&](Operation *inner) {
    if (auto positions =
            inner->getAttrOfType<DenseI64ArrayAttr>(bp::positionsAttr))
      refusals[{size_t(positions[0]), bp::deviceOf(op)}] = status.message();
  };
  note(op);
  op->walk(note);
}
