// SPDX-License-Identifier: Apache-2.0
//
// Tables.h: the host's own copies of what crosses the C ABI. Calls never go
// through a vendor's memory: a table is copied into a zeroed one of the host's
// size, a missing optional slot gets a stub that answers UNIMPLEMENTED, and a
// missing required slot refuses the plug-in by the slot's name.
#ifndef BACKPLANE_CORE_TABLES_H
#define BACKPLANE_CORE_TABLES_H

#include "backplane/compiler.h"
#include "backplane/cpp/Result.h"
#include "backplane/hal.h"

#include <algorithm>
#include <cstring>

namespace backplane {

/// Checks that a growable struct from outside can be read as one of `type`:
/// aligned, not null, a sane size, no part that must be understood and is not.
Status checkStruct(const void *from, uint32_t type, const char *what);

/// Copies a growable struct into a zeroed one of this build. The copy has this
/// build's size and no `next`.
template <typename T>
Status copyStruct(const void *from, uint32_t type, const char *what, T &out) {
  if (Status status = checkStruct(from, type, what); !status.ok())
    return status;
  std::memset(static_cast<void *>(&out), 0, sizeof(T));
  const auto *header = static_cast<const bp_header_t *>(from);
  std::memcpy(static_cast<void *>(&out), from,
              std::min<size_t>(header->size, sizeof(T)));
  out.header = {type, uint32_t(sizeof(T)), nullptr};
  return {};
}

/// The tables of a driver, by value, with stubs in the empty slots.
struct DriverTables {
  bp_driver_table_t driver;
  bp_memory_table_t memory;
  bp_executable_table_t executable;
  bp_queue_table_t queue;
  bp_memory2_table_t memory2; ///< all stubs when the driver has none
  bp_semaphore_table_t semaphore;
  bp_command_buffer_table_t commandBuffer;
  bp_timestamps_table_t timestamps;
  bp_interop_table_t interop; ///< all stubs when the driver has none
  bool hasSemaphore = false;
  bool hasCommandBuffer = false;
  bool hasTimestamps = false;
};

/// Copy one table each. `plugin` needs initialize and shutdown, `compiler`
/// needs targets, `kernels` needs describe.
Status copyPluginTable(const void *from, bp_plugin_table_t &out);
Status copyCompilerTable(const void *from, bp_compiler_table_t &out);
Status copyKernelsTable(const void *from, bp_kernels_table_t &out);
/// The four required tables.
Status copyDriverTables(const bp_plugin_info_t &info, DriverTables &out);
/// The optional tables as get_table gave them, NULL where it gave none. A table
/// that is damaged or incomplete is left out; `*warning` then says why.
void copyOptionalTables(const void *memory2, const void *semaphore,
                        const void *commandBuffer, DriverTables &out,
                        std::string *warning);
/// The same for "backplane.timestamps".
void copyTimestamps(const void *from, DriverTables &out, std::string *warning);
/// The same for "backplane.interop".
void copyInterop(const void *from, DriverTables &out, std::string *warning);

} // namespace backplane

#endif // BACKPLANE_CORE_TABLES_H
