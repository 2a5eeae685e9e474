// SPDX-License-Identifier: Apache-2.0
//
// CommandList.cpp: commands, checked one by one as they become a list.
#include "hal/core/CommandList.h"
#include "hal/core/CommandRanges.h"
#include "hal/core/Device.h"

#include <algorithm>
#include <limits>

namespace backplane {

namespace {

constexpr uint32_t maxSlots = 1u << 20;
constexpr uint64_t maxWorkspace = uint64_t(1) << 32;

const bp_command_barrier_t barrierCommand = {BP_HEADER(bp_command_barrier_t)};

/// Translates and checks commands one after another.
class Builder {
public:
  Builder(const Device &device, bool slotsAllowed, CommandList &list)
      : device_(device), info_(device.info().c()), slotsAllowed_(slotsAllowed),
        list_(list) {}

  Status addAll(std::span<const Command> commands);

private:
  void reserve(std::span<const Command> commands);
  Status add(const Dispatch &dispatch);
  Status add(const Copy &copy);
  Status add(const Fill &fill);
  Status add(const Barrier &);
  Status checkDispatch(const Dispatch &dispatch) const;
  Status checkGrid(const Dispatch &dispatch) const;
  Status checkCluster(const Dispatch &dispatch) const;
  Status checkShared(const Dispatch &dispatch) const;
  Status useBuffer(const Binding &binding, bool writes);
  Status useSlot(const Binding &binding, bool writes);
  Status use(const Binding &binding, bool writes, bp_binding_t &out);
  Status addBinding(const Binding &binding, bool writes);

  const Device &device_;
  const bp_device_info_t &info_;
  bool slotsAllowed_;
  CommandList &list_;
  uint32_t index_ = 0;
};

} // namespace

/// Makes room for everything, so that pointers into the list stay valid.
void Builder::reserve(std::span<const Command> commands) {
  size_t dispatches = 0, copies = 0, fills = 0, bindings = 0, constants = 0;
  size_t parameters = 0;
  for (const Command &command : commands) {
    if (const auto *dispatch = std::get_if<Dispatch>(&command)) {
      ++dispatches;
      bindings += dispatch->bindings.size();
      constants += dispatch->constants.size();
      parameters += dispatch->parameters.size();
    }
    copies += std::holds_alternative<Copy>(command);
    fills += std::holds_alternative<Fill>(command);
  }
  list_.commands.reserve(commands.size());
  list_.dispatches.reserve(dispatches);
  list_.copies.reserve(copies);
  list_.fills.reserve(fills);
  list_.bindings.reserve(bindings);
  list_.constants.reserve(constants);
  list_.parameters.reserve(parameters);
}

Status Builder::addAll(std::span<const Command> commands) {
  reserve(commands);
  for (const Command &command : commands) {
    Status status =
        std::visit([&](const auto &one) { return add(one); }, command);
    if (!status.ok())
      return status.within("command " + text(index_));
    ++index_;
  }
  std::sort(list_.alive.begin(), list_.alive.end());
  list_.alive.erase(std::unique(list_.alive.begin(), list_.alive.end()),
                    list_.alive.end());
  return {};
}

Status Builder::useBuffer(const Binding &binding, bool writes) {
  const Buffer &buffer = *binding.buffer;
  if (Status status =
          checkRange(device_, buffer, binding.offset, binding.length);
      !status.ok())
    return status;
  if (writes && buffer.readOnly())
    return invalidArgument("it writes a buffer that was imported as "
                           "read-only");
  list_.alive.push_back(binding.buffer);
  return {};
}

Status Builder::useSlot(const Binding &binding, bool writes) {
  if (!slotsAllowed_)
    return invalidArgument("it names slot " + text(binding.slot) +
                           ", but only recorded commands have slots");
  if (binding.slot >= maxSlots)
    return invalidArgument("slot " + text(binding.slot) +
                           " is beyond the limit of " + text(maxSlots));
  if (binding.offset > std::numeric_limits<int64_t>::max() ||
      binding.length > std::numeric_limits<int64_t>::max())
    return Status(BP_STATUS_OUT_OF_RANGE,
                  "its range has no sensible end: " + text(binding.length) +
                      " bytes at offset " + text(binding.offset));
  if (binding.slot >= list_.slots.size())
    list_.slots.resize(binding.slot + 1);
  SlotUse &use = list_.slots[binding.slot];
  if (!use.extent)
    use.firstCommand = index_;
  use.extent = std::max(use.extent, binding.offset + binding.length);
  use.written |= writes;
  return {};
}

Status Builder::use(const Binding &binding, bool writes, bp_binding_t &out) {
  Status status =
      binding.buffer ? useBuffer(binding, writes) : useSlot(binding, writes);
  bp_buffer_t *handle = binding.buffer ? binding.buffer->handle() : nullptr;
  out = {handle, binding.offset, binding.length, binding.slot, 0};
  return status;
}

Status Builder::checkGrid(const Dispatch &dispatch) const {
  for (int axis = 0; axis < 3; ++axis) {
    uint32_t groups = dispatch.grid[axis], most = info_.max_grid[axis];
    if (groups == 0 || (most && groups > most))
      return invalidArgument("grid size " + text(groups) + " on axis " +
                             text(axis) + " is not between 1 and " +
                             text(most ? most : UINT32_MAX));
  }
  return checkCluster(dispatch);
}

Status Builder::checkCluster(const Dispatch &dispatch) const {
  uint64_t size = 1, most = std::max(info_.max_cluster, 1u);
  for (int axis = 0; axis < 3; ++axis) {
    uint32_t groups = dispatch.cluster[axis];
    size *= groups;
    if (groups == 0 || groups > most || size > most)
      return unimplemented(
          "a cluster of " + text(dispatch.cluster[0]) + " by " +
          text(dispatch.cluster[1]) + " by " + text(dispatch.cluster[2]) +
          " work-groups, the device has clusters of at most " + text(most));
    if (dispatch.grid[axis] % groups)
      return invalidArgument(
          "grid size " + text(dispatch.grid[axis]) + " on axis " + text(axis) +
          " is no multiple of its cluster's " + text(groups));
  }
  return {};
}

Status Builder::checkDispatch(const Dispatch &dispatch) const {
  if (!dispatch.executable)
    return invalidArgument("dispatch without an executable");
  const Executable &executable = *dispatch.executable;
  if (&executable.device() != &device_)
    return invalidArgument("its executable belongs to device " +
                           executable.device().uri() + ", not to " +
                           device_.uri());
  if (dispatch.entry >= executable.entries().size())
    return invalidArgument("entry " + text(dispatch.entry) +
                           " of an executable with " +
                           text(executable.entries().size()) + " entries");
  const Entry &entry = executable.entries()[dispatch.entry];
  if (dispatch.bindings.size() != entry.bindingAccess.size())
    return invalidArgument(
        entry.name + " takes " + text(entry.bindingAccess.size()) +
        " bindings, given " + text(dispatch.bindings.size()));
  if (dispatch.constants.size() != entry.constantCount)
    return invalidArgument(entry.name + " takes " + text(entry.constantCount) +
                           " constants, given " +
                           text(dispatch.constants.size()));
  if (dispatch.parameters.size() != entry.parameterCount)
    return invalidArgument(entry.name + " takes " + text(entry.parameterCount) +
                           " parameters, given " +
                           text(dispatch.parameters.size()));
  if (dispatch.workspaceBytes > maxWorkspace)
    return invalidArgument(entry.name + " asks for " +
                           text(dispatch.workspaceBytes) +
                           " bytes of scratch per worker, at most " +
                           text(maxWorkspace) + " are possible");
  if (Status status = checkShared(dispatch); !status.ok())
    return status.within(entry.name);
  return checkGrid(dispatch).within(entry.name);
}

Status Builder::checkShared(const Dispatch &dispatch) const {
  if (dispatch.sharedBytes <= info_.max_shared_bytes)
    return {};
  return unimplemented(text(dispatch.sharedBytes) +
                       " bytes of dynamic shared memory, the device has at "
                       "most " +
                       text(info_.max_shared_bytes));
}

/// A binding of a dispatch, which has limits of its own.
Status Builder::addBinding(const Binding &binding, bool writes) {
  if (Status s = checkAlignment(device_, binding.offset); !s.ok())
    return s;
  if (info_.max_binding_range && binding.length > info_.max_binding_range)
    return invalidArgument(text(binding.length) +
                           " bytes, the device binds at most " +
                           text(info_.max_binding_range));
  return use(binding, writes, list_.bindings.emplace_back());
}

Status Builder::add(const Dispatch &dispatch) {
  if (Status status = checkDispatch(dispatch); !status.ok())
    return status;
  const Entry &entry = dispatch.executable->entries()[dispatch.entry];
  bp_command_dispatch_t c = {BP_HEADER(bp_command_dispatch_t)};
  c.executable = dispatch.executable->handle();
  c.entry = dispatch.entry;
  c.op = dispatch.op;
  c.workspace_bytes = dispatch.workspaceBytes;
  std::copy(dispatch.grid.begin(), dispatch.grid.end(), c.grid);
  c.constant_count = uint32_t(dispatch.constants.size());
  c.constants = list_.constants.data() + list_.constants.size();
  c.parameter_count = uint32_t(dispatch.parameters.size());
  c.parameters = list_.parameters.data() + list_.parameters.size();
  std::copy(dispatch.cluster.begin(), dispatch.cluster.end(), c.cluster);
  c.shared_bytes = dispatch.sharedBytes;
  c.bindings = list_.bindings.data() + list_.bindings.size();
  c.binding_count = dispatch.bindings.size();
  for (size_t i = 0; i < dispatch.bindings.size(); ++i) {
    bool writes = entry.bindingAccess[i] & BP_ACCESS_WRITE;
    Status status = addBinding(dispatch.bindings[i], writes);
    if (!status.ok())
      return status.within(entry.name + ", binding " + text(i));
  }
  list_.constants.insert(list_.constants.end(), dispatch.constants.begin(),
                         dispatch.constants.end());
  list_.parameters.insert(list_.parameters.end(), dispatch.parameters.begin(),
                          dispatch.parameters.end());
  list_.alive.push_back(dispatch.executable);
  list_.commands.push_back(&list_.dispatches.emplace_back(c).header);
  return {};
}

Status Builder::add(const Copy &copy) {
  bp_command_copy_t c = {BP_HEADER(bp_command_copy_t)};
  if (copy.source.length != copy.target.length)
    return invalidArgument("copy of " + text(copy.source.length) +
                           " bytes to " + text(copy.target.length) + " bytes");
  if (Status status = use(copy.source, false, c.source); !status.ok())
    return status.within("copy, source");
  if (Status status = use(copy.target, true, c.target); !status.ok())
    return status.within("copy, target");
  if (sameRange(c.source, c.target))
    return invalidArgument("copy whose source and target overlap");
  list_.commands.push_back(&list_.copies.emplace_back(c).header);
  return {};
}

Status Builder::add(const Fill &fill) {
  uint32_t size = fill.patternSize;
  if (size != 1 && size != 2 && size != 4)
    return invalidArgument("fill with a pattern of " + text(size) +
                           " bytes; 1, 2 and 4 are possible");
  if (fill.target.offset % size || fill.target.length % size)
    return invalidArgument("fill of " + text(fill.target.length) +
                           " bytes at offset " + text(fill.target.offset) +
                           ", not multiples of the pattern's " + text(size));
  bp_command_fill_t c = {BP_HEADER(bp_command_fill_t)};
  c.pattern = fill.pattern;
  c.pattern_size = size;
  if (Status status = use(fill.target, true, c.target); !status.ok())
    return status.within("fill");
  list_.commands.push_back(&list_.fills.emplace_back(c).header);
  return {};
}

Status Builder::add(const Barrier &) {
  list_.commands.push_back(&barrierCommand.header);
  return {};
}

Result<std::unique_ptr<CommandList>>
CommandList::build(const Device &device, std::span<const Command> commands,
                   bool slotsAllowed) {
  auto list = std::make_unique<CommandList>();
  Builder builder(device, slotsAllowed, *list);
  if (Status status = builder.addAll(commands); !status.ok())
    return status;
  return list;
}

} // namespace backplane
