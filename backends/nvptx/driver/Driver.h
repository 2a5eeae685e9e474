// SPDX-License-Identifier: Apache-2.0
//
// Driver.h: what one context of the application has of the CUDA driver: the
// host's services and the tables that the host calls.
#ifndef BACKPLANE_CUDA_DRIVER_H
#define BACKPLANE_CUDA_DRIVER_H

#include "Cuda.h"
#include "backplane/kernel.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace backplane::cuda {

/// What `initialize` makes.
struct Driver {
  const bp_host_t *host;
};

/// What the query part of a device URI says.
struct Options {
  /// The emulated architecture: `sm=90`; 0: any.
  int sm = 0;
  /// A library in the place of the machine's: `library=PATH`.
  std::string library;
};

/// A struct as far as its sender's build knows it; what came later is zero.
template <typename T> T readStruct(const bp_header_t *header) {
  T copy = {};
  std::memcpy(&copy, header, std::min<size_t>(header->size, sizeof(T)));
  return copy;
}

bp_status_t fail(const Driver &driver, bp_error_t *error, bp_status_t status,
                 std::string_view message);
bp_status_t outOfMemory(const Driver &driver, bp_error_t *error);
/// Reads the options; unknown ones are refused by name.
bp_status_t readOptions(const Driver &driver, const bp_options_t *options,
                        Options &out, bp_error_t *error);
/// The status that a failed call of CUDA is to the host.
bp_status_t statusOf(CUresult result);
/// Whether nothing runs in the context any more.
bool isSticky(CUresult result);

extern const bp_driver_table_t driverTable;
extern const bp_memory_table_t memoryTable;
extern const bp_memory2_table_t memory2Table;
extern const bp_executable_table_t executableTable;
extern const bp_queue_table_t queueTable;
extern const bp_semaphore_table_t semaphoreTable;
extern const bp_command_buffer_table_t commandBufferTable;
extern const bp_timestamps_table_t timestampsTable;

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_DRIVER_H
