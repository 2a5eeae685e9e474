// SPDX-License-Identifier: Apache-2.0
//
// Inner.h: the reference plug-in that mutants wrap, loaded as the host would.
#ifndef BACKPLANE_CONFORMANCE_MUTANTS_INNER_H
#define BACKPLANE_CONFORMANCE_MUTANTS_INNER_H

#include "Mutant.h"

#include <atomic>

namespace backplane::mutants {

/// The tables of the reference plug-in; live as long as the process.
struct Inner {
  const bp_plugin_table_t *plugin = nullptr;
  const bp_driver_table_t *driver = nullptr;
  const bp_memory_table_t *memory = nullptr;
  const bp_executable_table_t *executable = nullptr;
  const bp_queue_table_t *queue = nullptr;
  const bp_compiler_table_t *compiler = nullptr;
};

/// Loads libbp-ref.so from ../plugins beside the folder of this library.
/// Thread-safe.
Result<const Inner *> inner();

/// Where a buffer of the reference plug-in starts: it is its memory
/// (backends/reference/driver.c).
inline uint8_t *memoryOf(bp_buffer_t *buffer) {
  return reinterpret_cast<uint8_t *>(buffer);
}
inline bp_buffer_t *asBuffer(const uint8_t *memory) {
  return reinterpret_cast<bp_buffer_t *>(const_cast<uint8_t *>(memory));
}

} // namespace backplane::mutants

/// What initialize returns.
struct PluginSelf {
  const bp_host_t *host = nullptr;
  const backplane::mutants::Inner *inner = nullptr;
  void *innerSelf = nullptr;
  const backplane::mutants::Mutant *mutant = nullptr; ///< null: no device
  uint64_t seed = 0;                                  ///< of thresholds
};

struct bp_device_t {
  PluginSelf *self;
  bp_device_t *inner;
  bp_queue_t *innerQueue;
  backplane::mutants::Memory memory;
  std::atomic<int> late = 0; ///< dispatches that run after their completion

  /// Waits until no dispatch is late, so that what it uses may go.
  void settle() const {
    for (int count = late; count != 0; count = late)
      late.wait(count);
  }
};

struct bp_queue_t {
  bp_device_t *device;
  bp_queue_t *inner;
};

#endif // BACKPLANE_CONFORMANCE_MUTANTS_INNER_H
