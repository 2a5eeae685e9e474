/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops_random.c: random bits, by Philox 4x32-10 of J. Salmon et al., "Parallel
 * Random Numbers: As Easy as 1, 2, 3" (2011).
 */
#include "ref.h"

/* Elements that one task writes: whole blocks of four. */
#define SHARE 4096

typedef struct stream_t {
  const ref_op_t *op;
  uint64_t key, counter;
} stream_t;

static uint64_t operand_of(const ref_op_t *op, uint32_t index) {
  ref_word_t word;
  ref_load(ref_operand(op, index), 0, 1, 1, &word);
  return (uint64_t)word.i;
}

/* Ten rounds over a counter, in place. */
static void philox(uint32_t words[4], uint64_t key) {
  uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
  int round;
  for (round = 0; round < 10; ++round) {
    const uint64_t a = (uint64_t)words[0] * 0xD2511F53u;
    const uint64_t b = (uint64_t)words[2] * 0xCD9E8D57u;
    words[0] = (uint32_t)(b >> 32) ^ words[1] ^ low;
    words[1] = (uint32_t)b;
    words[2] = (uint32_t)(a >> 32) ^ words[3] ^ high;
    words[3] = (uint32_t)a;
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
}

static void share(void *context, uint64_t index, uint32_t worker) {
  const stream_t *stream = context;
  const ref_tensor_t *result = stream->op->result;
  uint32_t *out = result->data;
  const int64_t first = (int64_t)index * SHARE;
  const int64_t end = ref_lower(first + SHARE, result->count);
  int64_t i, k;
  (void)worker;
  for (i = first; i < end; i += 4) {
    const uint64_t block = (uint64_t)i / 4;
    uint32_t words[4] = {(uint32_t)block, (uint32_t)(block >> 32),
                         (uint32_t)stream->counter,
                         (uint32_t)(stream->counter >> 32)};
    philox(words, stream->key);
    for (k = 0; k < 4 && i + k < end; ++k)
      out[i + k] = words[k];
  }
}

bp_status_t ref_random_bits(ref_op_t *op) {
  stream_t stream = {op, operand_of(op, 0), operand_of(op, 1)};
  ref_parallel(op, (op->result->count + SHARE - 1) / SHARE, share, &stream);
  return BP_STATUS_OK;
}
