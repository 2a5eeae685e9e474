// SPDX-License-Identifier: Apache-2.0
//
// Convolution.h: a convolution of oneDNN without padding, over one image whose
// channels are its last axis, on the calling thread.
#ifndef BACKPLANE_X86_ONEDNN_CONVOLUTION_H
#define BACKPLANE_X86_ONEDNN_CONVOLUTION_H

#include "OneDnn.h"

#include <array>
#include <cstdint>

namespace backplane::onednn {

/// What a convolution is made for. `height` and `width` are those of the input.
struct ConvolutionSizes {
  int64_t channels, outputs, height, width, windowHeight, windowWidth, stride,
      dilation;
  auto operator<=>(const ConvolutionSizes &) const = default;

  int64_t outHeight() const {
    return (height - dilation * (windowHeight - 1) - 1) / stride + 1;
  }
  int64_t outWidth() const {
    return (width - dilation * (windowWidth - 1) - 1) / stride + 1;
  }
  /// Floats that packed weights may take.
  int64_t packedFloats() const;
};

/// Thread-safe; what a call needs of its own belongs to its thread.
class Convolution {
public:
  /// The convolution for these sizes, made once. Null: the library cannot.
  static const Convolution *find(const OneDnn &library,
                                 const ConvolutionSizes &sizes);
  ~Convolution();

  /// Brings w[outputs, channels, window…] into the library's layout.
  bool pack(const float *weights, float *packed) const;
  /// y[outHeight, outWidth, outputs] of x[height, width, channels].
  bool run(const float *x, const float *packed, float *y) const;

private:
  explicit Convolution(const OneDnn &library) : library_(library) {}
  bool make(const ConvolutionSizes &sizes);
  bool choose(const ConvolutionSizes &sizes, dnnl_memory_desc_t weights);
  int64_t floatsOf(const_dnnl_memory_desc_t desc) const {
    return int64_t(library_->sizeOf(desc) / sizeof(float));
  }

  const OneDnn &library_;
  dnnl_memory_desc_t plain_ = nullptr;
  dnnl_primitive_desc_t chosen_ = nullptr;
  dnnl_primitive_t primitive_ = nullptr;
  std::array<const_dnnl_memory_desc_t, 4> descs_ = {}; ///< of the arguments
};

} // namespace backplane::onednn

#endif // BACKPLANE_X86_ONEDNN_CONVOLUTION_H
