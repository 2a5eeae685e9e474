// SPDX-License-Identifier: Apache-2.0
#include "Metadata.h"
#include "Requirements.h"
#include "artifact_generated.h"

namespace backplane {
namespace {

std::string textOf(const std::optional<Dim> &dim) {
  return dim ? dim->str() : "";
}

std::vector<std::string> textsOf(std::span<const Dim> dims) {
  std::vector<std::string> texts;
  for (const Dim &dim : dims)
    texts.push_back(dim.str());
  return texts;
}

/// Each element of a list as what FlatBuffers has for it.
template <typename T, typename Convert>
auto listOf(const std::vector<T> &from, Convert convert) {
  std::vector<decltype(convert(from.front()))> to;
  for (const T &element : from)
    to.push_back(convert(element));
  return to;
}

std::unique_ptr<fb::TensorInfoT> portOf(const PortInfo &port) {
  auto info = std::make_unique<fb::TensorInfoT>();
  info->name = port.name;
  info->dtype = uint32_t(port.type.dtype);
  bool plain = port.type.isStatic();
  for (const Dim &dim : port.type.dims) {
    info->sizes.push_back(dim.constant().value_or(-1));
    if (!plain)
      info->exprs.push_back(dim.str());
  }
  return info;
}

std::unique_ptr<fb::CheckT> checkOf(const DimAssertion &assertion) {
  auto check = std::make_unique<fb::CheckT>();
  check->lhs = assertion.lhs.str();
  check->rhs = assertion.rhs.str();
  check->message = assertion.message;
  return check;
}

std::unique_ptr<fb::SymbolInfoT> symbolOf(const Symbol &symbol) {
  auto info = std::make_unique<fb::SymbolInfoT>();
  info->name = symbol.name;
  info->minimum = symbol.minimum;
  info->maximum = symbol.maximum;
  info->divisor = symbol.divisor;
  return info;
}

std::unique_ptr<fb::SlotT> slotOf(const Slot &slot) {
  auto info = std::make_unique<fb::SlotT>();
  info->kind = fb::SlotKind(slot.kind);
  info->index = slot.index;
  info->bytes = textOf(slot.bytes);
  info->first = slot.first;
  info->last = slot.last;
  info->offset = slot.offset;
  info->reuse = slot.reuse;
  info->device = slot.device;
  return info;
}

std::unique_ptr<fb::BindingT> rangeOf(const SlotRange &range) {
  auto info = std::make_unique<fb::BindingT>();
  info->slot = range.slot;
  info->offset = textOf(range.offset);
  info->length = textOf(range.length);
  return info;
}

struct BodyOf {
  fb::CommandBodyUnion &body;

  void operator()(const program::Dispatch &dispatch) {
    fb::DispatchT info;
    info.executable = dispatch.executable;
    info.entry = dispatch.entry;
    info.grid = textsOf(dispatch.grid);
    info.constants = textsOf(dispatch.constants);
    info.bindings = listOf(dispatch.bindings, rangeOf);
    info.name = dispatch.name;
    info.ops = dispatch.ops;
    info.workspace = textOf(dispatch.workspace);
    info.flops = textOf(dispatch.flops);
    info.parameters = textsOf(dispatch.parameters);
    info.shared_bytes = textOf(dispatch.sharedBytes);
    if (hasClusters(dispatch))
      info.cluster = {dispatch.cluster.begin(), dispatch.cluster.end()};
    if (dispatch.fallbackFor)
      info.fallback_for = *dispatch.fallbackFor + 1;
    body.Set(std::move(info));
  }
  void operator()(const program::Copy &copy) {
    fb::CopyT info;
    info.source = rangeOf(copy.source);
    info.target = rangeOf(copy.target);
    body.Set(std::move(info));
  }
  void operator()(const program::Fill &fill) {
    fb::FillT info;
    info.target = rangeOf(fill.target);
    info.pattern = fill.pattern;
    info.pattern_size = fill.patternSize;
    body.Set(std::move(info));
  }
  void operator()(const program::Barrier &) { body.Set(fb::BarrierT()); }
  void operator()(const program::Control &control) {
    fb::ControlT info;
    info.kind = fb::ControlKind(control.kind);
    info.operands = control.operands;
    info.results = control.results;
    info.regions = control.regions;
    info.condition = textOf(control.condition);
    info.conditional = control.conditional;
    info.carried = control.carried;
    info.limit = textOf(control.limit);
    info.op = control.op;
    body.Set(std::move(info));
  }
  void operator()(const program::Read &read) {
    fb::ReadT info;
    info.slot = read.slot;
    info.symbol = read.symbol;
    info.bound = read.bound.str();
    info.op = read.op;
    body.Set(std::move(info));
  }
};

std::unique_ptr<fb::CommandT> commandOf(const program::Command &command) {
  auto info = std::make_unique<fb::CommandT>();
  std::visit(BodyOf{info->body}, command);
  return info;
}

std::unique_ptr<fb::ProgramT> programOf(const Program &program) {
  auto info = std::make_unique<fb::ProgramT>();
  info->slots = listOf(program.slots, slotOf);
  info->commands = listOf(program.commands, commandOf);
  info->arena_bytes = program.arenaBytes(0);
  if (program.arenas.size() > 1)
    info->arenas.assign(program.arenas.begin() + 1, program.arenas.end());
  return info;
}

std::unique_ptr<fb::EntryT> entryOf(const Entry &entry) {
  auto info = std::make_unique<fb::EntryT>();
  info->name = entry.name;
  info->access = entry.bindingAccess;
  info->constant_count = entry.constantCount;
  info->workgroup_size = {entry.workgroupSize.begin(),
                          entry.workgroupSize.end()};
  info->workspace_bytes = entry.workspaceBytes;
  info->subgroup_size = entry.subgroupSize;
  info->parameter_count = entry.parameterCount;
  info->driver_data = entry.driverData;
  return info;
}

std::unique_ptr<fb::ExecutableT>
executableOf(const ExecutableInfo &executable) {
  auto info = std::make_unique<fb::ExecutableT>();
  info->format = executable.format;
  info->blob.assign(executable.blob.bytes.begin(), executable.blob.bytes.end());
  info->entries = listOf(executable.entries, entryOf);
  info->device = executable.device;
  info->notes = executable.notes;
  if (executable.native) {
    info->native = std::make_unique<fb::NativeKernelT>();
    info->native->plugin = executable.native->plugin;
    info->native->name = executable.native->name;
    info->native->version = executable.native->version;
  }
  return info;
}

std::unique_ptr<fb::RegionT> regionOf(const RegionInfo &region) {
  auto info = std::make_unique<fb::RegionT>();
  info->name = region.name;
  info->iteration = region.iteration;
  info->inputs = textsOf(region.inputs);
  info->outputs = textsOf(region.outputs);
  info->checks = listOf(region.checks, checkOf);
  info->program = programOf(region.program);
  info->device = region.device;
  return info;
}

std::unique_ptr<fb::VariantT> variantOf(const VariantInfo &variant) {
  auto info = std::make_unique<fb::VariantT>();
  info->target = variant.target;
  for (const DeviceNeeds &needs : variant.devices) {
    if (&needs == &variant.devices.front()) {
      info->driver = needs.driver;
      info->format = needs.format;
      info->required_features = needs.requiredFeatures;
      continue;
    }
    info->devices.push_back(std::make_unique<fb::VariantDeviceT>());
    info->devices.back()->target = needs.target;
    info->devices.back()->driver = needs.driver;
    info->devices.back()->format = needs.format;
    info->devices.back()->required_features = needs.requiredFeatures;
  }
  info->rank = variant.rank;
  info->executables = listOf(variant.executables, executableOf);
  info->program = programOf(variant.program);
  if (!variant.init.commands.empty())
    info->init = programOf(variant.init);
  info->report = variant.report;
  info->regions = listOf(variant.regions, regionOf);
  info->requirements = requirementsOf(variant);
  return info;
}

std::unique_ptr<fb::VariableInfoT> variableOf(const VariableInfo &variable) {
  auto info = std::make_unique<fb::VariableInfoT>();
  info->type = portOf(variable.port);
  info->initial = variable.initial;
  return info;
}

std::unique_ptr<fb::WeightInfoT> weightOf(const WeightInfo &weight) {
  auto info = std::make_unique<fb::WeightInfoT>();
  info->id = weight.id;
  info->offset = weight.offset;
  info->size = weight.size;
  info->hash_low = weight.hash.low;
  info->hash_high = weight.hash.high;
  return info;
}

} // namespace

Bytes encodeMetadata(const ArtifactInfo &artifact) {
  fb::ArtifactT info;
  info.producer = artifact.producer;
  info.model = artifact.model;
  info.symbols = listOf(artifact.symbols, symbolOf);
  info.checks = listOf(artifact.checks, checkOf);
  info.inputs = listOf(artifact.inputs, portOf);
  info.outputs = listOf(artifact.outputs, portOf);
  info.variables = listOf(artifact.variables, variableOf);
  info.weights = listOf(artifact.weights, weightOf);
  info.variants = listOf(artifact.variants, variantOf);
  info.graph.assign(artifact.graph.bytes.begin(), artifact.graph.bytes.end());
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishArtifactBuffer(builder, fb::Artifact::Pack(builder, &info));
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

} // namespace backplane
