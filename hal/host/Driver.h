// SPDX-License-Identifier: Apache-2.0
//
// Driver.h: the host driver, which runs executables on the CPU of this process,
// and its one device. It is a plug-in of classes like any other: it includes
// installed headers only and reaches the host through plugin::Host.
#ifndef BACKPLANE_HOST_DRIVER_H
#define BACKPLANE_HOST_DRIVER_H

#include "backplane/cpp/Driver.h"

#include <condition_variable>
#include <mutex>
#include <vector>

namespace backplane::host {

using plugin::Commands;
using plugin::Completion;
using plugin::Host;

/// Alignment of allocations, binding offsets and workspaces.
inline constexpr uint64_t alignment = 64;
inline constexpr uint32_t maxBindings = 1024;

struct Buffer;
struct CommandBuffer;
struct Executable;
class Queue;
struct Semaphore;

/// What all semaphores and waiting queues of a device share. One lock is
/// enough: it is held for a few instructions at a time.
struct Timelines {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Queue *> queues; ///< with submissions that have not run
};

class Device {
public:
  using Buffer = host::Buffer;
  using CommandBuffer = host::CommandBuffer;
  using Executable = host::Executable;
  using Queue = host::Queue;
  using Semaphore = host::Semaphore;

  explicit Device(Host host) : host(host) {}

  Result<std::unique_ptr<Buffer>> allocate(uint32_t space, uint64_t size,
                                           uint64_t wanted);
  Status write(Buffer &buffer, uint64_t offset,
               std::span<const std::byte> data);
  Status read(Buffer &buffer, uint64_t offset, std::span<std::byte> data);
  Result<void *> map(Buffer &buffer);
  Result<std::unique_ptr<Buffer>> import(void *pointer, uint64_t size,
                                         bool readOnly);
  Result<std::unique_ptr<Executable>> load(const bp_executable_info_t &info);
  Result<std::unique_ptr<Queue>> createQueue(uint32_t queueClass);
  Result<std::unique_ptr<CommandBuffer>> record(Commands commands);
  Result<std::unique_ptr<Semaphore>> createSemaphore(uint64_t initial);

  const Host host;
  /// Shared with tasks that the host still has to run.
  const std::shared_ptr<Timelines> timelines = std::make_shared<Timelines>();
};

class Driver {
public:
  using Device = host::Device;
  static constexpr plugin::Description description = {
      .name = "host", .vendor = "Backplane", .version = "0.1.0"};

  explicit Driver(Host host) : host_(host) {}
  Status enumerate(plugin::Options options, plugin::DeviceSink sink);
  Result<std::unique_ptr<Device>> open(std::string_view id,
                                       plugin::Options options);

private:
  Host host_;
};

struct Buffer {
  /// Memory of the host, or of the application.
  Buffer(Host host, void *data, bool owned)
      : host(host), data(static_cast<uint8_t *>(data)), owned(owned) {}
  ~Buffer() {
    if (owned)
      host.release(data);
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  Host host;
  uint8_t *data;
  bool owned;
};

/// A new object, or the failure that there is no memory for it.
template <typename T, typename... Arguments>
Result<std::unique_ptr<T>> make(Arguments &&...arguments) {
  std::unique_ptr<T> made(new (std::nothrow)
                              T(std::forward<Arguments>(arguments)...));
  if (!made)
    return plugin::outOfMemory();
  return made;
}

} // namespace backplane::host

#endif // BACKPLANE_HOST_DRIVER_H
