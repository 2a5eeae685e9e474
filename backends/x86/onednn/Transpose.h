// SPDX-License-Identifier: Apache-2.0
//
// Transpose.h: between planes of channels and channels as the last axis.
#ifndef BACKPLANE_X86_ONEDNN_TRANSPOSE_H
#define BACKPLANE_X86_ONEDNN_TRANSPOSE_H

#include <cstdint>

namespace backplane::onednn {

/// What is done to an element of the result: `bias` may be null, `residual`
/// has the layout of the result and may be null.
struct Epilogue {
  const float *bias = nullptr;
  const float *residual = nullptr;
  bool relu = false;
};

/// y[j * yStep + i] = x[i * xStep + j] for `rows` i and `columns` j.
void transpose(const float *x, int64_t xStep, float *y, int64_t yStep,
               int64_t rows, int64_t columns);

/// The same with an epilogue: `j` is the channel, residual[j * yStep + i]
/// belongs to y[j * yStep + i].
void transpose(const float *x, int64_t xStep, float *y, int64_t yStep,
               int64_t rows, int64_t columns, const Epilogue &epilogue);

/// y[i * yStep + j] = x[i * xStep + j], with an epilogue; `j` is the channel.
void copy(const float *x, int64_t xStep, float *y, int64_t yStep, int64_t rows,
          int64_t columns, const Epilogue &epilogue);

} // namespace backplane::onednn

#endif // BACKPLANE_X86_ONEDNN_TRANSPOSE_H
