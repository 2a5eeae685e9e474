// SPDX-License-Identifier: Apache-2.0
//
// Tables.h: a driver that fills in the tables of hal.h itself, as a class with
//   static backplane::plugin::Tables tables();
// and without a type `Device`. The `self` of its functions is a Self<T> *.
#ifndef BACKPLANE_CPP_TABLES_H
#define BACKPLANE_CPP_TABLES_H

#include "backplane/cpp/Plugin.h"
#include "backplane/hal.h"

namespace backplane::plugin {

/// What is optional may be null.
struct Tables {
  const bp_driver_table_t *driver;
  const bp_memory_table_t *memory;
  const bp_executable_table_t *executable;
  const bp_queue_table_t *queue;
  const bp_memory2_table_t *memory2 = nullptr;
  const bp_command_buffer_table_t *commandBuffer = nullptr;
  const bp_semaphore_table_t *semaphore = nullptr;
  const bp_timestamps_table_t *timestamps = nullptr;
  const bp_interop_table_t *interop = nullptr;
};

template <typename T>
  requires requires { T::tables(); }
struct DriverTables<T> {
  static void addTo(bp_plugin_info_t &info) {
    const Tables own = T::tables();
    info.driver = own.driver;
    info.memory = own.memory;
    info.executable = own.executable;
    info.queue = own.queue;
  }
  static const void *table(std::string_view name) {
    const Tables own = T::tables();
    if (name == "backplane.memory2")
      return own.memory2;
    if (name == "backplane.command_buffer")
      return own.commandBuffer;
    if (name == "backplane.semaphore")
      return own.semaphore;
    if (name == "backplane.interop")
      return own.interop;
    return name == "backplane.timestamps" ? own.timestamps : nullptr;
  }
};

} // namespace backplane::plugin

#endif // BACKPLANE_CPP_TABLES_H
