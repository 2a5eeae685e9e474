// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Tables.h"

#include <cstddef>
#include <initializer_list>
#include <string>

namespace backplane {

namespace {

/// Stands in a slot that the vendor left empty.
template <typename F> struct Stub;
template <typename... Args> struct Stub<bp_status_t (*)(Args...)> {
  static bp_status_t call(Args...) { return BP_STATUS_UNIMPLEMENTED; }
};
template <typename... Args> struct Stub<const void *(*)(Args...)> {
  static const void *call(Args...) { return nullptr; }
};

using AnyFunction = void (*)();

struct Slot {
  const char *name;
  size_t offset;
  AnyFunction stub; ///< null: the slot is required
};

template <typename F> AnyFunction stubOf(F) {
  return reinterpret_cast<AnyFunction>(&Stub<F>::call);
}

} // namespace

#define BP_REQUIRED(table, slot)                                               \
  Slot { #slot, offsetof(table, slot), nullptr }
#define BP_OPTIONAL(table, slot)                                               \
  Slot { #slot, offsetof(table, slot), stubOf(decltype(table::slot)(nullptr)) }

static std::string the(const char *what) { return std::string("the ") + what; }

Status checkStruct(const void *from, uint32_t type, const char *what) {
  constexpr uint32_t maxBytes = 1u << 16;
  constexpr int maxParts = 64;
  if (!from)
    return invalidArgument(the(what) + " is missing");
  if (reinterpret_cast<uintptr_t>(from) % alignof(bp_header_t))
    return invalidArgument(the(what) + " is at a misaligned address");
  const auto *header = static_cast<const bp_header_t *>(from);
  if (header->type != type)
    return invalidArgument(the(what) + " has type " +
                           std::to_string(header->type) + ", expected " +
                           std::to_string(type));
  if (header->size < sizeof(bp_header_t) || header->size > maxBytes ||
      header->size % alignof(bp_header_t))
    return invalidArgument(the(what) + " has a size of " +
                           std::to_string(header->size) +
                           " bytes; initialise it with BP_HEADER");
  int parts = 0;
  for (auto *part = static_cast<const bp_header_t *>(header->next); part;
       part = static_cast<const bp_header_t *>(part->next)) {
    if (part->type & BP_TYPE_MUST_UNDERSTAND)
      return unimplemented(the(what) + " needs extension " +
                           std::to_string(part->type) +
                           ", which this host does not have");
    if (++parts > maxParts)
      return invalidArgument(the(what) + " has an endless `next` chain");
  }
  return {};
}

/// Fills empty optional slots, refuses an empty required one.
static Status fillSlots(void *table, const char *what,
                        std::initializer_list<Slot> slots) {
  for (const Slot &slot : slots) {
    char *place = static_cast<char *>(table) + slot.offset;
    AnyFunction function;
    std::memcpy(&function, place, sizeof(function));
    if (function)
      continue;
    if (!slot.stub)
      return invalidArgument(the(what) + " lacks the required function " +
                             slot.name);
    std::memcpy(place, &slot.stub, sizeof(slot.stub));
  }
  return {};
}

template <typename T>
static Status copyTable(const void *from, uint32_t type, const char *what,
                        T &out, std::initializer_list<Slot> slots) {
  if (Status status = copyStruct(from, type, what, out); !status.ok())
    return status;
  return fillSlots(&out, what, slots);
}

Status copyPluginTable(const void *from, bp_plugin_table_t &out) {
  return copyTable(from, bp_plugin_table_t_TYPE, "plugin table", out,
                   {BP_REQUIRED(bp_plugin_table_t, initialize),
                    BP_REQUIRED(bp_plugin_table_t, shutdown),
                    BP_OPTIONAL(bp_plugin_table_t, get_table)});
}

Status copyCompilerTable(const void *from, bp_compiler_table_t &out) {
  return copyTable(from, bp_compiler_table_t_TYPE, "compiler table", out,
                   {BP_REQUIRED(bp_compiler_table_t, targets),
                    BP_OPTIONAL(bp_compiler_table_t, claim),
                    BP_OPTIONAL(bp_compiler_table_t, stages),
                    BP_OPTIONAL(bp_compiler_table_t, graph_passes),
                    BP_OPTIONAL(bp_compiler_table_t, run_graph_pass)});
}

Status copyKernelsTable(const void *from, bp_kernels_table_t &out) {
  return copyTable(from, bp_kernels_table_t_TYPE, "kernels table", out,
                   {BP_REQUIRED(bp_kernels_table_t, describe),
                    BP_OPTIONAL(bp_kernels_table_t, resolve)});
}

static Status copyDriver(const void *from, bp_driver_table_t &out) {
  return copyTable(from, bp_driver_table_t_TYPE, "driver table", out,
                   {BP_REQUIRED(bp_driver_table_t, enumerate),
                    BP_REQUIRED(bp_driver_table_t, open),
                    BP_REQUIRED(bp_driver_table_t, close)});
}

static Status copyMemory(const void *from, bp_memory_table_t &out) {
  return copyTable(from, bp_memory_table_t_TYPE, "memory table", out,
                   {BP_REQUIRED(bp_memory_table_t, buffer_allocate),
                    BP_REQUIRED(bp_memory_table_t, buffer_free),
                    BP_REQUIRED(bp_memory_table_t, buffer_write),
                    BP_REQUIRED(bp_memory_table_t, buffer_read)});
}

static Status copyExecutable(const void *from, bp_executable_table_t &out) {
  return copyTable(from, bp_executable_table_t_TYPE, "executable table", out,
                   {BP_REQUIRED(bp_executable_table_t, executable_load),
                    BP_REQUIRED(bp_executable_table_t, executable_unload)});
}

static Status copyQueue(const void *from, bp_queue_table_t &out) {
  return copyTable(from, bp_queue_table_t_TYPE, "queue table", out,
                   {BP_REQUIRED(bp_queue_table_t, queue_create),
                    BP_REQUIRED(bp_queue_table_t, queue_destroy),
                    BP_REQUIRED(bp_queue_table_t, queue_execute)});
}

Status copyDriverTables(const bp_plugin_info_t &info, DriverTables &out) {
  if (Status status = copyDriver(info.driver, out.driver); !status.ok())
    return status;
  if (Status status = copyMemory(info.memory, out.memory); !status.ok())
    return status;
  if (Status status = copyExecutable(info.executable, out.executable);
      !status.ok())
    return status;
  return copyQueue(info.queue, out.queue);
}

static Status copySemaphore(const void *from, bp_semaphore_table_t &out) {
  return copyTable(from, bp_semaphore_table_t_TYPE, "semaphore table", out,
                   {BP_REQUIRED(bp_semaphore_table_t, semaphore_create),
                    BP_REQUIRED(bp_semaphore_table_t, semaphore_destroy),
                    BP_REQUIRED(bp_semaphore_table_t, semaphore_query),
                    BP_REQUIRED(bp_semaphore_table_t, semaphore_signal),
                    BP_REQUIRED(bp_semaphore_table_t, semaphore_wait),
                    BP_REQUIRED(bp_semaphore_table_t, queue_submit)});
}

static Status copyCommandBuffer(const void *from,
                                bp_command_buffer_table_t &out) {
  using Table = bp_command_buffer_table_t;
  return copyTable(from, bp_command_buffer_table_t_TYPE, "command_buffer table",
                   out,
                   {BP_REQUIRED(Table, command_buffer_create),
                    BP_REQUIRED(Table, command_buffer_destroy),
                    BP_REQUIRED(Table, command_buffer_execute)});
}

static Status copyMemory2(const void *from, bp_memory2_table_t &out) {
  return copyTable(from, bp_memory2_table_t_TYPE, "memory2 table", out,
                   {BP_OPTIONAL(bp_memory2_table_t, buffer_map),
                    BP_OPTIONAL(bp_memory2_table_t, buffer_import)});
}

static Status copyInterop(const void *from, bp_interop_table_t &out) {
  return copyTable(from, bp_interop_table_t_TYPE, "interop table", out,
                   {BP_OPTIONAL(bp_interop_table_t, device_handles)});
}

/// Whether the table is there and can be used.
static bool usable(const void *from, const Status &status,
                   std::string *warning) {
  if (from && !status.ok())
    *warning += (warning->empty() ? "" : "; ") + status.message();
  return from && status.ok();
}

/// A table without required functions: all stubs where none can be used.
template <typename T>
static void copyOrStub(const void *from, uint32_t type,
                       Status (*copy)(const void *, T &), T &out,
                       std::string *warning) {
  if (usable(from, copy(from, out), warning))
    return;
  const bp_header_t none = {type, sizeof(none), nullptr};
  (void)copy(&none, out);
}

void copyOptionalTables(const void *memory2, const void *semaphore,
                        const void *commandBuffer, DriverTables &out,
                        std::string *warning) {
  out.hasSemaphore =
      usable(semaphore, copySemaphore(semaphore, out.semaphore), warning);
  out.hasCommandBuffer =
      usable(commandBuffer, copyCommandBuffer(commandBuffer, out.commandBuffer),
             warning);
  copyOrStub(memory2, bp_memory2_table_t_TYPE, copyMemory2, out.memory2,
             warning);
}

void copyTimestamps(const void *from, DriverTables &out, std::string *warning) {
  Status status = copyTable(
      from, bp_timestamps_table_t_TYPE, "timestamps table", out.timestamps,
      {BP_REQUIRED(bp_timestamps_table_t, queue_execute_timed)});
  out.hasTimestamps = usable(from, status, warning);
}

void copyInterop(const void *from, DriverTables &out, std::string *warning) {
  copyOrStub(from, bp_interop_table_t_TYPE, copyInterop, out.interop, warning);
}

} // namespace backplane
