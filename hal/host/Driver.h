// SPDX-License-Identifier: Apache-2.0
//
// Driver.h: the objects behind the handles of the host driver, which runs
// executables on the CPU of this process. It is a plug-in like any other: it
// includes installed headers only and reaches the host through bp_host_t.
#ifndef BACKPLANE_HOST_DRIVER_H
#define BACKPLANE_HOST_DRIVER_H

#include "backplane/cpp/Commands.h"
#include "backplane/cpp/Tables.h"
#include "backplane/kernel.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace backplane::host {

/// Alignment of allocations, binding offsets and workspaces.
inline constexpr uint64_t alignment = 64;
inline constexpr uint32_t maxBindings = 1024;

/// What `initialize` makes.
struct Driver {
  static constexpr plugin::Description description = {
      .name = "host", .vendor = "Backplane", .version = "0.1.0"};
  explicit Driver(plugin::Host host) : host(&host.c()) {}
  static plugin::Tables tables();

  const bp_host_t *host;
};

bp_status_t fail(const Driver &driver, bp_error_t *error, bp_status_t status,
                 std::string_view message);
/// Refuses every option by name: the driver has none.
bp_status_t refuseOptions(const Driver &driver, const bp_options_t *options,
                          bp_error_t *error);

extern const bp_driver_table_t driverTable;
extern const bp_memory_table_t memoryTable;
extern const bp_memory2_table_t memory2Table;
extern const bp_executable_table_t executableTable;
extern const bp_queue_table_t queueTable;
extern const bp_timestamps_table_t timestampsTable;
extern const bp_command_buffer_table_t commandBufferTable;
extern const bp_semaphore_table_t semaphoreTable;

} // namespace backplane::host

namespace backplane::host {

/// What all semaphores and waiting queues of a device share. One lock is
/// enough: it is held for a few instructions at a time.
struct Timelines {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<bp_queue_t *> queues; ///< with submissions that have not run
};

} // namespace backplane::host

struct bp_device_t {
  backplane::host::Driver *driver;
  /// Shared with tasks that the host still has to run.
  std::shared_ptr<backplane::host::Timelines> timelines =
      std::make_shared<backplane::host::Timelines>();
};

struct bp_buffer_t {
  uint8_t *data;
  uint64_t size;
  bool owned;
};

#endif // BACKPLANE_HOST_DRIVER_H
