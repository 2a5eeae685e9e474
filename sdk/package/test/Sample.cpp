// SPDX-License-Identifier: Apache-2.0
#include "Sample.h"
#include "sdk/package/Metadata.h"

namespace backplane::sample {

std::unique_ptr<fb::TensorInfoT> tensor(std::string name, DType type,
                                        std::vector<std::string> dims) {
  auto info = std::make_unique<fb::TensorInfoT>();
  info->name = std::move(name);
  info->dtype = uint32_t(type);
  bool symbolic = false;
  for (const std::string &dim : dims) {
    bool number = dim.find_first_not_of("0123456789") == std::string::npos;
    info->sizes.push_back(number ? std::stoll(dim) : -1);
    symbolic |= !number;
  }
  if (symbolic)
    info->exprs = std::move(dims);
  return info;
}

std::unique_ptr<fb::SlotT> slot(fb::SlotKind kind, uint32_t index,
                                std::string bytes) {
  auto result = std::make_unique<fb::SlotT>();
  result->kind = kind;
  result->index = index;
  result->bytes = std::move(bytes);
  return result;
}

std::unique_ptr<fb::SlotT> transient(std::string bytes, uint32_t first,
                                     uint32_t last, int64_t offset,
                                     int32_t reuse) {
  auto result = slot(fb::SlotKind::Transient, 0, std::move(bytes));
  result->first = first;
  result->last = last;
  result->offset = offset;
  result->reuse = reuse;
  return result;
}

std::unique_ptr<fb::BindingT> binding(uint32_t slot, std::string offset,
                                      std::string length) {
  auto result = std::make_unique<fb::BindingT>();
  result->slot = slot;
  result->offset = std::move(offset);
  result->length = std::move(length);
  return result;
}

std::unique_ptr<fb::CommandT> dispatch(uint32_t executable,
                                       std::vector<std::string> grid,
                                       std::vector<std::string> constants,
                                       std::vector<uint32_t> slots) {
  fb::DispatchT body;
  body.executable = executable;
  body.grid = std::move(grid);
  body.constants = std::move(constants);
  for (uint32_t slot : slots)
    body.bindings.push_back(binding(slot));
  body.name = "dispatch";
  body.ops = {"first op", "second op", "first op"};
  auto command = std::make_unique<fb::CommandT>();
  command->body.Set(std::move(body));
  return command;
}

std::unique_ptr<fb::CommandT> copy(uint32_t source, uint32_t target) {
  fb::CopyT body;
  body.source = binding(source);
  body.target = binding(target);
  auto command = std::make_unique<fb::CommandT>();
  command->body.Set(std::move(body));
  return command;
}

std::unique_ptr<fb::CommandT> fill(uint32_t target, uint32_t pattern) {
  fb::FillT body;
  body.target = binding(target);
  body.pattern = pattern;
  body.pattern_size = 4;
  auto command = std::make_unique<fb::CommandT>();
  command->body.Set(std::move(body));
  return command;
}

std::unique_ptr<fb::CommandT> barrier() {
  auto command = std::make_unique<fb::CommandT>();
  command->body.Set(fb::BarrierT());
  return command;
}

std::unique_ptr<fb::ExecutableT> executable(std::string format, Bytes blob,
                                            std::string entry,
                                            std::vector<uint8_t> access,
                                            uint32_t constants) {
  auto result = std::make_unique<fb::ExecutableT>();
  result->format = std::move(format);
  result->blob = std::move(blob);
  auto info = std::make_unique<fb::EntryT>();
  info->name = std::move(entry);
  info->access = std::move(access);
  info->constant_count = constants;
  info->workgroup_size = {1, 1, 1};
  result->entries.push_back(std::move(info));
  return result;
}

Status write(const std::string &path, const fb::ArtifactT &artifact,
             const WeightPool &weights) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishArtifactBuffer(builder, fb::Artifact::Pack(builder, &artifact));
  auto decoded =
      decodeMetadata({builder.GetBufferPointer(), builder.GetSize()});
  return decoded ? writeArtifact(path, *decoded, weights) : decoded.status();
}

uint32_t addWeight(fb::ArtifactT &artifact, WeightPool &pool, Bytes bytes) {
  TensorType type{DType::U8, {Dim(int64_t(bytes.size()))}};
  Result<WeightId> id = pool.add(type, std::move(bytes));
  auto info = std::make_unique<fb::WeightInfoT>();
  info->id = *id;
  artifact.weights.push_back(std::move(info));
  return uint32_t(artifact.weights.size() - 1);
}

namespace {

std::unique_ptr<fb::ProgramT> initProgram(uint32_t weight) {
  auto init = std::make_unique<fb::ProgramT>();
  init->slots.push_back(slot(fb::SlotKind::Weight, weight));
  init->slots.push_back(slot(fb::SlotKind::Constant, 0, "100"));
  init->slots.push_back(transient("100", 0, 2, 64));
  init->arena_bytes = 192;
  init->commands.push_back(copy(0, 2));
  init->commands.push_back(barrier());
  init->commands.push_back(copy(2, 1));
  return init;
}

std::unique_ptr<fb::CommandT> control(fb::ControlT control) {
  auto command = std::make_unique<fb::CommandT>();
  command->body.Set(std::move(control));
  return command;
}

std::unique_ptr<fb::CommandT> ifCommand() {
  fb::ControlT choice;
  choice.kind = fb::ControlKind::If;
  choice.operands = {0};
  choice.results = {8};
  choice.regions = {0, 0};
  choice.condition = "n mod 2";
  choice.op = "If node /i";
  return control(std::move(choice));
}

std::unique_ptr<fb::CommandT> whileCommand() {
  fb::ControlT loop;
  loop.kind = fb::ControlKind::While;
  loop.operands = {3};
  loop.results = {9, 10};
  loop.regions = {1};
  loop.carried = 1;
  loop.limit = "n";
  loop.op = "Loop node /l";
  return control(std::move(loop));
}

std::unique_ptr<fb::ProgramT> mainProgram(uint32_t weight) {
  auto program = std::make_unique<fb::ProgramT>();
  auto &slots = program->slots;
  slots.push_back(slot(fb::SlotKind::Input, 0, "32*n"));
  slots.push_back(slot(fb::SlotKind::Output, 0));
  slots.push_back(slot(fb::SlotKind::Weight, weight));
  slots.push_back(slot(fb::SlotKind::Variable, 0, "16"));
  slots.push_back(slot(fb::SlotKind::Constant, 0, "100"));
  slots.push_back(transient("32*n", 0, 4));
  slots.push_back(transient("200", 0, 2, 0));
  slots.push_back(transient("200", 2, 4, 0, 6));
  program->arena_bytes = 256;
  program->commands.push_back(
      dispatch(0, {"n", "n ceildiv 2", "1"}, {"n", "7"}, {0, 5, 6, 2}));
  program->commands.push_back(barrier());
  program->commands.push_back(
      dispatch(0, {"1", "1", "1"}, {"n mod 4", "0"}, {6, 5, 7, 4}));
  program->commands.push_back(barrier());
  program->commands.push_back(copy(5, 1));
  program->commands.push_back(fill(3, 42));
  program->commands.push_back(barrier());
  slots.push_back(transient("32*n", 7, 7));
  slots.push_back(transient("16", 8, 8));
  slots.push_back(transient("16*n", 8, 8));
  program->commands.push_back(ifCommand());
  program->commands.push_back(whileCommand());
  return program;
}

/// A program that copies its first input to all outputs.
std::unique_ptr<fb::RegionT> copies(std::vector<std::string> bytes) {
  auto region = std::make_unique<fb::RegionT>();
  region->inputs = {bytes[0]};
  region->outputs = bytes;
  region->program = std::make_unique<fb::ProgramT>();
  auto &slots = region->program->slots;
  slots.push_back(slot(fb::SlotKind::Input, 0));
  for (uint32_t i = 0; i < bytes.size(); ++i) {
    slots.push_back(slot(fb::SlotKind::Output, i));
    region->program->commands.push_back(copy(0, i + 1));
  }
  return region;
}

std::vector<std::unique_ptr<fb::RegionT>> sampleRegions() {
  std::vector<std::unique_ptr<fb::RegionT>> regions;
  regions.push_back(copies({"32*n"}));
  regions.push_back(copies({"16", "16"}));
  regions[1]->iteration = "i";
  auto check = std::make_unique<fb::CheckT>();
  check->lhs = "min(i, n)";
  check->rhs = "i";
  check->message = "Loop node /l counts to n";
  regions[1]->checks.push_back(std::move(check));
  return regions;
}

} // namespace

void fullArtifact(fb::ArtifactT &artifact, WeightPool &pool) {
  artifact.producer = "backplane test";
  artifact.model = "sample";
  auto symbol = std::make_unique<fb::SymbolInfoT>();
  symbol->name = "n";
  symbol->minimum = 1;
  symbol->maximum = 64;
  symbol->divisor = 1;
  artifact.symbols.push_back(std::move(symbol));
  auto check = std::make_unique<fb::CheckT>();
  check->lhs = "n";
  check->rhs = "2*(n floordiv 2)";
  check->message = "Reshape node /r needs an even n";
  artifact.checks.push_back(std::move(check));
  artifact.inputs.push_back(tensor("x", DType::F32, {"n", "8"}));
  artifact.outputs.push_back(tensor("y", DType::F32, {"8", "n"}));
  uint32_t initial = addWeight(artifact, pool, Bytes(16, 1));
  uint32_t weight = addWeight(artifact, pool, Bytes(100, 2));
  auto variable = std::make_unique<fb::VariableInfoT>();
  variable->type = tensor("state", DType::I32, {"4"});
  variable->initial = int32_t(initial);
  artifact.variables.push_back(std::move(variable));
  auto variant = std::make_unique<fb::VariantT>();
  variant->target = "toy";
  variant->driver = "host";
  variant->format = "elf-x86_64";
  variant->required_features = {"avx2"};
  variant->rank = 3;
  variant->executables.push_back(
      executable("elf-x86_64", Bytes(50, 3), "entry", {1, 2, 3, 1}, 2));
  variant->init = initProgram(weight);
  variant->program = mainProgram(weight);
  variant->regions = sampleRegions();
  variant->report = {"nothing fused"};
  artifact.variants.push_back(std::move(variant));
}

void addRead(fb::ArtifactT &artifact) {
  auto symbol = std::make_unique<fb::SymbolInfoT>();
  symbol->name = "k";
  symbol->maximum = 64;
  symbol->divisor = 1;
  artifact.symbols.push_back(std::move(symbol));
  artifact.outputs.push_back(tensor("z", DType::I32, {"k"}));
  fb::ProgramT &program = *artifact.variants[0]->program;
  program.slots.push_back(transient("8", 9, 10));
  program.slots.push_back(transient("4*k", 11, 13));
  program.slots.push_back(slot(fb::SlotKind::Output, 1, "4*k"));
  fb::ReadT read;
  read.slot = 11;
  read.symbol = "k";
  read.bound = "n";
  read.op = "NonZero node /z";
  auto command = std::make_unique<fb::CommandT>();
  command->body.Set(std::move(read));
  program.commands.push_back(fill(11, 0));
  program.commands.push_back(std::move(command));
  program.commands.push_back(fill(12, 7));
  program.commands.push_back(barrier());
  program.commands.push_back(copy(12, 13));
}

void extendLaunches(fb::ArtifactT &artifact) {
  fb::VariantT &variant = *artifact.variants[0];
  fb::EntryT &entry = *variant.executables[0]->entries[0];
  entry.driver_data = {7, 0, 255};
  entry.subgroup_size = 32;
  entry.parameter_count = 2;
  for (auto &command : variant.program->commands)
    if (fb::DispatchT *dispatch = command->body.AsDispatch()) {
      dispatch->parameters = {"0-n", "1000000007*n*n"};
      dispatch->shared_bytes = "256*n";
      dispatch->cluster = {2, 1, 4};
    }
}

void split(fb::ArtifactT &artifact) {
  fb::VariantT &variant = *artifact.variants[0];
  auto device = std::make_unique<fb::VariantDeviceT>();
  device->target = "other";
  device->driver = "ref";
  device->format = "wire";
  variant.devices.push_back(std::move(device));
  variant.executables.push_back(
      executable("wire", Bytes(9, 3), "remote", {1, 2}, 0));
  variant.executables[1]->device = 1;
  fb::ProgramT &program = *variant.program;
  auto on = [&](std::string bytes, uint32_t first, uint32_t last,
                int64_t offset) {
    program.slots.push_back(transient(bytes, first, last, offset));
    program.slots.back()->device = 1;
  };
  on("16", 9, 11, 0);
  on("16", 11, 13, 64);
  program.arenas = {128};
  program.commands.push_back(copy(3, 11));
  program.commands.push_back(barrier());
  program.commands.push_back(dispatch(1, {"1", "1", "1"}, {}, {11, 12}));
  program.commands.push_back(barrier());
  program.commands.push_back(copy(12, 3));
}

} // namespace backplane::sample
