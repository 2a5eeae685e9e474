// SPDX-License-Identifier: Apache-2.0
#include "Check.h"
#include "backplane/hal.h"

namespace backplane {
namespace {

Status bad(std::string message) { return dataLoss(std::move(message)); }

constexpr int64_t maxBytes = int64_t(1) << 62;

} // namespace

Status ProgramChecker::run() {
  written.assign(region ? region->outputs.size() : artifact.outputs.size(),
                 false);
  replaced = replaceable(variant);
  if (program.arenas.size() > variant.devices.size())
    return bad("it has more arenas than devices");
  for (int64_t bytes : program.arenas)
    if (bytes < -1 || bytes > maxBytes)
      return bad("it has an arena of " + std::to_string(bytes) + " bytes");
  if (Status s = checkSlots(); !s.ok())
    return s;
  if (Status s = checkCommands(); !s.ok())
    return s;
  return checkMemory();
}

/// The symbols that the program of a variant reads are used by later commands
/// only; regions and their sizes may use all.
Status ProgramChecker::checkCommands() {
  bool reads = !init && !region;
  if (reads)
    expressions.unbindReads();
  for (uint32_t i = 0; i < program.commands.size(); ++i)
    if (Status s = checkCommand(program.commands[i]); !s.ok())
      return s.within("command " + std::to_string(i));
  if (reads)
    if (Status s = checkReadsUsed(); !s.ok())
      return s;
  expressions.rebindReads();
  return {};
}

Status ProgramChecker::checkSlots() {
  uint32_t transients = 0;
  for (uint32_t i = 0; i < program.slots.size(); ++i) {
    const Slot &slot = program.slots[i];
    if (slot.kind == SlotKind::Transient && ++transients > limits::transients)
      return bad("it has more than " + std::to_string(limits::transients) +
                 " transients");
    if (Status s = checkSlot(slot); !s.ok())
      return s.within("slot " + std::to_string(i));
  }
  return {};
}

Status ProgramChecker::checkSlot(const Slot &slot) {
  if (slot.device >= variant.devices.size())
    return bad("it lies on device " + std::to_string(slot.device) + ", of " +
               std::to_string(variant.devices.size()));
  Result<std::optional<int64_t>> bytes = sizeOf(slot);
  if (!bytes)
    return bytes.status();
  slotBytes.push_back(*bytes);
  slotLimits.push_back(limitOf(slot, *bytes));
  switch (slot.kind) {
  case SlotKind::Transient:
    return checkTransient(slot, *bytes);
  case SlotKind::Constant:
    return checkConstant(slot, *bytes);
  default:
    return {};
  }
}

/// The static size of a slot that names an input, output, weight or variable,
/// and whether there is such a one.
Result<std::optional<int64_t>> ProgramChecker::sizeOfNamed(const Slot &slot) {
  auto outOfRange = [&](uint32_t size) {
    return bad("it names " + std::string(name(slot.kind)) + " " +
               std::to_string(slot.index) + ", of " + std::to_string(size));
  };
  if (init && slot.kind != SlotKind::Weight)
    return bad("an init program cannot use it");
  if (slot.kind == SlotKind::Weight) {
    if (slot.index >= artifact.weights.size())
      return outOfRange(artifact.weights.size());
    return std::optional<int64_t>(artifact.weights[slot.index].size);
  }
  if (slot.kind == SlotKind::Variable) {
    if (slot.index >= artifact.variables.size())
      return outOfRange(artifact.variables.size());
    return staticBytes(artifact.variables[slot.index].port.type);
  }
  if (region)
    return sizeOfRegionSlot(slot);
  const auto &list =
      slot.kind == SlotKind::Input ? artifact.inputs : artifact.outputs;
  if (slot.index >= list.size())
    return outOfRange(list.size());
  return staticBytes(list[slot.index].type);
}

Result<std::optional<int64_t>> ProgramChecker::sizeOf(const Slot &slot) {
  std::optional<int64_t> named, stated;
  bool isNamed =
      slot.kind != SlotKind::Transient && slot.kind != SlotKind::Constant;
  if (isNamed) {
    Result<std::optional<int64_t>> size = sizeOfNamed(slot);
    if (!size)
      return size;
    named = *size;
    if (!slot.bytes)
      return named;
  }
  if (!slot.bytes)
    return bad("it has no size");
  if (Status s = expressions.check(*slot.bytes); !s.ok())
    return s;
  stated = slot.bytes->constant();
  if (stated && (*stated < 0 || *stated > maxBytes))
    return bad("it has a size of " + std::to_string(*stated));
  if (named && stated && *named != *stated)
    return bad("it has " + std::to_string(*stated) + " bytes, what it names " +
               std::to_string(*named));
  return stated;
}

/// Constants have static sizes; the program may only use what init writes.
Status ProgramChecker::checkConstant(const Slot &slot,
                                     std::optional<int64_t> bytes) {
  if (!bytes)
    return bad("a constant has no static size");
  auto [at, fresh] = constants.emplace(slot.index, *bytes);
  if (fresh && !init)
    return bad("the init program writes no constant " +
               std::to_string(slot.index));
  if (at->second != *bytes)
    return bad("constant " + std::to_string(slot.index) + " has " +
               std::to_string(at->second) + " and " + std::to_string(*bytes) +
               " bytes");
  return {};
}

Status ProgramChecker::checkTransient(const Slot &slot,
                                      std::optional<int64_t> bytes) {
  if (init && !bytes)
    return bad("an init program has no symbols");
  if (slot.last < slot.first || slot.last >= program.commands.size())
    return bad("it is used from command " + std::to_string(slot.first) +
               " to " + std::to_string(slot.last) + ", of " +
               std::to_string(program.commands.size()));
  if (slot.reuse < -1 || slot.reuse >= int64_t(program.slots.size()))
    return bad("it reuses slot " + std::to_string(slot.reuse));
  return slot.offset == -1 ? Status() : checkPlace(slot);
}

/// The most bytes of a transient in any call, if it has a place for them.
std::optional<int64_t> ProgramChecker::limitOf(const Slot &slot,
                                               std::optional<int64_t> bytes) {
  if (bytes || slot.kind != SlotKind::Transient || slot.offset == -1)
    return bytes;
  return expressions.greatest(*slot.bytes);
}

/// A place fits the greatest size that the ranges of the symbols allow.
Status ProgramChecker::checkPlace(const Slot &slot) {
  std::optional<int64_t> most = slotLimits.back();
  int64_t arena = program.arenaBytes(slot.device);
  if (!most || arena < 0)
    return bad("it has a place, but no limited size or no arena");
  if (slot.offset < 0 || slot.offset % 64 != 0 || slot.offset > arena ||
      *most > arena - slot.offset)
    return bad("it lies at " + std::to_string(slot.offset) + " with " +
               std::to_string(*most) + " bytes, the arena has " +
               std::to_string(arena));
  return {};
}

Status ProgramChecker::checkCommand(const program::Command &command) {
  if (const auto *dispatch = std::get_if<program::Dispatch>(&command))
    return checkDispatch(*dispatch);
  if (const auto *copy = std::get_if<program::Copy>(&command))
    return checkCopy(*copy);
  if (const auto *fill = std::get_if<program::Fill>(&command))
    return checkFill(*fill);
  if (const auto *control = std::get_if<program::Control>(&command))
    return checkControl(*control);
  if (const auto *read = std::get_if<program::Read>(&command))
    return checkRead(*read);
  return {};
}

/// An expression with a value in [low, high], as far as it is static.
Status ProgramChecker::checkExpression(const Dim &dim, const char *what,
                                       int64_t low, int64_t high) {
  if (Status s = expressions.check(dim); !s.ok())
    return s.within(what);
  std::optional<int64_t> value = dim.constant();
  if (!value && init)
    return bad(std::string(what) + ": an init program has no symbols");
  if (value && (*value < low || *value > high))
    return bad(std::string(what) + " is " + std::to_string(*value));
  return {};
}

Status ProgramChecker::checkDispatch(const program::Dispatch &dispatch) {
  if (dispatch.executable >= variant.executables.size())
    return bad("it names executable " + std::to_string(dispatch.executable) +
               ", of " + std::to_string(variant.executables.size()));
  const auto &entries = variant.executables[dispatch.executable].entries;
  if (dispatch.entry >= entries.size())
    return bad("it names entry " + std::to_string(dispatch.entry) + ", of " +
               std::to_string(entries.size()));
  const Entry &entry = entries[dispatch.entry];
  if (Status s = checkCounts(dispatch, entry); !s.ok())
    return s;
  if (Status s = checkLaunch(dispatch); !s.ok())
    return s;
  if (Status s = checkFallback(dispatch); !s.ok())
    return s;
  const std::vector<bool> before = written;
  for (size_t i = 0; i < dispatch.bindings.size(); ++i)
    if (Status s = checkBinding(dispatch.bindings[i], entry.bindingAccess[i]);
        !s.ok())
      return s.within("binding " + std::to_string(i));
  if (replaced[dispatch.executable])
    written = before; // others write the outputs, too
  return {};
}

Status ProgramChecker::checkFallback(const program::Dispatch &dispatch) {
  if (variant.executables[dispatch.executable].native &&
      (dispatch.bindings.empty() || dispatch.fallbackFor))
    return bad("a native kernel has no bindings, or is a fallback itself");
  if (!dispatch.fallbackFor)
    return {};
  if (*dispatch.fallbackFor >= variant.executables.size() ||
      !variant.executables[*dispatch.fallbackFor].native)
    return bad("it is a fallback for executable " +
               std::to_string(*dispatch.fallbackFor) +
               ", which is no native kernel");
  return {};
}

/// Each list has as many elements as its entry says.
Status ProgramChecker::checkCounts(const program::Dispatch &dispatch,
                                   const Entry &entry) {
  if (dispatch.constants.size() != entry.constantCount ||
      dispatch.bindings.size() != entry.bindingAccess.size())
    return bad("it gives " + std::to_string(dispatch.constants.size()) +
               " constants and " + std::to_string(dispatch.bindings.size()) +
               " bindings, entry '" + entry.name + "' takes " +
               std::to_string(entry.constantCount) + " and " +
               std::to_string(entry.bindingAccess.size()));
  if (dispatch.parameters.size() != entry.parameterCount)
    return bad("it gives " + std::to_string(dispatch.parameters.size()) +
               " parameters, entry '" + entry.name + "' takes " +
               std::to_string(entry.parameterCount));
  return {};
}

/// What a dispatch says besides its bindings.
Status ProgramChecker::checkLaunch(const program::Dispatch &dispatch) {
  if (dispatch.flops)
    if (Status s = checkExpression(*dispatch.flops, "flops", 0, INT64_MAX);
        !s.ok())
      return s;
  if (dispatch.workspace)
    if (Status s = checkExpression(*dispatch.workspace, "workspace", 0,
                                   limits::workspaceBytes);
        !s.ok())
      return s;
  for (const Dim &size : dispatch.grid)
    if (Status s = checkExpression(size, "grid", 0, UINT32_MAX); !s.ok())
      return s;
  for (const Dim &constant : dispatch.constants)
    if (Status s = checkExpression(constant, "constant", 0, UINT32_MAX);
        !s.ok())
      return s;
  for (const Dim &parameter : dispatch.parameters)
    if (Status s =
            checkExpression(parameter, "parameter", INT64_MIN, INT64_MAX);
        !s.ok())
      return s;
  if (dispatch.sharedBytes)
    if (Status s = checkExpression(*dispatch.sharedBytes, "shared memory", 0,
                                   limits::sharedBytes);
        !s.ok())
      return s;
  uint64_t groups = 1;
  for (uint32_t size : dispatch.cluster) {
    groups *= size;
    if (size == 0 || size > limits::clusterSize || groups > limits::clusterSize)
      return bad("its cluster has no size between 1 and " +
                 std::to_string(limits::clusterSize) + " work-groups");
  }
  return {};
}

Status ProgramChecker::checkCopy(const program::Copy &copy) {
  if (Status s = checkBinding(copy.source, BP_ACCESS_READ); !s.ok())
    return s.within("source");
  if (Status s = checkBinding(copy.target, BP_ACCESS_WRITE); !s.ok())
    return s.within("target");
  std::optional<int64_t> from = staticLength(copy.source);
  std::optional<int64_t> to = staticLength(copy.target);
  return !from || !to || *from == *to
             ? Status()
             : bad("it copies " + std::to_string(*from) + " bytes to " +
                   std::to_string(*to));
}

/// The bytes that a range names, where that is known.
std::optional<int64_t> ProgramChecker::staticLength(const SlotRange &range) {
  if (range.length)
    return range.length->constant();
  std::optional<int64_t> size = slotBytes[range.slot];
  std::optional<int64_t> offset = range.offset.value_or(Dim(0)).constant();
  return size && offset ? std::optional(*size - *offset) : std::nullopt;
}

Status ProgramChecker::checkFill(const program::Fill &fill) {
  if (fill.patternSize != 1 && fill.patternSize != 2 && fill.patternSize != 4)
    return bad("its pattern has " + std::to_string(fill.patternSize) +
               " bytes");
  return checkBinding(fill.target, BP_ACCESS_WRITE).within("target");
}

Status ProgramChecker::checkBinding(const SlotRange &range, unsigned access) {
  if (range.slot >= program.slots.size())
    return bad("it names slot " + std::to_string(range.slot) + ", of " +
               std::to_string(program.slots.size()));
  for (const std::optional<Dim> *part : {&range.offset, &range.length})
    if (*part)
      if (Status s = checkExpression(**part, "range", 0, maxBytes); !s.ok())
        return s;
  if (Status s = checkRange(range); !s.ok())
    return s;
  return checkAccess(program.slots[range.slot], access);
}

/// Static ranges lie inside their slots; the others are checked per call.
Status ProgramChecker::checkRange(const SlotRange &range) {
  std::optional<int64_t> offset = range.offset.value_or(Dim(0)).constant();
  std::optional<int64_t> length = range.length.value_or(Dim(0)).constant();
  std::optional<int64_t> size = slotBytes[range.slot];
  if (offset && length && size &&
      (*offset > *size || *length > *size - *offset))
    return bad("it names " + std::to_string(*length) + " bytes at " +
               std::to_string(*offset) + " of a slot of " +
               std::to_string(*size));
  return {};
}

Status ProgramChecker::checkAccess(const Slot &slot, unsigned access) {
  if (!(access & BP_ACCESS_WRITE))
    return {};
  bool readOnly = slot.kind == SlotKind::Input ||
                  slot.kind == SlotKind::Weight ||
                  (slot.kind == SlotKind::Constant && !init);
  if (readOnly)
    return bad("it writes to a slot of kind " + std::string(name(slot.kind)));
  if (slot.kind == SlotKind::Output)
    written[slot.index] = true;
  return {};
}

} // namespace backplane
