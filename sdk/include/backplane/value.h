/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.h: values of applications: tensors on the host or on a device, into
 * sessions and out of them. backplane.h includes it.
 *
 *   bp_device_buffer_create   memory of a device
 *   bp_timeline_create        a timeline that says when data are ready
 *   bp_session_run_values     a call whose tensors lie anywhere
 *   bp_session_submit_values  the same, asynchronous
 *   bp_value_from_dlpack      a tensor of another framework, without a copy
 *   bp_value_to_dlpack        and the reverse
 *
 * Where a session takes the memory of a value in place, nothing is copied:
 * dense host memory that the device imports, and buffers of the session's own
 * device at a multiple of its binding alignment. Everything else is copied
 * through the host: strided values, buffers of other devices, and all buffers
 * in sessions on several devices or behind a worker; bp_session_explain says
 * what a session does.
 */
#ifndef BACKPLANE_VALUE_H
#define BACKPLANE_VALUE_H

#include "backplane.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bp_device_buffer_t bp_device_buffer_t;
typedef struct bp_timeline_t bp_timeline_t;

/* ---- Memory of devices ---- */

/* `size` bytes, at least 1, of the device with this URI, contents undefined. A
 * device behind a worker is BP_STATUS_UNIMPLEMENTED: its memory is that of
 * another process. Destroy it before the context; calls in flight keep the
 * memory. Thread-safe to share. */
BP_API bp_status_t bp_device_buffer_create(bp_context_t *context,
                                           bp_string_t device_uri,
                                           uint64_t size,
                                           bp_device_buffer_t **out_buffer,
                                           bp_error_t *error);
BP_API void bp_device_buffer_destroy(bp_device_buffer_t *buffer);
/* Copy between host memory and [offset, offset + size), blocking. The caller
 * has waited for the calls that use the range. */
BP_API bp_status_t bp_device_buffer_write(bp_device_buffer_t *buffer,
                                          uint64_t offset, const void *data,
                                          uint64_t size, bp_error_t *error);
BP_API bp_status_t bp_device_buffer_read(const bp_device_buffer_t *buffer,
                                         uint64_t offset, void *data,
                                         uint64_t size, bp_error_t *error);
/* A host pointer to its start, valid as long as the buffer; NULL when the host
 * does not see memory of this device. */
BP_API void *bp_device_buffer_map(bp_device_buffer_t *buffer);
/* Bytes; it may be more than was asked for. */
BP_API uint64_t bp_device_buffer_size(const bp_device_buffer_t *buffer);
/* URI of its device, valid as long as the buffer. */
BP_API bp_string_t bp_device_buffer_device(const bp_device_buffer_t *buffer);

/* ---- Timelines ---- */

/* A number that only grows, from 0 on. Thread-safe to share. It must outlive
 * the values that name it, and the calls that they were given to. */
BP_API bp_status_t bp_timeline_create(bp_timeline_t **out_timeline,
                                      bp_error_t *error);
BP_API void bp_timeline_destroy(bp_timeline_t *timeline);
/* Raises the value; one that is not higher is BP_STATUS_INVALID_ARGUMENT. */
BP_API bp_status_t bp_timeline_signal(bp_timeline_t *timeline, uint64_t value,
                                      bp_error_t *error);
/* Every wait fails with this status and text from now on. `status` is not
 * BP_STATUS_OK. */
BP_API bp_status_t bp_timeline_fail(bp_timeline_t *timeline, bp_status_t status,
                                    bp_string_t message, bp_error_t *error);
/* Blocks until the value is reached, at most `timeout_ns`
 * (BP_STATUS_DEADLINE_EXCEEDED), or until the timeline fails. */
BP_API bp_status_t bp_timeline_wait(bp_timeline_t *timeline, uint64_t value,
                                    uint64_t timeout_ns, bp_error_t *error);
BP_API uint64_t bp_timeline_value(const bp_timeline_t *timeline);

/* ---- Values ---- */

/* No value. As an output: it is computed and dropped. */
#define BP_VALUE_ABSENT 0u
#define BP_VALUE_TENSOR 1u
/* Values in order. No model of today has such an input or output: sessions
 * refuse them by the name of the input. */
#define BP_VALUE_SEQUENCE 2u

/* An input that the call takes over: it calls `release` when it is done with
 * the data, and uses its buffer for results of later calls. A call that was not
 * started takes nothing. */
#define BP_VALUE_DONATED 1u
/* An output that the call makes, on the device of the session or on the host: a
 * tensor with nothing but this flag set, whose members the call fills; the
 * application calls `release`. Sessions on several devices or behind a worker
 * refuse BP_VALUE_ON_DEVICE with BP_STATUS_UNIMPLEMENTED. */
#define BP_VALUE_ON_DEVICE 2u
#define BP_VALUE_ON_HOST 4u
/* The memory must not be written: no output goes there. */
#define BP_VALUE_READ_ONLY 8u

#define bp_value_t_TYPE 135u
typedef struct bp_value_t {
  bp_header_t header;
  uint32_t kind;  /* BP_VALUE_ABSENT, ... */
  uint32_t flags; /* BP_VALUE_DONATED, ... */
  bp_dtype_t dtype;
  uint32_t rank;
  const int64_t *dims;
  const int64_t *strides; /* in elements, may be negative; NULL: dense,
                           * row-major, as types of less than a byte must be */
  uint64_t byte_offset; /* of the first element, from the start of the memory */
  void *data;           /* memory of the host; NULL where there is a buffer */
  bp_device_buffer_t *buffer;
  /* The data are there when `ready` has reached `ready_value`; NULL: now. The
   * call waits for it, on the thread that submits unless the point is one of
   * the session itself, whose calls run in order. */
  bp_timeline_t *ready;
  uint64_t ready_value;
  /* Frees what the value owns; may be NULL. Called once, by whoever holds the
   * value, on any thread. */
  void (*release)(void *context);
  void *context;
  const struct bp_value_t *const *items; /* of a sequence */
  uint64_t item_count;
} bp_value_t;

/* A call, as bp_session_run, with values. outputs[i] says where output i goes:
 * memory with the right dtype and dims, BP_VALUE_ON_DEVICE, BP_VALUE_ON_HOST,
 * or absent. On a failure no output struct was changed. A buffer that is an
 * output overlaps no other value of the call. An output whose sizes data decide
 * is made by the call; its dims are there when the call is done. */
BP_API bp_status_t bp_session_run_values(bp_session_t *session,
                                         const bp_value_t *const *inputs,
                                         uint32_t input_count,
                                         bp_value_t *const *outputs,
                                         uint32_t output_count,
                                         bp_error_t *error);
/* Starts a call, as bp_session_submit. Outputs are filled when this returns,
 * and their data are there when bp_call_wait has; until then all memory of the
 * values is the call's, and none is released. Outputs that are made on the
 * device have a ready point and may be inputs of further calls at once. When
 * bp_call_wait fails, what the call has made is still to be released. A call
 * that copies results through the host is done when this returns. */
BP_API bp_status_t bp_session_submit_values(
    bp_session_t *session, const bp_value_t *const *inputs,
    uint32_t input_count, bp_value_t *const *outputs, uint32_t output_count,
    bp_call_t **out_call, bp_error_t *error);

/* ---- DLPack ---- */

struct DLManagedTensorVersioned;

/* The tensor as a value over the same memory, which `release` gives back to its
 * producer (https://dmlc.github.io/dlpack/latest/c_api.html, version 1). The
 * value takes the tensor over, and its dims and strides are those of the
 * tensor; on a failure the caller keeps it. Memory that the host does not see,
 * elements of several lanes or of a type that has no counterpart here, and
 * other major versions are refused by name. */
BP_API bp_status_t bp_value_from_dlpack(struct DLManagedTensorVersioned *tensor,
                                        bp_value_t *out_value,
                                        bp_error_t *error);
/* The reverse: the tensor's deleter calls `release`. The value is then the
 * tensor's; on a failure the caller keeps it. Data must be ready, and of memory
 * that the host sees. */
BP_API bp_status_t bp_value_to_dlpack(
    const bp_value_t *value, struct DLManagedTensorVersioned **out_tensor,
    bp_error_t *error);

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_VALUE_H */
