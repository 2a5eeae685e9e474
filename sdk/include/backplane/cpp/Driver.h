// SPDX-License-Identifier: Apache-2.0
//
// Driver.h: a driver as classes of your own, whose members the tables of hal.h
// are made of. hal.h says what each function promises and which thread calls
// it.
//
// The plug-in class has the type `Device` and
//   Status enumerate(Options, DeviceSink);
//   Result<std::unique_ptr<Device>> open(std::string_view id, Options);
//
// `Device` has the types Buffer, Executable and Queue, which are whatever you
// like, and
//   Result<std::unique_ptr<Buffer>> allocate(uint32_t space, uint64_t size,
//                                            uint64_t alignment);
//   Status write(Buffer &, uint64_t offset, std::span<const std::byte>);
//   Status read(Buffer &, uint64_t offset, std::span<std::byte>);
//   Result<std::unique_ptr<Executable>> load(const bp_executable_info_t &);
//   Result<std::unique_ptr<Queue>> createQueue(uint32_t queueClass);
// and, where it can:
//   Result<void *> map(Buffer &);
//   Result<std::unique_ptr<Buffer>> import(void *, uint64_t size, bool
//   readOnly); Result<std::unique_ptr<CommandBuffer>> record(Commands);   with
//   the type
//                                     CommandBuffer, and Queue::execute of it
//   Result<std::unique_ptr<Semaphore>> createSemaphore(uint64_t);   likewise
//
// `Queue` has one of
//   Status run(Commands);                   does the work before it returns
//   Status execute(Commands, Completion);   completes later; a failure that it
//                                           returns completes nothing
// and, where it can:
//   Status executeTimed(Commands, std::span<bp_timestamp_t>, Completion);
//   Status execute(CommandBuffer &, std::span<const bp_binding_t>, Completion);
//   Status submit(std::span<const bp_timepoint_t> waits,
//                 std::span<const bp_timepoint_t> signals, Commands);
//
// `Semaphore` has Result<uint64_t> value(), Status signal(uint64_t) and
// Status wait(uint64_t value, uint64_t timeoutNs).
//
// An object lives until the host gives its handle back, which deletes it; its
// destructor does not throw.
#ifndef BACKPLANE_CPP_DRIVER_H
#define BACKPLANE_CPP_DRIVER_H

#include "backplane/cpp/Commands.h"
#include "backplane/cpp/Plugin.h"

#include <cstddef>
#include <utility>

namespace backplane::plugin {

/// Receives the devices of enumerate; what they point to is copied.
class DeviceSink {
public:
  explicit DeviceSink(const bp_device_sink_t *sink) : sink_(sink) {}
  Status put(const bp_device_info_t &info) const {
    bp_status_t code = sink_->put(sink_->context, &info);
    return code ? Status(code, "the host takes no more devices") : Status();
  }

private:
  const bp_device_sink_t *sink_;
};

/// A plug-in class with a device.
template <typename T>
concept DriverClass = requires { typename T::Device; };

/// A queue whose work is done when the call returns.
template <typename Queue>
concept SynchronousQueue =
    requires(Queue queue, Commands commands) { queue.run(commands); };

template <typename Device>
concept MapsMemory = requires(Device device, typename Device::Buffer &buffer) {
  device.map(buffer);
};
template <typename Device>
concept ImportsMemory =
    requires(Device device) { device.import(nullptr, uint64_t(0), false); };
template <typename Device>
concept RecordsCommands = requires { typename Device::CommandBuffer; };
template <typename Device>
concept HasSemaphores = requires { typename Device::Semaphore; };
template <typename Queue>
concept TimesCommands = requires(
    Queue queue, Commands commands, std::span<bp_timestamp_t> times,
    Completion completion) { queue.executeTimed(commands, times, completion); };

/// The thunks and tables of a driver.
template <DriverClass T> struct DriverTables<T> {
  using Device = typename T::Device;
  using Buffer = typename Device::Buffer;
  using Executable = typename Device::Executable;
  using Queue = typename Device::Queue;

  /// What bp_device_t and bp_queue_t are. The others are the objects.
  struct OpenDevice {
    Host host;
    std::unique_ptr<Device> device;
  };
  struct OpenQueue {
    Host host;
    std::unique_ptr<Queue> queue;
  };

  static void addTo(bp_plugin_info_t &info) {
    info.driver = &driverTable;
    info.memory = &memoryTable;
    info.executable = &executableTable;
    info.queue = &queueTable;
  }

  /// The optional tables that the classes have members for.
  static const void *table(std::string_view name) {
    if constexpr (MapsMemory<Device> || ImportsMemory<Device>)
      if (name == "backplane.memory2")
        return &memory2Table;
    if constexpr (RecordsCommands<Device>)
      if (name == "backplane.command_buffer")
        return &CommandBuffers<Device>::table;
    if constexpr (HasSemaphores<Device>)
      if (name == "backplane.semaphore")
        return &Semaphores<Device>::table;
    if constexpr (TimesCommands<Queue>)
      if (name == "backplane.timestamps")
        return &timestampsTable;
    return nullptr;
  }

private:
  static_assert(
      MapsMemory<Device> || !requires { &Device::map; },
      "map is a public member Result<void *> map(Buffer &)");
  static_assert(
      ImportsMemory<Device> || !requires { &Device::import; },
      "import is a public member Result<std::unique_ptr<Buffer>> "
      "import(void *, uint64_t size, bool readOnly)");
  static_assert(
      RecordsCommands<Device> || !requires { &Device::record; },
      "a device with record has a public type CommandBuffer");
  static_assert(
      HasSemaphores<Device> || !requires { &Device::createSemaphore; },
      "a device with createSemaphore has a public type Semaphore");
  static_assert(
      TimesCommands<Queue> || !requires { &Queue::executeTimed; },
      "executeTimed is a public member Status executeTimed(Commands, "
      "std::span<bp_timestamp_t>, Completion)");

  static OpenDevice &of(bp_device_t *device) {
    return *reinterpret_cast<OpenDevice *>(device);
  }
  static OpenQueue &of(bp_queue_t *queue) {
    return *reinterpret_cast<OpenQueue *>(queue);
  }
  template <typename Made, typename Handle> static Made &as(Handle *handle) {
    return *reinterpret_cast<Made *>(handle);
  }

  // ---- devices ----

  static bp_status_t enumerate(void *self, const bp_options_t *options,
                               const bp_device_sink_t *sink,
                               bp_error_t *error) noexcept {
    auto &own = Self<T>::of(self);
    return guarded(own.host, error, [&]() -> Status {
      return own.plugin->enumerate(Options(options), DeviceSink(sink));
    });
  }

  static bp_status_t open(void *self, bp_string_t id,
                          const bp_options_t *options, bp_device_t **out_device,
                          bp_error_t *error) noexcept {
    auto &own = Self<T>::of(self);
    return guarded(own.host, error, [&]() -> Status {
      Result<std::unique_ptr<Device>> device =
          own.plugin->open(view(id), Options(options));
      if (!device || !*device)
        return device ? madeNothing() : device.status();
      return give(Result(std::make_unique<OpenDevice>(
                      OpenDevice{own.host, std::move(*device)})),
                  out_device);
    });
  }

  static void close(bp_device_t *device) noexcept { delete &of(device); }

  // ---- memory ----

  static bp_status_t allocate(bp_device_t *device, uint32_t space,
                              uint64_t size, uint64_t alignment,
                              bp_buffer_t **out_buffer,
                              bp_error_t *error) noexcept {
    return guarded(of(device).host, error, [&]() -> Status {
      return give<Buffer>(of(device).device->allocate(space, size, alignment),
                          out_buffer);
    });
  }

  static void release(bp_device_t *, bp_buffer_t *buffer) noexcept {
    delete &as<Buffer>(buffer);
  }

  static bp_status_t write(bp_device_t *device, bp_buffer_t *buffer,
                           uint64_t offset, const void *data, uint64_t size,
                           bp_error_t *error) noexcept {
    return guarded(of(device).host, error, [&]() -> Status {
      return of(device).device->write(
          as<Buffer>(buffer), offset,
          std::span(static_cast<const std::byte *>(data), size));
    });
  }

  static bp_status_t read(bp_device_t *device, bp_buffer_t *buffer,
                          uint64_t offset, void *data, uint64_t size,
                          bp_error_t *error) noexcept {
    return guarded(of(device).host, error, [&]() -> Status {
      return of(device).device->read(
          as<Buffer>(buffer), offset,
          std::span(static_cast<std::byte *>(data), size));
    });
  }

  static bp_status_t map(bp_device_t *device, bp_buffer_t *buffer,
                         void **out_pointer, bp_error_t *error) noexcept {
    return guarded(of(device).host, error, [&]() -> Status {
      Result<void *> pointer = of(device).device->map(as<Buffer>(buffer));
      if (pointer)
        *out_pointer = *pointer;
      return pointer.status();
    });
  }

  static bp_status_t import(bp_device_t *device, void *pointer, uint64_t size,
                            uint8_t read_only, bp_buffer_t **out_buffer,
                            bp_error_t *error) noexcept {
    return guarded(of(device).host, error, [&]() -> Status {
      return give<Buffer>(
          of(device).device->import(pointer, size, read_only != 0), out_buffer);
    });
  }

  // ---- executables ----

  static bp_status_t load(bp_device_t *device, const bp_executable_info_t *info,
                          bp_executable_t **out_executable,
                          bp_error_t *error) noexcept {
    return guarded(of(device).host, error, [&]() -> Status {
      return give<Executable>(of(device).device->load(*info), out_executable);
    });
  }

  static void unload(bp_device_t *, bp_executable_t *executable) noexcept {
    delete &as<Executable>(executable);
  }

  // ---- queues ----

  static bp_status_t createQueue(bp_device_t *device, uint32_t queue_class,
                                 bp_queue_t **out_queue,
                                 bp_error_t *error) noexcept {
    return guarded(of(device).host, error, [&]() -> Status {
      Result<std::unique_ptr<Queue>> queue =
          of(device).device->createQueue(queue_class);
      if (!queue || !*queue)
        return queue ? madeNothing() : queue.status();
      return give(Result(std::make_unique<OpenQueue>(
                      OpenQueue{of(device).host, std::move(*queue)})),
                  out_queue);
    });
  }

  static void destroyQueue(bp_device_t *, bp_queue_t *queue) noexcept {
    delete &of(queue);
  }

  static bp_status_t execute(bp_queue_t *queue,
                             const bp_header_t *const *commands, uint64_t count,
                             const bp_completion_t *completion,
                             bp_error_t *error) noexcept {
    const Commands all(commands, count);
    const Completion complete(*completion);
    if constexpr (SynchronousQueue<Queue>) {
      finished([&] { return of(queue).queue->run(all); },
               [&](const Status &status) { complete.done(status); });
      return BP_STATUS_OK;
    } else {
      return guarded(of(queue).host, error, [&]() -> Status {
        return of(queue).queue->execute(all, complete);
      });
    }
  }

  static bp_status_t executeTimed(bp_queue_t *queue,
                                  const bp_header_t *const *commands,
                                  uint64_t count, bp_timestamp_t *times,
                                  const bp_completion_t *completion,
                                  bp_error_t *error) noexcept {
    return guarded(of(queue).host, error, [&]() -> Status {
      return of(queue).queue->executeTimed(Commands(commands, count),
                                           std::span(times, count),
                                           Completion(*completion));
    });
  }

  /// Of a device that records. Apart, as other devices lack the type.
  template <typename Recorder> struct CommandBuffers {
    using CommandBuffer = typename Recorder::CommandBuffer;

    static bp_status_t create(bp_device_t *device,
                              const bp_header_t *const *commands,
                              uint64_t count,
                              bp_command_buffer_t **out_commands,
                              bp_error_t *error) noexcept {
      return guarded(of(device).host, error, [&]() -> Status {
        return give<CommandBuffer>(
            of(device).device->record(Commands(commands, count)), out_commands);
      });
    }
    static void destroy(bp_device_t *, bp_command_buffer_t *commands) noexcept {
      delete &as<CommandBuffer>(commands);
    }
    static bp_status_t execute(bp_queue_t *queue, bp_command_buffer_t *commands,
                               const bp_binding_t *table, uint64_t count,
                               const bp_completion_t *completion,
                               bp_error_t *error) noexcept {
      return guarded(of(queue).host, error, [&]() -> Status {
        return of(queue).queue->execute(as<CommandBuffer>(commands),
                                        std::span(table, count),
                                        Completion(*completion));
      });
    }
    static constexpr bp_command_buffer_table_t make() {
      bp_command_buffer_table_t made = {};
      made.header = BP_HEADER(bp_command_buffer_table_t);
      made.command_buffer_create = create;
      made.command_buffer_destroy = destroy;
      made.command_buffer_execute = execute;
      return made;
    }
    static constexpr bp_command_buffer_table_t table = make();
  };

  /// Of a device with semaphores, likewise.
  template <typename Signaller> struct Semaphores {
    using Semaphore = typename Signaller::Semaphore;

    static bp_status_t create(bp_device_t *device, uint64_t initial,
                              bp_semaphore_t **out_semaphore,
                              bp_error_t *error) noexcept {
      return guarded(of(device).host, error, [&]() -> Status {
        return give<Semaphore>(of(device).device->createSemaphore(initial),
                               out_semaphore);
      });
    }
    static void destroy(bp_device_t *, bp_semaphore_t *semaphore) noexcept {
      delete &as<Semaphore>(semaphore);
    }
    static bp_status_t value(bp_device_t *device, bp_semaphore_t *semaphore,
                             uint64_t *out_value, bp_error_t *error) noexcept {
      return guarded(of(device).host, error, [&]() -> Status {
        Result<uint64_t> reached = as<Semaphore>(semaphore).value();
        if (reached)
          *out_value = *reached;
        return reached.status();
      });
    }
    static bp_status_t signal(bp_device_t *device, bp_semaphore_t *semaphore,
                              uint64_t value, bp_error_t *error) noexcept {
      return guarded(of(device).host, error, [&]() -> Status {
        return as<Semaphore>(semaphore).signal(value);
      });
    }
    static bp_status_t wait(bp_device_t *device, bp_semaphore_t *semaphore,
                            uint64_t value, uint64_t timeout_ns,
                            bp_error_t *error) noexcept {
      return guarded(of(device).host, error, [&]() -> Status {
        return as<Semaphore>(semaphore).wait(value, timeout_ns);
      });
    }
    static bp_status_t submit(bp_queue_t *queue, const bp_timepoint_t *waits,
                              uint64_t wait_count,
                              const bp_timepoint_t *signals,
                              uint64_t signal_count,
                              const bp_header_t *const *commands,
                              uint64_t count, bp_error_t *error) noexcept {
      return guarded(of(queue).host, error, [&]() -> Status {
        return of(queue).queue->submit(std::span(waits, wait_count),
                                       std::span(signals, signal_count),
                                       Commands(commands, count));
      });
    }
    static constexpr bp_semaphore_table_t make() {
      bp_semaphore_table_t made = {};
      made.header = BP_HEADER(bp_semaphore_table_t);
      made.semaphore_create = create;
      made.semaphore_destroy = destroy;
      made.semaphore_query = value;
      made.semaphore_signal = signal;
      made.semaphore_wait = wait;
      made.queue_submit = submit;
      return made;
    }
    static constexpr bp_semaphore_table_t table = make();
  };

  // ---- tables ----

  static constexpr bp_memory2_table_t makeMemory2() {
    bp_memory2_table_t table = {};
    table.header = BP_HEADER(bp_memory2_table_t);
    if constexpr (MapsMemory<Device>)
      table.buffer_map = map;
    if constexpr (ImportsMemory<Device>)
      table.buffer_import = import;
    return table;
  }
  static constexpr bp_timestamps_table_t makeTimestamps() {
    bp_timestamps_table_t table = {};
    table.header = BP_HEADER(bp_timestamps_table_t);
    if constexpr (TimesCommands<Queue>)
      table.queue_execute_timed = executeTimed;
    return table;
  }

  static constexpr bp_driver_table_t makeDriver() {
    bp_driver_table_t made = {};
    made.header = BP_HEADER(bp_driver_table_t);
    made.enumerate = enumerate;
    made.open = open;
    made.close = close;
    return made;
  }
  static constexpr bp_driver_table_t driverTable = makeDriver();
  static constexpr bp_memory_table_t makeMemory() {
    bp_memory_table_t made = {};
    made.header = BP_HEADER(bp_memory_table_t);
    made.buffer_allocate = allocate;
    made.buffer_free = release;
    made.buffer_write = write;
    made.buffer_read = read;
    return made;
  }
  static constexpr bp_memory_table_t memoryTable = makeMemory();
  static constexpr bp_executable_table_t makeExecutable() {
    bp_executable_table_t made = {};
    made.header = BP_HEADER(bp_executable_table_t);
    made.executable_load = load;
    made.executable_unload = unload;
    return made;
  }
  static constexpr bp_executable_table_t executableTable = makeExecutable();
  static constexpr bp_queue_table_t makeQueue() {
    bp_queue_table_t made = {};
    made.header = BP_HEADER(bp_queue_table_t);
    made.queue_create = createQueue;
    made.queue_destroy = destroyQueue;
    made.queue_execute = execute;
    return made;
  }
  static constexpr bp_queue_table_t queueTable = makeQueue();
  static constexpr bp_memory2_table_t memory2Table = makeMemory2();
  static constexpr bp_timestamps_table_t timestampsTable = makeTimestamps();
};

} // namespace backplane::plugin

#endif // BACKPLANE_CPP_DRIVER_H
