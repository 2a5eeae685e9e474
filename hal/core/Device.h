// SPDX-License-Identifier: Apache-2.0
//
// Device.h: an opened device, and the way to everything that is made from it:
// buffers, executables, queues, semaphores, command buffers. All of these keep
// the device open and its plug-in loaded.
#ifndef BACKPLANE_CORE_DEVICE_H
#define BACKPLANE_CORE_DEVICE_H

#include "backplane/cpp/Result.h"
#include "backplane/kernel.h"
#include "hal/core/Buffer.h"
#include "hal/core/Command.h"
#include "hal/core/DeviceInfo.h"
#include "hal/core/Executable.h"
#include "hal/core/Host.h"
#include "hal/core/Queue.h"
#include "hal/core/Semaphore.h"
#include "hal/core/Trace.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace backplane {

class Plugin;
struct DriverTables;

/// Thread-safe. Every call is validated here; what reaches the driver is
/// correct as far as hal.h asks the host to see to it.
class Device : public std::enable_shared_from_this<Device> {
public:
  /// Opens the device of `plugin` that `info` describes. For Registry.
  static Result<std::shared_ptr<Device>>
  open(std::shared_ptr<Plugin> plugin, std::shared_ptr<const DeviceInfo> info,
       std::string uri, const bp_options_t &options);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const DeviceInfo &info() const { return *info_; }
  const std::shared_ptr<const DeviceInfo> &sharedInfo() const { return info_; }
  const std::string &uri() const { return uri_; }
  Host &host() const;

  /// Memory with undefined contents. `size` 0 gives a buffer of one byte.
  Result<std::shared_ptr<Buffer>> allocate(uint64_t size,
                                           uint32_t space = BP_SPACE_DEVICE,
                                           uint64_t alignment = 64);
  /// A buffer over memory of the host, which stays alive as long as the buffer;
  /// null when the device cannot use that memory in place, so that the caller
  /// copies.
  std::shared_ptr<Buffer> import(void *pointer, uint64_t size, bool readOnly);

  /// Makes a blob runnable. `entries` describe its entry points; a format that
  /// the device does not list and entries beyond its limits are refused.
  Result<std::shared_ptr<Executable>> load(std::string_view format,
                                           std::span<const uint8_t> blob,
                                           std::vector<Entry> entries);

  /// The same of functions of this process, one for each entry, which `owner`
  /// keeps there. A device that does not list the format "native" refuses.
  Result<std::shared_ptr<Executable>>
  loadNative(std::span<const bp_native_function_t> functions,
             std::vector<Entry> entries, std::shared_ptr<const void> owner);

  /// What libraries of the device's vendor are called with, while the device is
  /// open; a failure where its driver has no table "backplane.interop".
  Result<bp_device_handles_t> handles();

  Result<std::shared_ptr<Queue>>
  createQueue(uint32_t queueClass = BP_QUEUE_COMPUTE);
  Result<std::shared_ptr<Semaphore>> createSemaphore(uint64_t initial = 0);

  /// Validates commands once and records them for many runs. `notes` are for
  /// traces.
  Result<std::shared_ptr<CommandBuffer>>
  record(std::span<const Command> commands,
         std::shared_ptr<const CommandNotes> notes = nullptr);

  /// OK, or BP_STATUS_UNAVAILABLE with the first reason once the driver has
  /// lost the device. Nothing runs on it from then on; the registry opens it
  /// anew.
  Status lost() const {
    return lost_.load(std::memory_order_acquire) ? lossReason() : Status();
  }
  /// Looks at an outcome of the driver and gives it back: BP_STATUS_UNAVAILABLE
  /// means that the device is lost, and then says which device and why.
  Status noted(Status outcome) {
    if (outcome.code() != BP_STATUS_UNAVAILABLE)
      return outcome;
    noteLoss(outcome.message());
    return lossReason();
  }

  bp_device_t *handle() const { return handle_; }
  /// Host-owned tables of the driver, without empty slots.
  const DriverTables &tables() const;

private:
  Device() = default;
  Result<std::shared_ptr<Executable>> load(bp_executable_info_t &info,
                                           std::vector<Entry> entries,
                                           std::shared_ptr<const void> owner);
  Status lossReason() const;
  void noteLoss(const std::string &reason);

  std::shared_ptr<Plugin> plugin_;
  std::shared_ptr<const DeviceInfo> info_;
  std::string uri_;
  bp_device_t *handle_ = nullptr;
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  std::string loss_; ///< guarded by mutex_, set once
};

} // namespace backplane

#endif // BACKPLANE_CORE_DEVICE_H
