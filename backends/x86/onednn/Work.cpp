// SPDX-License-Identifier: Apache-2.0
#include "Work.h"
#include "Convolution.h"
#include "Transpose.h"

#include <algorithm>
#include <atomic>
#include <vector>

namespace backplane::onednn {
namespace {

/// The parameters and the library of a call with `bindings` bindings.
template <typename Call>
const Call &callOf(const bp_cpu_call_t *call, size_t bindings) {
  return *static_cast<const Call *>(call->bindings[bindings]);
}
const OneDnn &libraryOf(const bp_cpu_call_t *call, size_t bindings) {
  return *static_cast<const OneDnn *>(call->bindings[bindings + 1]);
}

/// The library failed: it had no memory.
void fail(const bp_cpu_call_t *call) {
  constexpr uint32_t outOfMemory = 255;
  std::atomic_ref<uint32_t>(*call->error) = BP_KERNEL_ERROR(outOfMemory, 0);
}

/// Floats of this thread, kept for its next work-group.
float *buffer(std::vector<float> &floats, int64_t count) {
  if (int64_t(floats.size()) < count)
    floats.resize(size_t(count));
  return floats.data();
}
thread_local std::vector<float> inputs, results;

ConvolutionSizes sizesOf(const ConvolutionCall &c) {
  auto covered = [&](int64_t count, int64_t window) {
    return (count - 1) * c.stride + c.dilation * (window - 1) + 1;
  };
  return {c.channels,
          c.outputs / c.chunks,
          covered(c.rows, c.windowHeight),
          covered(c.outWidth, c.windowWidth),
          c.windowHeight,
          c.windowWidth,
          c.stride,
          c.dilation};
}

ConvolutionSizes sizesOf(const LinearCall &c) {
  return {c.terms, c.outputs / c.chunks, 1, linearRows, 1, 1, 1, 1};
}

/// Puts rows of an image, from row `first` of the padded one, behind each
/// other with the channels last; what is not in the image is 0.
void takeRows(const ConvolutionCall &c, const ConvolutionSizes &sizes,
              const float *image, int64_t first, float *to) {
  const int64_t wide = sizes.width * c.channels;
  const int64_t kept = std::min(c.width, sizes.width - c.padding);
  for (int64_t r = 0; r < sizes.height; ++r) {
    float *row = to + r * wide;
    const int64_t y = first + r - c.padding;
    if (y < 0 || y >= c.height) {
      std::fill(row, row + wide, 0.0f);
      continue;
    }
    float *left = row + c.padding * c.channels;
    std::fill(row, left, 0.0f);
    transpose(image + y * c.width, c.height * c.width, left, c.channels,
              c.channels, kept);
    std::fill(left + kept * c.channels, row + wide, 0.0f);
  }
}

} // namespace

void packConvolution(const bp_cpu_call_t *call, uint32_t chunk, uint32_t,
                     uint32_t) {
  const auto &c = callOf<ConvolutionCall>(call, 2);
  const ConvolutionSizes sizes = sizesOf(c);
  const Convolution *made = Convolution::find(libraryOf(call, 2), sizes);
  const int64_t weights =
      sizes.outputs * c.channels * c.windowHeight * c.windowWidth;
  const float *from =
      static_cast<const float *>(call->bindings[0]) + chunk * weights;
  float *to =
      static_cast<float *>(call->bindings[1]) + chunk * sizes.packedFloats();
  if (!made || !made->pack(from, to))
    fail(call);
}

void convolution(const bp_cpu_call_t *call, uint32_t slice, uint32_t chunk,
                 uint32_t image) {
  const auto &c = callOf<ConvolutionCall>(call, 5);
  const ConvolutionSizes sizes = sizesOf(c);
  const Convolution *made = Convolution::find(libraryOf(call, 5), sizes);
  auto floats = [&](size_t binding) {
    return static_cast<float *>(call->bindings[binding]);
  };
  const int64_t first = int64_t(slice) * c.rows, area = c.height * c.width,
                plane = c.outHeight * c.outWidth;
  const int64_t rows = std::min(c.rows, c.outHeight - first);
  float *x = buffer(inputs, sizes.height * sizes.width * c.channels);
  float *y = buffer(results, c.rows * c.outWidth * sizes.outputs);
  takeRows(c, sizes, floats(0) + image * c.channels * area, first * c.stride,
           x);
  if (!made || !made->run(x, floats(1) + chunk * sizes.packedFloats(), y))
    return fail(call);
  const int64_t at =
      (image * c.outputs + chunk * sizes.outputs) * plane + first * c.outWidth;
  transpose(y, sizes.outputs, floats(4) + at, plane, rows * c.outWidth,
            sizes.outputs,
            {c.hasBias ? floats(2) + chunk * sizes.outputs : nullptr,
             c.hasResidual ? floats(3) + at : nullptr, c.relu != 0});
}

void packLinear(const bp_cpu_call_t *call, uint32_t chunk, uint32_t, uint32_t) {
  const auto &c = callOf<LinearCall>(call, 2);
  const ConvolutionSizes sizes = sizesOf(c);
  const Convolution *made = Convolution::find(libraryOf(call, 2), sizes);
  const float *from =
      static_cast<const float *>(call->bindings[0]) + chunk * sizes.outputs;
  float *turned = buffer(inputs, c.terms * sizes.outputs);
  transpose(from, c.outputs, turned, c.terms, c.terms, sizes.outputs);
  float *to =
      static_cast<float *>(call->bindings[1]) + chunk * sizes.packedFloats();
  if (!made || !made->pack(turned, to))
    fail(call);
}

void linear(const bp_cpu_call_t *call, uint32_t tile, uint32_t chunk,
            uint32_t) {
  const auto &c = callOf<LinearCall>(call, 4);
  const ConvolutionSizes sizes = sizesOf(c);
  const Convolution *made = Convolution::find(libraryOf(call, 4), sizes);
  auto floats = [&](size_t binding) {
    return static_cast<float *>(call->bindings[binding]);
  };
  const int64_t first = tile * linearRows;
  const int64_t rows = std::min(linearRows, c.rows - first);
  const float *x = floats(0) + first * c.terms;
  if (rows < linearRows) {
    float *padded = buffer(inputs, linearRows * c.terms);
    std::copy(x, x + rows * c.terms, padded);
    std::fill(padded + rows * c.terms, padded + linearRows * c.terms, 0.0f);
    x = padded;
  }
  float *y = buffer(results, linearRows * sizes.outputs);
  if (!made || !made->run(x, floats(1) + chunk * sizes.packedFloats(), y))
    return fail(call);
  const int64_t column = chunk * sizes.outputs;
  copy(y, sizes.outputs, floats(3) + first * c.outputs + column, c.outputs,
       rows, sizes.outputs,
       {c.hasBias ? floats(2) + column : nullptr, nullptr, c.relu != 0});
}

} // namespace backplane::onednn
