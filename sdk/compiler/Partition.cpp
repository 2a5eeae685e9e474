// SPDX-License-Identifier: Apache-2.0
//
// Partition.cpp: a program over several devices. Each op of `main` gets the
// device that sdk/partition chooses; when a backend then refuses to compile
// something, its ops go elsewhere and everything behind that is done again.
#include "sdk/compiler/Partitions.h"
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
void addProducers(mlir::Value value, const Nodes &nodes,
                  std::vector<PartitionNode::Edge> &edges) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  if (auto node = nodes.find(op); node != nodes.end())
    edges.push_back({node->second, bytesOf(value)});
  else
    for (mlir::Value operand : op->getOperands())
      addProducers(operand, nodes, edges);
}

} // namespace

/// Why a device does not run all of a graph; empty when it does.
static std::string refusal(const VariantContext &context, const Graph &graph,
                           unsigned device) {
  auto ops = decomposeFor(context, graph, device);
  if (!ops)
    return ops.message();
  for (const backplane::Op &op : ops->ops) {
    for (Graph region : op.regions) {
      region.symbols = symbolsInside(graph.symbols, region);
      if (std::string why = refusal(context, region, device); !why.empty())
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

namespace {

/// What is asked about the ops of a program.
struct Question {
  const VariantContext &context;
  func::FuncOp main;
  const Graph &graph;
  const Refusals &refusals;
  const ProgramPartitions &partitions;
};

} // namespace

static DeviceOffer offer(const Question &asked, Operation &op,
                         unsigned device) {
  const auto &[context, main, graph, refusals, partitions] = asked;
  const Target &target = context.targets[device];
  for (auto types :
       {TypeRange(op.getOperandTypes()), TypeRange(op.getResultTypes())})
    for (Type type : types)
      if (auto tensor = bp::toTensorType(type);
          tensor && !(target.storageDTypes >> unsigned(tensor->dtype) & 1))
        return {false, "it has no " + std::string(name(tensor->dtype))};
  auto position =
      size_t(op.getAttrOfType<DenseI64ArrayAttr>(bp::positionsAttr)[0]);
  if (auto known = refusals.ops.find({position, device});
      known != refusals.ops.end())
    return {false, known->second};
  if (auto control = dyn_cast<bp::ControlOp>(op)) {
    for (Graph region : bp::controlOf(control, graph).regions) {
      region.symbols = symbolsInside(graph.symbols, region);
      if (std::string why = refusal(context, region, device); !why.empty())
        return {false, why};
    }
    return {};
  }
  auto single = bp::groupGraph(main, {&op});
  if (!single)
    return {};
  if (std::string why = missingSize(target, *single); !why.empty())
    return {false, why};
  for (const backplane::Op &alone : single->ops)
    if (auto type = missingDType(target, *single, alone))
      return {false, "it does not compute in " + std::string(name(*type))};
  Claim claim = askClaim(context.services, target, *single);
  if (!claim.answered)
    return partitions.only[device]
               ? DeviceOffer{false, "it is in no partition of the plug-in"}
               : DeviceOffer{};
  return {claim.supported, claim.reason, claim.costNs};
}

static PartitionNode describe(const Question &asked, Operation &op) {
  PartitionNode node;
  node.name = describeOp(op);
  bp::OpKind kind = bp::kindOf(&op);
  node.light = kind == bp::OpKind::Elementwise ||
               kind == bp::OpKind::Movement || kind == bp::OpKind::Cheap;
  for (unsigned device = 0; device < asked.context.targets.size(); ++device)
    node.offers.push_back(offer(asked, op, device));
  return node;
}

/// The ops of a partition as one node: its own device takes all of it, another
/// one where it takes each op.
static PartitionNode describe(const Question &asked,
                              const ProgramPartition &partition) {
  PartitionNode node;
  node.name = "partition of " + partition.text;
  node.light = true;
  node.offers.resize(asked.context.targets.size());
  for (Operation *op : partition.ops) {
    if (!needsDevice(*op))
      continue;
    PartitionNode one = describe(asked, *op);
    node.light &= one.light;
    for (auto [all, each] : llvm::zip(node.offers, one.offers)) {
      bool priced =
          (op == partition.ops.front() || all.costNs > 0) && each.costNs > 0;
      all.costNs = priced ? all.costNs + each.costNs : 0;
      if (all.supported && !each.supported)
        all = {false, each.reason};
    }
  }
  node.offers[partition.device] = {true, "", partition.costNs};
  return node;
}

static void setDevice(Operation *op, unsigned device) {
  if (device != 0)
    op->setAttr(bp::deviceAttr,
                Builder(op->getContext()).getI64IntegerAttr(device));
}

static void numberOps(func::FuncOp main) {
  Builder builder(main.getContext());
  for (auto [position, op] : llvm::enumerate(main.front().without_terminator()))
    op.setAttr(bp::positionsAttr,
               builder.getDenseI64ArrayAttr({int64_t(position)}));
}

/// Marks the ops whose dispatch was refused, so that each gets one of its own.
static void markRefused(func::FuncOp main, const Refusals &refusals) {
  for (auto [position, op] :
       llvm::enumerate(main.front().without_terminator())) {
    auto known = refusals.together.find({position, bp::deviceOf(&op)});
    if (known != refusals.together.end())
      op.setAttr(bp::aloneAttr,
                 StringAttr::get(main.getContext(), known->second));
  }
}

static void markPartitions(const VariantContext &context,
                           const ProgramPartitions &partitions, Draft &draft) {
  for (auto [group, partition] : llvm::enumerate(partitions.partitions)) {
    if (bp::deviceOf(partition.ops.front()) != partition.device)
      continue;
    markPartition(partition, int64_t(group));
    draft.report.push_back("target " + context.targets[partition.device].name +
                           ": partition of " + partition.text);
  }
}

namespace {

/// The nodes of a program: its partitions, and each other op that runs.
struct NodeList {
  std::vector<PartitionNode> nodes;
  std::vector<std::vector<Operation *>> ops; ///< of each node
  Nodes numbers;
};

} // namespace

static NodeList listNodes(const Question &asked) {
  NodeList list;
  llvm::DenseMap<Operation *, const ProgramPartition *> within;
  for (const ProgramPartition &partition : asked.partitions.partitions)
    for (Operation *op : partition.ops)
      within[op] = &partition;
  func::FuncOp main = asked.main;
  for (Operation &op : main.front().without_terminator()) {
    const ProgramPartition *partition = within.lookup(&op);
    if (!partition && !needsDevice(op))
      continue;
    if (!list.numbers.count(&op)) {
      auto number = uint32_t(list.nodes.size());
      list.nodes.push_back(partition ? describe(asked, *partition)
                                     : describe(asked, op));
      list.ops.push_back(partition ? partition->ops
                                   : std::vector<Operation *>{&op});
      for (Operation *member : list.ops.back())
        list.numbers[member] = number;
    }
  }
  for (auto [node, members] : llvm::zip(list.nodes, list.ops)) {
    uint32_t self = list.numbers[members.front()];
    for (Operation *op : members)
      for (mlir::Value operand : op->getOperands())
        addProducers(operand, list.numbers, node.operands);
    std::erase_if(node.operands, [&](const PartitionNode::Edge &edge) {
      return edge.producer == self;
    });
  }
  return list;
}

/// Gives each op the device that costs and claims choose.
static Status place(const Question &asked, Draft &draft) {
  std::vector<std::string> names;
  for (const Target &target : asked.context.targets)
    names.push_back(target.name);
  NodeList list = listNodes(asked);
  auto assigned = assignDevices(list.nodes, names);
  if (!assigned)
    return assigned.status();
  for (auto [node, ops, assignment] :
       llvm::zip(list.nodes, list.ops, *assigned)) {
    for (Operation *op : ops)
      setDevice(op, assignment.device);
    if (assignment.device != 0 && !assignment.reason.empty())
      draft.report.push_back(node.name + ": on " + names[assignment.device] +
                             ", as " + assignment.reason);
  }
  return {};
}

Status backplane::partition(const VariantContext &context, ModuleOp module,
                            const Graph &graph, OneDevice device,
                            const Refusals &refusals, Draft &draft) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  numberOps(main);
  auto partitions = askPartitions(context, module, device, refusals, draft);
  if (!partitions)
    return partitions.status();
  if (device) {
    for (Operation &op : main.front().without_terminator())
      setDevice(&op, *device);
  } else if (Status s =
                 place({context, main, graph, refusals, *partitions}, draft);
             !s.ok()) {
    return s;
  }
  markRefused(main, refusals);
  markPartitions(context, *partitions, draft);
  return {};
}
