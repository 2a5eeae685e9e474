/* SPDX-License-Identifier: Apache-2.0
 *
 * bp_cuda_emulator.h: what libbp-cuda-emulator.so exports beside the entry
 * points of the CUDA driver API. Look these up with dlsym; a real libcuda.so.1
 * has none of them, which tells the two apart. Every function may be called
 * from any thread. Options are those of the process and take effect at the next
 * launch. */
#ifndef BP_CUDA_EMULATOR_H
#define BP_CUDA_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets an option. Returns 0, or -1 for an unknown name or a value out of range.
 * The environment variable BP_CUDA_EMULATOR has the values at the start, as in
 * "schedule=reversed,seed=7,races=0".
 *
 *   checks    0 turns poison and races off, 1 on (the default)
 *   poison    registers and shared memory that are read before they are written
 *   races     accesses of shared memory by two warps without a barrier between
 *   schedule  "in-order" (default), "reversed" or "random": of blocks, and of
 *             the warps of a block
 *   seed      of the random schedule (default 1)
 *   limit     instructions that one warp may execute, in millions (default 400)
 *   total     instructions that all warps of a launch may execute, in millions
 *             (default 0: no limit)
 *   log       1 (default) writes the text of each fault to stderr; the driver
 *             of Backplane, whose messages have it, sets 0 unless the variable
 *             names it
 *   modules   a folder: the text of each module that is loaded is written there
 *             as HASH.ptx, and where that file is there already, it is what is
 *             loaded, so that kernels can be read and changed (default: none)
 *
 * Bounds and alignment are always checked. */
int bp_cuda_emulator_set(const char *name, const char *value);

/* Counters since the process started or since the last reset. */
typedef struct bp_cuda_emulator_counters {
  uint64_t struct_size; /* bytes that the caller knows */
  uint64_t launches;
  uint64_t blocks;
  uint64_t instructions; /* executed by a warp, for at least one lane */
  uint64_t integer_instructions;
  uint64_t float_instructions;
  uint64_t convert_instructions;
  uint64_t control_instructions; /* branches, barriers, moves between lanes */
  uint64_t memory_instructions;
  uint64_t matrix_instructions;
  uint64_t
      scalar_multiply_adds; /* of lanes: fma, mad and mul of floats, dp4a */
  uint64_t matrix_multiply_adds;
  uint64_t global_load_bytes; /* that lanes asked for */
  uint64_t global_store_bytes;
  uint64_t global_requests;      /* of warps */
  uint64_t global_sectors;       /* of 32 bytes that the requests touched */
  uint64_t global_ideal_sectors; /* that their distinct bytes would fill */
  uint64_t shared_load_bytes;
  uint64_t shared_store_bytes;
  uint64_t shared_accesses;  /* passes through the banks without conflicts */
  uint64_t shared_conflicts; /* further passes because of conflicts */
  uint64_t local_bytes;      /* stack and spills */
  uint64_t barriers;
  uint64_t divergent_branches;
} bp_cuda_emulator_counters;

/* Fills what fits into counters->struct_size bytes. Returns 0. */
int bp_cuda_emulator_read_counters(bp_cuda_emulator_counters *counters);
void bp_cuda_emulator_reset_counters(void);

/* Writes the text of the last fault or refused module of the process, kernel,
 * instruction, line, thread, address and buffer, as far as `size` bytes hold it
 * with a zero behind it. Returns the length of the whole; 0 when there was
 * none. Needs no memory, so that it can be asked when there is none left. */
size_t bp_cuda_emulator_last_error(char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
