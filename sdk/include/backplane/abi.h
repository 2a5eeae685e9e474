/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abi.h: the vocabulary of the Backplane C ABI.
 *
 * Every other header of this folder includes this one. It holds what crosses
 * each boundary: status codes, strings, dtypes, and the rule by which a struct
 * may grow without breaking a binary that was built before.
 *
 * Rules that hold for every header here (major version 0):
 *  - Structs are append-only. A reader copies min(size, sizeof) bytes into a
 *    zeroed local, and a zero field means "as before the field existed".
 *  - There is no implicit padding. `reserved` fields are zero and are checked.
 *  - Unknown enum values get BP_STATUS_UNIMPLEMENTED, never a guess.
 *  - Nothing unwinds through a function of this ABI: no exception, longjmp,
 *    exit, abort, signal handler or locale change on either side.
 *  - Who allocates, frees. Results of unknown size go through a sink callback.
 *  - Threads: unless a comment says otherwise, calls on one handle are
 *    serialised by the caller, calls on distinct handles run concurrently.
 */
#ifndef BACKPLANE_ABI_H
#define BACKPLANE_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The minor version that these headers describe. It is what a library was
 * built with, never evidence of what the other side has: see bp_host_t.minor
 * and bp_plugin_info_t.required_minor. */
#define BP_ABI_MAJOR 0
#define BP_ABI_MINOR 6

/* ---- Status ---- */

/* The outcome of a call: 0 is success, the rest are the canonical codes of
 * Abseil and gRPC, with their meanings. */
typedef int32_t bp_status_t;
#define BP_STATUS_OK 0
#define BP_STATUS_CANCELLED 1
#define BP_STATUS_UNKNOWN 2
#define BP_STATUS_INVALID_ARGUMENT 3
#define BP_STATUS_DEADLINE_EXCEEDED 4
#define BP_STATUS_NOT_FOUND 5
#define BP_STATUS_ALREADY_EXISTS 6
#define BP_STATUS_PERMISSION_DENIED 7
#define BP_STATUS_RESOURCE_EXHAUSTED 8
#define BP_STATUS_FAILED_PRECONDITION 9
#define BP_STATUS_ABORTED 10
#define BP_STATUS_OUT_OF_RANGE 11
#define BP_STATUS_UNIMPLEMENTED 12
#define BP_STATUS_INTERNAL 13
#define BP_STATUS_UNAVAILABLE 14
#define BP_STATUS_DATA_LOSS 15

/* ---- Strings, bytes, errors ---- */

/* UTF-8 text, not null-terminated, valid for the call that passes it unless
 * said otherwise. Frozen: passed by value, never grows. */
typedef struct bp_string_t {
  const char *data;
  uint64_t size;
} bp_string_t;

/* Read-only bytes with the lifetime of a bp_string_t. Frozen. */
typedef struct bp_bytes_t {
  const void *data;
  uint64_t size;
} bp_bytes_t;

/* Where a callee puts the text of a failure. Owned by the caller and opaque
 * to the callee, which fills it with bp_host_t.error_set. May be NULL. */
typedef struct bp_error_t bp_error_t;

/* ---- Growable structs ---- */

/* First member of every growable struct. `type` is the BP_TYPE_ constant of
 * the struct, `size` its sizeof in the caller's build, `next` a chain of
 * further structs: unknown ones are skipped, unless their type has
 * BP_TYPE_MUST_UNDERSTAND set. Frozen. */
typedef struct bp_header_t {
  uint32_t type;
  uint32_t size;
  const void *next;
} bp_header_t;

#define BP_TYPE_MUST_UNDERSTAND 0x80000000u

/* The header of a struct of type T, as its first initialiser:
 *   bp_device_info_t info = {BP_HEADER(bp_device_info_t)};
 * The remaining members are then zero. */
#define BP_HEADER(T) {T##_TYPE, (uint32_t)sizeof(T), 0}

/* ---- Element types ---- */

/* What an element of a tensor is. Sub-byte types are packed, low bits first.
 * BOOL is one byte holding 0 or 1. F8E8M0FNU is a power of two or NaN: it has
 * neither sign nor zero. F4E2M1FN has neither infinities nor NaN. */
typedef uint32_t bp_dtype_t;
#define BP_DTYPE_INVALID 0u
#define BP_DTYPE_F64 1u
#define BP_DTYPE_F32 2u
#define BP_DTYPE_F16 3u
#define BP_DTYPE_BF16 4u
#define BP_DTYPE_F8E4M3FN 5u
#define BP_DTYPE_F8E5M2 6u
#define BP_DTYPE_I64 7u
#define BP_DTYPE_I32 8u
#define BP_DTYPE_I16 9u
#define BP_DTYPE_I8 10u
#define BP_DTYPE_I4 11u
#define BP_DTYPE_U64 12u
#define BP_DTYPE_U32 13u
#define BP_DTYPE_U16 14u
#define BP_DTYPE_U8 15u
#define BP_DTYPE_U4 16u
#define BP_DTYPE_BOOL 17u
#define BP_DTYPE_F8E4M3FNUZ 18u
#define BP_DTYPE_F8E5M2FNUZ 19u
#define BP_DTYPE_F8E8M0FNU 20u
#define BP_DTYPE_F4E2M1FN 21u
#define BP_DTYPE_COUNT_ 22u

/* Sets of dtypes: bit (1 << BP_DTYPE_X). */
typedef uint64_t bp_dtype_set_t;

/* ---- Options ---- */

/* One key=value pair, for instance from a device URI. Frozen. */
typedef struct bp_option_t {
  bp_string_t key;
  bp_string_t value;
} bp_option_t;

/* A list of options. A callee refuses keys that it does not know with
 * BP_STATUS_INVALID_ARGUMENT and names them. Frozen. */
typedef struct bp_options_t {
  const bp_option_t *items;
  uint64_t count;
} bp_options_t;

/* ---- Properties ---- */

#define BP_PROPERTY_I64 1u
#define BP_PROPERTY_F64 2u
#define BP_PROPERTY_STRING 3u
#define BP_PROPERTY_I64S 4u

/* One typed property of a target or a device, {"shared_bytes", 49152}. Only the
 * member of its kind is set. Well-known keys, with their kinds, units and
 * limits, are in docs/reference/properties.md; a vendor's own are prefixed,
 * "acme.tiles". Frozen. */
typedef struct bp_property_t {
  bp_string_t key;
  uint32_t kind;  /* BP_PROPERTY_ */
  uint32_t count; /* of i64s */
  int64_t i64;
  double f64;
  bp_string_t string;
  const int64_t *i64s;
} bp_property_t;

/* ---- Sinks ---- */

/* Receives bytes from a callee, once; the bytes are copied before `put`
 * returns. A failure status from `put` must be returned by the callee. */
typedef struct bp_bytes_sink_t {
  bp_status_t (*put)(void *context, bp_bytes_t bytes);
  void *context;
} bp_bytes_sink_t;

/* Receives strings, any number of them, each copied before `put` returns. */
typedef struct bp_string_sink_t {
  bp_status_t (*put)(void *context, bp_string_t text);
  void *context;
} bp_string_sink_t;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_ABI_H */
