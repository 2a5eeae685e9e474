// SPDX-License-Identifier: Apache-2.0
//
// Split.cpp: a program over several devices. Each op of `main` gets the device
// that sdk/partition chooses; when a backend then refuses to compile something,
// its ops go elsewhere and everything behind that is done again.
#include "sdk/compiler/Variant.h"

#include "sdk/fusion/Fusion.h"
#include "sdk/graph/Control.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace backplane;

/// The places of ops of `main` before fusion: of an op one, of a dispatch all.
static constexpr llvm::StringLiteral placesAttr = "bp.places";

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
         op == "variable_read" || op == "variable_write";
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
std::string VariantCompiler::refusal(const Graph &graph,
                                     unsigned device) const {
  auto ops = primitives(graph, device);
  if (!ops)
    return ops.message();
  for (const backplane::Op &op : ops->ops) {
    for (const Graph &region : op.regions) {
      Graph inside = region;
      inside.symbols = symbolsInside(graph.symbols, region);
      if (std::string why = refusal(inside, device); !why.empty())
        return why;
    }
    if (!op.regions.empty() || isMemory(op.name))
      continue;
    Claim claim = askClaim(services_, targets_[device], *ops, op);
    if (claim.answered && !claim.supported)
      return op.name + " (" + op.location + "): " + claim.reason;
  }
  return {};
}

DeviceOffer VariantCompiler::offer(Operation &op, func::FuncOp main,
                                   const Graph &graph, unsigned device) const {
  const Target &target = targets_[device];
  for (auto types :
       {TypeRange(op.getOperandTypes()), TypeRange(op.getResultTypes())})
    for (Type type : types)
      if (auto tensor = bp::toTensorType(type);
          tensor && !(target.storageDTypes >> unsigned(tensor->dtype) & 1))
        return {false, "it has no " + std::string(name(tensor->dtype))};
  size_t place = size_t(op.getAttrOfType<DenseI64ArrayAttr>(placesAttr)[0]);
  if (auto known = refusals_.find({place, device}); known != refusals_.end())
    return {false, known->second};
  if (auto control = dyn_cast<bp::ControlOp>(op)) {
    for (const Graph &region : bp::controlOf(control, graph).regions) {
      Graph inside = region;
      inside.symbols = symbolsInside(graph.symbols, region);
      if (std::string why = refusal(inside, device); !why.empty())
        return {false, why};
    }
    return {};
  }
  auto single = bp::groupGraph(main, {&op});
  if (!single)
    return {};
  Claim claim = askClaim(services_, target, *single);
  if (!claim.answered)
    return {};
  return {claim.supported, claim.reason, claim.costNs};
}

PartitionNode VariantCompiler::describe(Operation &op, func::FuncOp main,
                                        const Graph &graph) const {
  PartitionNode node;
  node.name = describeOp(op);
  bp::OpKind kind = bp::kindOf(&op);
  node.light = kind == bp::OpKind::Elementwise ||
               kind == bp::OpKind::Movement || kind == bp::OpKind::Cheap;
  for (unsigned device = 0; device < targets_.size(); ++device)
    node.offers.push_back(offer(op, main, graph, device));
  return node;
}

std::vector<std::string> VariantCompiler::deviceNames() const {
  std::vector<std::string> names;
  for (const Target &target : targets_)
    names.push_back(target.name);
  return names;
}

/// Gives the ops of `main` devices, and the report the reason for each that is
/// not on the first one.
Status VariantCompiler::assign(ModuleOp module, const Graph &graph) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  Builder builder(&context_);
  std::vector<PartitionNode> nodes;
  std::vector<Operation *> ops;
  Nodes numbers;
  for (auto [place, op] : llvm::enumerate(main.front().without_terminator())) {
    op.setAttr(placesAttr, builder.getDenseI64ArrayAttr({int64_t(place)}));
    if (!needsDevice(op))
      continue;
    PartitionNode node = describe(op, main, graph);
    for (mlir::Value operand : op.getOperands())
      addProducers(operand, 0, numbers, node.operands);
    numbers[&op] = uint32_t(nodes.size());
    nodes.push_back(std::move(node));
    ops.push_back(&op);
  }
  auto assigned = assignDevices(nodes, deviceNames());
  if (!assigned)
    return assigned.status();
  for (auto [node, op, assignment] : llvm::zip(nodes, ops, *assigned)) {
    if (assignment.device == 0)
      continue;
    op->setAttr(bp::deviceAttr, builder.getI64IntegerAttr(assignment.device));
    variant_->report.push_back(node.name + ": on " +
                               targets_[assignment.device].name + ", as " +
                               assignment.reason);
  }
  return {};
}

/// Notes that the device of an op or a dispatch does not run what is in it.
void VariantCompiler::refuse(Operation *op, const Status &status) {
  auto note = [&](Operation *inner) {
    if (auto places = inner->getAttrOfType<DenseI64ArrayAttr>(placesAttr))
      refusals_[{size_t(places[0]), bp::deviceOf(op)}] = status.message();
  };
  note(op);
  op->walk(note);
}

VariantCompiler::Mark VariantCompiler::mark() const {
  Mark mark{variant_->regions.size(),
            variant_->report.size(),
            weights_.size(),
            init_.slots.size(),
            init_.commands.size(),
            dispatches_,
            init_.arena_bytes,
            init_.arenas,
            constants_,
            {}};
  for (const KernelCompiler &kernels : kernels_)
    mark.kernels.push_back(kernels.count());
  return mark;
}

void VariantCompiler::rewind(const Mark &mark) {
  variant_->regions.resize(mark.regions);
  variant_->report.resize(mark.report);
  weights_.resize(mark.weights);
  init_.slots.resize(mark.initSlots);
  init_.commands.resize(mark.initCommands);
  init_.arena_bytes = mark.arena;
  init_.arenas = mark.arenas;
  dispatches_ = mark.dispatches;
  constants_ = mark.constants;
  for (auto [kernels, count] : llvm::zip(kernels_, mark.kernels))
    kernels.rewind(count);
}

/// Each round that fails has taught something new about an op and a device, so
/// that there is a last one.
Result<fb::ProgramT> VariantCompiler::splitProgram(ModuleOp module,
                                                   const Graph &graph,
                                                   const std::string &name) {
  for (;;) {
    OwningOpRef<ModuleOp> attempt = module.clone();
    Mark before = mark();
    size_t known = refusals_.size();
    if (Status s = assign(*attempt, graph); !s.ok())
      return s.within("partition");
    dump_.write(name + "partition", *attempt);
    auto program = finishProgram(*attempt, graph, name);
    if (program || refusals_.size() == known)
      return program;
    rewind(before);
  }
}

void backplane::forEachProgram(fb::VariantT &variant,
                               llvm::function_ref<void(fb::ProgramT &)> visit) {
  visit(*variant.program);
  if (variant.init)
    visit(*variant.init);
  for (auto &region : variant.regions)
    visit(*region->program);
}

void VariantCompiler::addDevices() {
  variant_->target = llvm::join(deviceNames(), "+");
  variant_->driver = targets_[0].driver;
  variant_->format = targets_[0].format;
  variant_->required_features = targets_[0].requiredFeatures;
  variant_->rank = targets_[0].rank;
  for (const Target &target : llvm::drop_begin(targets_)) {
    auto device = std::make_unique<fb::VariantDeviceT>();
    device->target = target.name;
    device->driver = target.driver;
    device->format = target.format;
    device->required_features = target.requiredFeatures;
    variant_->devices.push_back(std::move(device));
  }
}

/// A device at the end that nothing runs on is none of the variant's.
void VariantCompiler::dropUnusedDevices() {
  size_t used = 0;
  for (const auto &executable : variant_->executables)
    used = std::max<size_t>(used, executable->device);
  forEachProgram(*variant_, [&](fb::ProgramT &program) {
    for (const auto &slot : program.slots)
      used = std::max<size_t>(used, slot->device);
  });
  for (const auto &region : variant_->regions)
    used = std::max<size_t>(used, region->device);
  variant_->devices.resize(used);
  auto names = deviceNames();
  names.resize(used + 1);
  variant_->target = llvm::join(names, "+");
}
