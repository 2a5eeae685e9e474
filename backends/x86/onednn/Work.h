// SPDX-License-Identifier: Apache-2.0
//
// Work.h: the work-groups of the kernels, on the threads of the host. The
// parameters of each are in the order of the members here.
#ifndef BACKPLANE_X86_ONEDNN_WORK_H
#define BACKPLANE_X86_ONEDNN_WORK_H

#include "backplane/kernel.h"

#include <cstdint>

namespace backplane::onednn {

/// Of a convolution. Work-group (slice, chunk, image) has `rows` rows of
/// outputs / chunks channels.
struct ConvolutionCall {
  int64_t channels, height, width, outputs, windowHeight, windowWidth,
      outHeight, outWidth, stride, dilation, padding, rows, chunks, hasBias,
      hasResidual, relu;
};

/// Of a product of `rows` rows with weights[terms, outputs]. Work-group (tile,
/// chunk) has `linearRows` rows of outputs / chunks columns.
struct LinearCall {
  int64_t rows, terms, outputs, chunks, hasBias, relu;
};
inline constexpr int64_t linearRows = 64;

/// Bindings: w, packed. A work-group for each chunk.
void packConvolution(const bp_cpu_call_t *call, uint32_t chunk, uint32_t,
                     uint32_t);
/// Bindings: x, packed, bias, residual, y.
void convolution(const bp_cpu_call_t *call, uint32_t slice, uint32_t chunk,
                 uint32_t image);
/// Bindings: w, packed. A work-group for each chunk.
void packLinear(const bp_cpu_call_t *call, uint32_t chunk, uint32_t, uint32_t);
/// Bindings: x, packed, bias, y.
void linear(const bp_cpu_call_t *call, uint32_t tile, uint32_t chunk, uint32_t);

} // namespace backplane::onednn

#endif // BACKPLANE_X86_ONEDNN_WORK_H
