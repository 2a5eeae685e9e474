// SPDX-License-Identifier: Apache-2.0
//
// Fault.h: what a driver of Faulty.cpp, the one file that includes this, may do
// wrong, and what all of its parts use.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_TEST_FAULT_H
#define BACKPLANE_CONFORMANCE_PLUGIN_TEST_FAULT_H

#include <backplane/hal.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum Fault {
  NONE,
  COPY_IGNORES_OFFSET,
  FILL_RUNS_OVER,
  READ_RUNS_OVER,
  COMPLETES_EARLY,
  COMPLETES_TWICE,
  KEEPS_COMMANDS,
  LEAKS_ON_ERROR,
  CRASHES_WITHOUT_MEMORY,
  QUERY_RUNS_OVER,
  SHARES_STATE,
  TABLE_BY_PREFIX,
  TAKES_ANY_OPTION,
  IGNORES_SINK,
  SKIPS_UNKNOWN,
  GIVES_ANY_SIZE,
  ROUNDS_UP,
  TAKES_SIGNALS,
  PRINTS,
  LEAVES_THREADS,
  FREES_TWICE,
  IGNORES_ALIGNMENT,
  FORGETS_ERROR_NULL,
  FLUSHES,
  COMPLETES_LATE,
  MOVES_FOLDER,
  MASKS_FILES,
  SETS_LOCALE,
  BLOCKS_SIGNALS,
  FLUSHES_WHEN_LOADED,
  FLUSHES_ON_THE_POOL,
  TRAPS,
  LEAVES_MMX,
  SETS_THREAD_LOCALE,
  PASSES_ANYTHING,
  RUNS_ANY_PASS,
  PASS_FOR_NO_STAGE,
  NAMES_NO_OP,
  SHARES_OPS,
  GOES_AROUND,
  CHANGES_ITS_MIND,
  CRASHES_ON_SCALARS,
  ASKS_FOR_NO_WEIGHT,
  READS_OVER_WEIGHTS,
  COMPILES_THE_TIME,
  FAILS_WITHOUT_OPS,
};

struct bp_device_t {
  const bp_host_t *host;
};
struct bp_buffer_t {
  uint8_t *data;
};
struct bp_queue_t {
  bp_device_t *device;
  bool used = false;
};

namespace {

constexpr bool has(Fault fault) { return BP_FAULT == fault; }

bp_string_t text(const char *chars) { return {chars, strlen(chars)}; }

/// Denormal results become zero from now on.
void flushDenormals() {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8000u);
#elif defined(__aarch64__)
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("msr fpcr, %0" : : "r"(control | 1u << 24));
#endif
}

void blockSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

/// Leaves the registers of the x87 unit in use.
void useMmx() {
#if defined(__x86_64__)
  __asm__ volatile("movd %0, %%mm0" : : "r"(1) : "mm0");
#endif
}

bp_status_t fail(const bp_host_t *host, bp_error_t *error, bp_status_t status,
                 const char *message) {
  static void *volatile lost;
  if (has(LEAKS_ON_ERROR))
    lost = std::malloc(4096);
  if (has(FORGETS_ERROR_NULL))
    *reinterpret_cast<volatile char *>(error) = 0;
  return host->error_set(host->self, error, status, text(message));
}

bp_status_t refuseOptions(const bp_host_t *host, const bp_options_t *options,
                          bp_error_t *error) {
  if (has(TAKES_ANY_OPTION) || !options->count)
    return BP_STATUS_OK;
  char message[200];
  std::snprintf(message, sizeof(message), "no option is known, found %.*s",
                int(options->items[0].key.size), options->items[0].key.data);
  return fail(host, error, BP_STATUS_INVALID_ARGUMENT, message);
}

} // namespace

#endif // BACKPLANE_CONFORMANCE_PLUGIN_TEST_FAULT_H
