// SPDX-License-Identifier: Apache-2.0
#include "Resolve.h"
#include "PlaceSlots.h"

namespace backplane::rt {
namespace {

/// Bytes of scratch per worker that a dispatch may ask for.
constexpr uint64_t maxWorkspace = uint64_t(1) << 32;

class Resolver {
public:
  Resolver(const Program &program, Evaluator &evaluator,
           const ResolveContext &context)
      : program_(program), evaluate_(evaluator), context_(context) {}

  Result<Resolved> run() {
    if (Status s = placeSlots(program_, evaluate_, context_, result_); !s.ok())
      return s;
    return addCommands(0);
  }
  Result<Resolved> runRest(std::vector<SlotPlace> places, size_t first) {
    result_.places = std::move(places);
    return addCommands(first);
  }

private:
  Result<Resolved> addCommands(size_t first);
  Result<Binding> placeOf(uint32_t slot);
  uint32_t deviceOf(uint32_t slot) const { return program_.slots[slot].device; }
  uint32_t deviceOf(const program::Dispatch &dispatch) const;
  Status addCommand(uint32_t index, const program::Command &command);
  Status addDispatch(uint32_t index, const program::Dispatch &dispatch);
  Status addCopy(const program::Copy &copy);
  Status addFill(const program::Fill &fill);
  Status addControl(const program::Control &control);
  Status addRead(const program::Read &read, size_t next);
  Result<Binding> bind(const SlotRange &range);
  Result<uint64_t> number(const Dim &dim, uint64_t max) const {
    return evaluateWithin(evaluate_, dim, max);
  }

  const Program &program_;
  Evaluator &evaluate_;
  const ResolveContext &context_;
  Resolved result_;
};

Result<Resolved> Resolver::addCommands(size_t first) {
  for (size_t i = first; i < program_.commands.size() && !result_.read; ++i)
    if (Status s = addCommand(uint32_t(i), program_.commands[i]); !s.ok())
      return s.within("command " + std::to_string(i));
  return std::move(result_);
}

/// The memory of a slot in this call.
Result<Binding> Resolver::placeOf(uint32_t slot) {
  const SlotPlace &place = result_.places[slot];
  Binding binding = place.binding;
  if (place.isRead) {
    Result<uint64_t> bytes =
        number(*program_.slots[slot].bytes, binding.length);
    if (!bytes)
      return bytes.status().within("slot " + std::to_string(slot));
    binding.length = *bytes;
  }
  return binding;
}

Status Resolver::addCommand(uint32_t index, const program::Command &command) {
  if (const auto *dispatch = std::get_if<program::Dispatch>(&command))
    return addDispatch(index, *dispatch);
  if (const auto *copy = std::get_if<program::Copy>(&command))
    return addCopy(*copy);
  if (const auto *fill = std::get_if<program::Fill>(&command))
    return addFill(*fill);
  if (const auto *control = std::get_if<program::Control>(&command))
    return addControl(*control);
  if (const auto *read = std::get_if<program::Read>(&command))
    return addRead(*read, index + 1);
  result_.commands.push_back({Barrier(), 0, {}});
  return {};
}

/// The device of its slots; without any, one that has the executable.
uint32_t Resolver::deviceOf(const program::Dispatch &dispatch) const {
  if (!dispatch.bindings.empty())
    return deviceOf(dispatch.bindings[0].slot);
  const Device *device = &context_.executables[dispatch.executable]->device();
  for (uint32_t i = 0; i < context_.sides.size(); ++i)
    if (context_.sides[i].device.get() == device)
      return i;
  return 0;
}

Status Resolver::addDispatch(uint32_t index,
                             const program::Dispatch &dispatch) {
  if (!runs(dispatch, context_.executables))
    return {};
  Dispatch command;
  uint32_t device = deviceOf(dispatch);
  const std::shared_ptr<Buffer> &nothing =
      context_.sides[device].residents.nothing;
  command.executable = context_.executables[dispatch.executable];
  command.entry = dispatch.entry;
  command.op = index + 1;
  for (uint32_t i = 0; i < 3; ++i) {
    Result<uint64_t> size = number(dispatch.grid[i], UINT32_MAX);
    if (!size)
      return size.status().within("grid");
    command.grid[i] = uint32_t(*size);
  }
  if (command.grid[0] == 0 || command.grid[1] == 0 || command.grid[2] == 0)
    return {};
  if (dispatch.workspace) {
    Result<uint64_t> bytes = number(*dispatch.workspace, maxWorkspace);
    if (!bytes)
      return bytes.status().within("workspace");
    command.workspaceBytes = *bytes;
  }
  for (uint32_t i = 0; i < dispatch.constants.size(); ++i) {
    Result<uint64_t> value = number(dispatch.constants[i], UINT32_MAX);
    if (!value)
      return value.status().within("constant " + std::to_string(i));
    command.constants.push_back(uint32_t(*value));
  }
  for (uint32_t i = 0; i < dispatch.parameters.size(); ++i) {
    Result<int64_t> value = evaluate_(dispatch.parameters[i]);
    if (!value)
      return value.status().within("parameter " + std::to_string(i));
    command.parameters.push_back(*value);
  }
  if (dispatch.sharedBytes) {
    Result<uint64_t> bytes = number(*dispatch.sharedBytes, UINT32_MAX);
    if (!bytes)
      return bytes.status().within("shared memory");
    command.sharedBytes = *bytes;
  }
  command.cluster = dispatch.cluster;
  for (uint32_t i = 0; i < dispatch.bindings.size(); ++i) {
    Result<Binding> binding = bind(dispatch.bindings[i]);
    if (!binding)
      return binding.status().within("binding " + std::to_string(i));
    if (binding->length == 0)
      *binding = {nothing, 0, nothing->size()};
    command.bindings.push_back(std::move(*binding));
  }
  result_.commands.push_back({std::move(command), device, {}});
  return {};
}

Status Resolver::addCopy(const program::Copy &copy) {
  Result<Binding> source = bind(copy.source);
  if (!source)
    return source.status().within("source");
  Result<Binding> target = bind(copy.target);
  if (!target)
    return target.status().within("target");
  if (source->length != target->length)
    return Status(BP_STATUS_OUT_OF_RANGE,
                  "it copies " + std::to_string(source->length) + " bytes to " +
                      std::to_string(target->length));
  if (source->length == 0)
    return {};
  uint32_t from = deviceOf(copy.source.slot);
  uint32_t to = deviceOf(copy.target.slot);
  result_.commands.push_back({Copy{std::move(*source), std::move(*target)}, to,
                              from == to ? std::nullopt : std::optional(from)});
  return {};
}

Status Resolver::addFill(const program::Fill &fill) {
  Result<Binding> target = bind(fill.target);
  if (!target)
    return target.status().within("target");
  if (target->length > 0)
    result_.commands.push_back(
        {Fill{std::move(*target), fill.pattern, fill.patternSize},
         deviceOf(fill.target.slot),
         {}});
  return {};
}

Status Resolver::addRead(const program::Read &read, size_t next) {
  Result<Binding> source = placeOf(read.slot);
  if (!source)
    return source.status();
  result_.read = {&read, deviceOf(read.slot), std::move(*source), next};
  return {};
}

Status Resolver::addControl(const program::Control &control) {
  ResolvedControl resolved;
  resolved.control = &control;
  resolved.position = result_.commands.size();
  for (auto [slots, bindings] :
       {std::pair(&control.operands, &resolved.operands),
        std::pair(&control.results, &resolved.results)})
    for (uint32_t slot : *slots) {
      Result<Binding> place = placeOf(slot);
      if (!place)
        return place.status();
      bindings->push_back(std::move(*place));
    }
  // Its slots all lie where its regions run.
  for (const auto *list : {&control.operands, &control.results})
    if (!list->empty())
      resolved.device = deviceOf(list->front());
  result_.controls.push_back(std::move(resolved));
  return {};
}

Result<Binding> Resolver::bind(const SlotRange &range) {
  Result<Binding> found = placeOf(range.slot);
  if (!found)
    return found.status();
  const Binding &place = *found;
  uint64_t offset = 0, length = 0;
  if (range.offset) {
    Result<uint64_t> value = number(*range.offset, place.length);
    if (!value)
      return value.status().within("offset");
    offset = *value;
  }
  length = place.length - offset;
  if (range.length) {
    Result<uint64_t> value = number(*range.length, length);
    if (!value)
      return value.status().within("length");
    length = *value;
  }
  return Binding{place.buffer, place.offset + offset, length, place.slot};
}

} // namespace

bool runs(const program::Dispatch &dispatch,
          const std::vector<std::shared_ptr<Executable>> &executables) {
  if (!executables[dispatch.executable])
    return false;
  return !dispatch.fallbackFor || !executables[*dispatch.fallbackFor];
}

Result<Resolved> resolveProgram(const Program &program, Evaluator &evaluator,
                                const ResolveContext &context) {
  return Resolver(program, evaluator, context).run();
}

Result<Resolved> resolveRest(const Program &program, Evaluator &evaluator,
                             const ResolveContext &context,
                             std::vector<SlotPlace> places, size_t first) {
  return Resolver(program, evaluator, context)
      .runRest(std::move(places), first);
}

} // namespace backplane::rt
