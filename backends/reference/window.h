/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h: what convolutions and pools read for one window element, as a row
 * over output positions.
 */
#ifndef REF_WINDOW_H
#define REF_WINDOW_H

#include "ref.h"

/* The spatial side of conv, conv_transpose and pool. Arrays have one entry per
 * spatial axis; output coordinate y and window element t meet at input
 * coordinate y * stride + t * dilation - low, or for a transposed window at
 * (y + low - t * dilation) / stride where that is whole. */
typedef struct ref_window_t {
  uint32_t rank;
  int transposed;
  const int64_t *size, *in, *out, *strides, *dilations, *low;
} ref_window_t;

/* Takes the attributes of `op`; `size` is the window. */
void ref_window_init(ref_window_t *window, const ref_op_t *op,
                     const int64_t *size);

/* Loads the inputs that window element `tap` (row-major) meets at the output
 * positions start .. start + count (row-major) of the plane of x at `plane`.
 * Those outside are `fill`; `present`, if given, says which are inside. */
void ref_window_load(const ref_window_t *window, const ref_tensor_t *x,
                     int64_t plane, int64_t tap, int64_t start, int64_t count,
                     ref_word_t fill, ref_word_t *row, uint8_t *present);

#endif /* REF_WINDOW_H */
