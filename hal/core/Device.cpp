// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Device.h"
#include "hal/core/CommandList.h"
#include "hal/core/HandleCall.h"
#include "hal/core/Plugin.h"
#include "sdk/support/GivenText.h"

#include <algorithm>

namespace backplane {

Result<std::shared_ptr<Device>>
Device::open(std::shared_ptr<Plugin> plugin,
             std::shared_ptr<const DeviceInfo> info, std::string uri,
             const bp_options_t &options) {
  std::shared_ptr<Device> device(new Device);
  bp_device_t *handle = nullptr;
  Status status = callForHandle("open", &handle, plugin->driver().driver.open,
                                plugin->self(), toC(info->id()), &options);
  if (!status.ok())
    return status.within("device " + uri);
  device->plugin_ = std::move(plugin);
  device->info_ = std::move(info);
  device->uri_ = std::move(uri);
  device->handle_ = handle;
  return device;
}

Device::~Device() {
  if (plugin_)
    callPluginVoid("close", tables().driver.close, handle_);
}

Status Device::lossReason() const {
  std::lock_guard lock(mutex_);
  return Status(BP_STATUS_UNAVAILABLE,
                "device " + uri_ + " was lost: " + loss_ +
                    "; make a new session to open it again, or take "
                    "another device");
}

void Device::noteLoss(const std::string &reason) {
  std::lock_guard lock(mutex_);
  if (lost_.load(std::memory_order_relaxed))
    return;
  loss_ = reason;
  lost_.store(true, std::memory_order_release);
}

Host &Device::host() const { return plugin_->host(); }

const DriverTables &Device::tables() const { return plugin_->driver(); }

Result<std::shared_ptr<Buffer>> Device::allocate(uint64_t size, uint32_t space,
                                                 uint64_t alignment) {
  constexpr uint64_t maxAlignment = 1u << 21;
  std::string what =
      "device " + uri_ + ": allocation of " + std::to_string(size) + " bytes";
  size = std::max<uint64_t>(size, 1);
  if (!alignment || (alignment & (alignment - 1)) || alignment > maxAlignment)
    return invalidArgument(what + ": alignment " + std::to_string(alignment) +
                           " is not a power of two up to 2 MiB");
  if (space > BP_SPACE_STAGING)
    return unimplemented(what + ": memory space " + std::to_string(space) +
                         " is unknown");
  uint64_t most = info_->c().max_buffer_size;
  if (most && size > most)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  what + ": a buffer of the device has at most " +
                      std::to_string(most) + " bytes");
  bp_buffer_t *handle = nullptr;
  Status status =
      callForHandle("buffer_allocate", &handle, tables().memory.buffer_allocate,
                    handle_, space, size, alignment);
  if (!status.ok())
    return status.within(what);
  return std::shared_ptr<Buffer>(
      new Buffer(shared_from_this(), handle, size, false));
}

std::shared_ptr<Buffer> Device::import(void *pointer, uint64_t size,
                                       bool readOnly) {
  uint64_t alignment = info_->c().binding_alignment;
  uint64_t most = info_->c().max_buffer_size;
  if (!pointer || !size || (most && size > most) ||
      reinterpret_cast<uintptr_t>(pointer) % alignment)
    return nullptr;
  bp_buffer_t *handle = nullptr;
  Status status =
      callForHandle("buffer_import", &handle, tables().memory2.buffer_import,
                    handle_, pointer, size, uint8_t(readOnly));
  if (!status.ok())
    return nullptr;
  return std::shared_ptr<Buffer>(
      new Buffer(shared_from_this(), handle, size, readOnly));
}

/// "4, 8 and 16" of 28.
static std::string sizesIn(uint32_t set) {
  std::string text;
  for (uint32_t bit = 1; set; bit <<= 1) {
    if (!(set & bit))
      continue;
    set &= ~bit;
    text += (text.empty() ? "" : set ? ", " : " and ") + std::to_string(bit);
  }
  return text.empty() ? "none that can be asked for" : text;
}

static Status checkLaunch(const Entry &entry, const bp_device_info_t &info) {
  if (entry.parameterCount > info.max_parameters)
    return unimplemented(std::to_string(entry.parameterCount) +
                         " parameters, the device has at most " +
                         std::to_string(info.max_parameters));
  if (entry.driverData.size() > info.max_driver_data)
    return unimplemented(std::to_string(entry.driverData.size()) +
                         " bytes for its driver, which reads at most " +
                         std::to_string(info.max_driver_data));
  uint32_t size = entry.subgroupSize;
  if (size & (size - 1) || (size & info.subgroup_sizes) != size)
    return unimplemented("subgroups of " + std::to_string(size) +
                         ", the device's sizes are " +
                         sizesIn(info.subgroup_sizes));
  return {};
}

static Status checkEntry(const Entry &entry, const bp_device_info_t &info) {
  constexpr uint32_t maxBindings = 4096;
  uint32_t bindings = info.max_bindings
                          ? std::min(info.max_bindings, maxBindings)
                          : maxBindings;
  if (entry.name.empty() || entry.name.find('\0') != std::string::npos)
    return invalidArgument("its name is empty or holds a zero byte");
  if (entry.bindingAccess.size() > bindings)
    return invalidArgument(std::to_string(entry.bindingAccess.size()) +
                           " bindings, the device has at most " +
                           std::to_string(bindings));
  for (uint8_t access : entry.bindingAccess)
    if (access & ~(BP_ACCESS_READ | BP_ACCESS_WRITE))
      return unimplemented("binding access " + std::to_string(access) +
                           " is unknown");
  if (entry.constantCount > info.max_constants)
    return invalidArgument(std::to_string(entry.constantCount) +
                           " constants, the device has at most " +
                           std::to_string(info.max_constants));
  return checkLaunch(entry, info);
}

static bp_entry_t toC(const Entry &entry) {
  bp_entry_t c = {BP_HEADER(bp_entry_t)};
  c.name = toC(entry.name);
  c.binding_access = entry.bindingAccess.data();
  c.binding_count = uint32_t(entry.bindingAccess.size());
  c.constant_count = entry.constantCount;
  std::copy_n(entry.workgroupSize.begin(), 3, c.workgroup_size);
  c.subgroup_size = entry.subgroupSize;
  c.workspace_bytes = entry.workspaceBytes;
  c.driver_data = {entry.driverData.data(), entry.driverData.size()};
  c.parameter_count = entry.parameterCount;
  return c;
}

Result<std::shared_ptr<Executable>> Device::load(std::string_view format,
                                                 std::span<const uint8_t> blob,
                                                 std::vector<Entry> entries) {
  bp_executable_info_t info = {BP_HEADER(bp_executable_info_t)};
  info.format = backplane::toC(format);
  info.blob = {blob.data(), blob.size()};
  return load(info, std::move(entries), nullptr);
}

Result<std::shared_ptr<Executable>>
Device::loadNative(std::span<const bp_native_function_t> functions,
                   std::vector<Entry> entries,
                   std::shared_ptr<const void> owner) {
  std::vector<const bp_native_function_t *> pointers;
  for (const bp_native_function_t &function : functions)
    pointers.push_back(&function);
  bp_executable_info_t info = {BP_HEADER(bp_executable_info_t)};
  info.format = backplane::toC(nativeFormat);
  info.functions = pointers.data();
  return load(info, std::move(entries), std::move(owner));
}

Result<bp_device_handles_t> Device::handles() {
  auto handles = callForStruct<bp_device_handles_t>(
      "device_handles", BP_HEADER(bp_device_handles_t), "device handles",
      tables().interop.device_handles, handle_);
  if (handles && (!isReadable(handles->api) || !handles->find))
    return invalidArgument("device_handles: names no API or has no `find`");
  return handles;
}

Result<std::shared_ptr<Executable>>
Device::load(bp_executable_info_t &info, std::vector<Entry> entries,
             std::shared_ptr<const void> owner) {
  std::string what = "device " + uri_ + ": executable";
  if (!info_->hasFormat(view(info.format)))
    return invalidArgument(what + ": format \"" +
                           std::string(view(info.format)) +
                           "\" is not one that the device loads");
  std::vector<bp_entry_t> c;
  for (const Entry &entry : entries) {
    if (Status status = checkEntry(entry, info_->c()); !status.ok())
      return status.within(what + ", entry " + entry.name);
    c.push_back(toC(entry));
  }
  std::vector<const bp_entry_t *> pointers;
  for (const bp_entry_t &entry : c)
    pointers.push_back(&entry);
  info.entries = pointers.data();
  info.entry_count = pointers.size();
  bp_executable_t *handle = nullptr;
  Status status =
      callForHandle("executable_load", &handle,
                    tables().executable.executable_load, handle_, &info);
  if (!status.ok())
    return status.within("device " + uri_);
  return std::shared_ptr<Executable>(new Executable(
      shared_from_this(), handle, std::move(entries), std::move(owner)));
}

Executable::~Executable() {
  callPluginVoid("executable_unload",
                 device_->tables().executable.executable_unload,
                 device_->handle(), handle_);
}

Result<std::shared_ptr<Queue>> Device::createQueue(uint32_t queueClass) {
  if (queueClass > BP_QUEUE_TRANSFER)
    return unimplemented("queue class " + std::to_string(queueClass) +
                         " is unknown");
  bp_queue_t *handle = nullptr;
  Status status =
      callForHandle("queue_create", &handle, tables().queue.queue_create,
                    handle_, queueClass);
  if (!status.ok())
    return status.within("device " + uri_);
  return std::shared_ptr<Queue>(new Queue(shared_from_this(), handle));
}

Result<std::shared_ptr<Semaphore>> Device::createSemaphore(uint64_t initial) {
  bp_semaphore_t *handle = nullptr;
  if (tables().hasSemaphore) {
    Status status =
        callForHandle("semaphore_create", &handle,
                      tables().semaphore.semaphore_create, handle_, initial);
    if (!status.ok())
      return status.within("device " + uri_);
  }
  return std::shared_ptr<Semaphore>(
      new Semaphore(shared_from_this(), handle, initial));
}

Result<std::shared_ptr<CommandBuffer>>
Device::record(std::span<const Command> commands,
               std::shared_ptr<const CommandNotes> notes) {
  auto list = CommandList::build(*this, commands, true);
  if (!list)
    return list.status().within("device " + uri_ + ": recording");
  (*list)->notes = std::move(notes);
  std::shared_ptr<CommandBuffer> buffer(
      new CommandBuffer(shared_from_this(), std::move(*list)));
  if (!tables().hasCommandBuffer)
    return buffer;
  Status status = callForHandle("command_buffer_create", &buffer->handle_,
                                tables().commandBuffer.command_buffer_create,
                                handle_, buffer->list_->commands.data(),
                                uint64_t(buffer->list_->commands.size()));
  if (!status.ok())
    return status.within("device " + uri_);
  return buffer;
}

} // namespace backplane
