// SPDX-License-Identifier: Apache-2.0
#include "Check.h"
#include "backplane/hal.h"

#include <map>

namespace backplane {
namespace {

Status bad(std::string message) { return dataLoss(std::move(message)); }

constexpr int64_t maxBytes = int64_t(1) << 62;

} // namespace

Status ProgramChecker::run() {
  written.assign(region ? count(region->outputs()) : count(artifact.outputs()),
                 false);
  if (!program)
    return {};
  if (program->arenas() && program->arenas()->size() + 1 > deviceCount(variant))
    return bad("it has more arenas than devices");
  for (uint32_t device = 0; device < deviceCount(variant); ++device)
    if (int64_t bytes = arenaBytes(*program, device);
        bytes < -1 || bytes > maxBytes)
      return bad("it has an arena of " + std::to_string(bytes) + " bytes");
  if (Status s = checkSlots(); !s.ok())
    return s;
  for (uint32_t i = 0; i < count(program->commands()); ++i)
    if (Status s = checkCommand(*program->commands()->Get(i)); !s.ok())
      return s.within("command " + std::to_string(i));
  return checkMemory();
}

Status ProgramChecker::checkSlots() {
  uint32_t transients = 0;
  for (uint32_t i = 0; i < count(program->slots()); ++i) {
    const fb::Slot &slot = *program->slots()->Get(i);
    if (slot.kind() == fb::SlotKind::Transient &&
        ++transients > limits::transients)
      return bad("it has more than " + std::to_string(limits::transients) +
                 " transients");
    if (Status s = checkSlot(slot); !s.ok())
      return s.within("slot " + std::to_string(i));
  }
  return {};
}

Status ProgramChecker::checkSlot(const fb::Slot &slot) {
  if (slot.kind() > fb::SlotKind::MAX)
    return bad("it has unknown kind " + std::to_string(unsigned(slot.kind())));
  if (slot.device() >= deviceCount(variant))
    return bad("it lies on device " + std::to_string(slot.device()) + ", of " +
               std::to_string(deviceCount(variant)));
  Result<std::optional<int64_t>> bytes = sizeOf(slot);
  if (!bytes)
    return bytes.status();
  slotBytes.push_back(*bytes);
  slotLimits.push_back(limitOf(slot, *bytes));
  switch (slot.kind()) {
  case fb::SlotKind::Transient:
    return checkTransient(slot, *bytes);
  case fb::SlotKind::Constant:
    return checkConstant(slot, *bytes);
  default:
    return {};
  }
}

/// The static size of a slot that names an input, output, weight or variable,
/// and whether there is such a one.
Result<std::optional<int64_t>>
ProgramChecker::sizeOfNamed(const fb::Slot &slot) {
  auto outOfRange = [&](uint32_t size) {
    return bad("it names " + std::string(fb::EnumNameSlotKind(slot.kind())) +
               " " + std::to_string(slot.index()) + ", of " +
               std::to_string(size));
  };
  if (init && slot.kind() != fb::SlotKind::Weight)
    return bad("an init program cannot use it");
  if (slot.kind() == fb::SlotKind::Weight) {
    if (slot.index() >= count(artifact.weights()))
      return outOfRange(count(artifact.weights()));
    return std::optional<int64_t>(
        artifact.weights()->Get(slot.index())->size());
  }
  if (slot.kind() == fb::SlotKind::Variable) {
    if (slot.index() >= count(artifact.variables()))
      return outOfRange(count(artifact.variables()));
    return staticBytes(*artifact.variables()->Get(slot.index())->type(),
                       expressions);
  }
  if (region)
    return sizeOfRegionSlot(slot);
  const auto *list = slot.kind() == fb::SlotKind::Input ? artifact.inputs()
                                                        : artifact.outputs();
  if (slot.index() >= count(list))
    return outOfRange(count(list));
  return staticBytes(*list->Get(slot.index()), expressions);
}

Result<std::optional<int64_t>> ProgramChecker::sizeOf(const fb::Slot &slot) {
  std::optional<int64_t> named, stated;
  bool isNamed = slot.kind() != fb::SlotKind::Transient &&
                 slot.kind() != fb::SlotKind::Constant;
  if (isNamed) {
    Result<std::optional<int64_t>> size = sizeOfNamed(slot);
    if (!size)
      return size;
    named = *size;
    if (text(slot.bytes()).empty())
      return named;
  }
  Result<Dim> bytes = expressions.parse(slot.bytes());
  if (!bytes)
    return bytes.status();
  stated = bytes->constant();
  if (stated && (*stated < 0 || *stated > maxBytes))
    return bad("it has a size of " + std::to_string(*stated));
  if (named && stated && *named != *stated)
    return bad("it has " + std::to_string(*stated) + " bytes, what it names " +
               std::to_string(*named));
  return stated;
}

/// Constants have static sizes; the program may only use what init writes.
Status ProgramChecker::checkConstant(const fb::Slot &slot,
                                     std::optional<int64_t> bytes) {
  if (!bytes)
    return bad("a constant has no static size");
  auto [at, fresh] = constants.emplace(slot.index(), *bytes);
  if (fresh && !init)
    return bad("the init program writes no constant " +
               std::to_string(slot.index()));
  if (at->second != *bytes)
    return bad("constant " + std::to_string(slot.index()) + " has " +
               std::to_string(at->second) + " and " + std::to_string(*bytes) +
               " bytes");
  return {};
}

Status ProgramChecker::checkTransient(const fb::Slot &slot,
                                      std::optional<int64_t> bytes) {
  if (init && !bytes)
    return bad("an init program has no symbols");
  if (slot.last() < slot.first() || slot.last() >= count(program->commands()))
    return bad("it is used from command " + std::to_string(slot.first()) +
               " to " + std::to_string(slot.last()) + ", of " +
               std::to_string(count(program->commands())));
  if (slot.reuse() < -1 || slot.reuse() >= int64_t(count(program->slots())))
    return bad("it reuses slot " + std::to_string(slot.reuse()));
  return slot.offset() == -1 ? Status() : checkPlace(slot);
}

/// The most bytes of a transient in any call, if it has a place for them.
std::optional<int64_t> ProgramChecker::limitOf(const fb::Slot &slot,
                                               std::optional<int64_t> bytes) {
  if (bytes || slot.kind() != fb::SlotKind::Transient || slot.offset() == -1)
    return bytes;
  return expressions.greatest(*expressions.parse(slot.bytes()));
}

/// A place fits the greatest size that the ranges of the symbols allow.
Status ProgramChecker::checkPlace(const fb::Slot &slot) {
  std::optional<int64_t> most = slotLimits.back();
  int64_t arena = arenaBytes(*program, slot.device());
  if (!most || arena < 0)
    return bad("it has a place, but no limited size or no arena");
  if (slot.offset() < 0 || slot.offset() % 64 != 0 || slot.offset() > arena ||
      *most > arena - slot.offset())
    return bad("it lies at " + std::to_string(slot.offset()) + " with " +
               std::to_string(*most) + " bytes, the arena has " +
               std::to_string(arena));
  return {};
}

Status ProgramChecker::checkCommand(const fb::Command &command) {
  switch (command.body_type()) {
  case fb::CommandBody::Dispatch:
    if (auto *dispatch = command.body_as_Dispatch())
      return checkDispatch(*dispatch);
    break;
  case fb::CommandBody::Copy:
    if (auto *copy = command.body_as_Copy())
      return checkCopy(*copy);
    break;
  case fb::CommandBody::Fill:
    if (auto *fill = command.body_as_Fill())
      return checkFill(*fill);
    break;
  case fb::CommandBody::Control:
    if (auto *control = command.body_as_Control())
      return checkControl(*control);
    break;
  case fb::CommandBody::Barrier:
    return {};
  default:
    break;
  }
  return bad("it is of unknown kind " +
             std::to_string(unsigned(command.body_type())));
}

/// An expression with a value in [low, high], as far as it is static.
Status ProgramChecker::checkExpression(const flatbuffers::String *string,
                                       const char *what, int64_t low,
                                       int64_t high) {
  Result<Dim> dim = expressions.parse(string);
  if (!dim)
    return dim.status().within(what);
  std::optional<int64_t> value = dim->constant();
  if (!value && init)
    return bad(std::string(what) + ": an init program has no symbols");
  if (value && (*value < low || *value > high))
    return bad(std::string(what) + " is " + std::to_string(*value));
  return {};
}

Status ProgramChecker::checkDispatch(const fb::Dispatch &dispatch) {
  if (dispatch.executable() >= count(variant.executables()))
    return bad("it names executable " + std::to_string(dispatch.executable()) +
               ", of " + std::to_string(count(variant.executables())));
  const auto &entries =
      *variant.executables()->Get(dispatch.executable())->entries();
  if (dispatch.entry() >= entries.size())
    return bad("it names entry " + std::to_string(dispatch.entry()) + ", of " +
               std::to_string(entries.size()));
  const fb::Entry &entry = *entries.Get(dispatch.entry());
  if (count(dispatch.grid()) != 3)
    return bad("its grid has " + std::to_string(count(dispatch.grid())) +
               " sizes, not 3");
  if (count(dispatch.constants()) != entry.constant_count() ||
      count(dispatch.bindings()) != count(entry.access()))
    return bad("it gives " + std::to_string(count(dispatch.constants())) +
               " constants and " + std::to_string(count(dispatch.bindings())) +
               " bindings, entry '" + entry.name()->str() + "' takes " +
               std::to_string(entry.constant_count()) + " and " +
               std::to_string(count(entry.access())));
  if (!text(dispatch.flops()).empty())
    if (Status s = checkExpression(dispatch.flops(), "flops", 0, INT64_MAX);
        !s.ok())
      return s;
  if (!text(dispatch.workspace()).empty())
    if (Status s = checkExpression(dispatch.workspace(), "workspace", 0,
                                   limits::workspaceBytes);
        !s.ok())
      return s;
  for (const auto *size : *dispatch.grid())
    if (Status s = checkExpression(size, "grid", 0, UINT32_MAX); !s.ok())
      return s;
  for (uint32_t i = 0; i < count(dispatch.constants()); ++i)
    if (Status s = checkExpression(dispatch.constants()->Get(i), "constant", 0,
                                   UINT32_MAX);
        !s.ok())
      return s;
  for (uint32_t i = 0; i < count(dispatch.bindings()); ++i)
    if (Status s =
            checkBinding(dispatch.bindings()->Get(i), entry.access()->Get(i));
        !s.ok())
      return s.within("binding " + std::to_string(i));
  return {};
}

Status ProgramChecker::checkCopy(const fb::Copy &copy) {
  if (Status s = checkBinding(copy.source(), BP_ACCESS_READ); !s.ok())
    return s.within("source");
  if (Status s = checkBinding(copy.target(), BP_ACCESS_WRITE); !s.ok())
    return s.within("target");
  std::optional<int64_t> from = staticLength(*copy.source());
  std::optional<int64_t> to = staticLength(*copy.target());
  return !from || !to || *from == *to
             ? Status()
             : bad("it copies " + std::to_string(*from) + " bytes to " +
                   std::to_string(*to));
}

/// The bytes that a binding names, where that is known.
std::optional<int64_t>
ProgramChecker::staticLength(const fb::Binding &binding) {
  if (!text(binding.length()).empty())
    return expressions.parse(binding.length())->constant();
  std::optional<int64_t> size = slotBytes[binding.slot()];
  std::optional<int64_t> offset =
      text(binding.offset()).empty()
          ? std::optional<int64_t>(0)
          : expressions.parse(binding.offset())->constant();
  return size && offset ? std::optional(*size - *offset) : std::nullopt;
}

Status ProgramChecker::checkFill(const fb::Fill &fill) {
  if (fill.pattern_size() != 1 && fill.pattern_size() != 2 &&
      fill.pattern_size() != 4)
    return bad("its pattern has " + std::to_string(fill.pattern_size()) +
               " bytes");
  return checkBinding(fill.target(), BP_ACCESS_WRITE).within("target");
}

Status ProgramChecker::checkBinding(const fb::Binding *binding,
                                    unsigned access) {
  if (!binding)
    return bad("it is missing");
  if (binding->slot() >= count(program->slots()))
    return bad("it names slot " + std::to_string(binding->slot()) + ", of " +
               std::to_string(count(program->slots())));
  for (const auto *part : {binding->offset(), binding->length()})
    if (!text(part).empty())
      if (Status s = checkExpression(part, "range", 0, maxBytes); !s.ok())
        return s;
  if (Status s = checkRange(*binding); !s.ok())
    return s;
  return checkAccess(*program->slots()->Get(binding->slot()), access);
}

/// Static ranges lie inside their slots; the others are checked per call.
Status ProgramChecker::checkRange(const fb::Binding &binding) {
  auto constant = [&](const flatbuffers::String *string) {
    return text(string).empty() ? std::optional<int64_t>(0)
                                : expressions.parse(string)->constant();
  };
  std::optional<int64_t> offset = constant(binding.offset());
  std::optional<int64_t> length = constant(binding.length());
  std::optional<int64_t> size = slotBytes[binding.slot()];
  if (offset && length && size &&
      (*offset > *size || *length > *size - *offset))
    return bad("it names " + std::to_string(*length) + " bytes at " +
               std::to_string(*offset) + " of a slot of " +
               std::to_string(*size));
  return {};
}

Status ProgramChecker::checkAccess(const fb::Slot &slot, unsigned access) {
  if (!(access & BP_ACCESS_WRITE))
    return {};
  bool readOnly = slot.kind() == fb::SlotKind::Input ||
                  slot.kind() == fb::SlotKind::Weight ||
                  (slot.kind() == fb::SlotKind::Constant && !init);
  if (readOnly)
    return bad(std::string("it writes to a slot of kind ") +
               fb::EnumNameSlotKind(slot.kind()));
  if (slot.kind() == fb::SlotKind::Output)
    written[slot.index()] = true;
  return {};
}

} // namespace backplane
