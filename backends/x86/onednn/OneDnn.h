// SPDX-License-Identifier: Apache-2.0
//
// OneDnn.h: oneDNN as it is opened at run time. Only its headers are needed to
// build; where the library is absent the set still describes its kernels.
#ifndef BACKPLANE_X86_ONEDNN_ONEDNN_H
#define BACKPLANE_X86_ONEDNN_ONEDNN_H

#include "backplane/cpp/Result.h"

#include <memory>
#include <oneapi/dnnl/dnnl.h>

namespace backplane::onednn {

/// The functions that are called.
struct Functions {
  decltype(&dnnl_version) version;
  decltype(&dnnl_engine_create) createEngine;
  decltype(&dnnl_stream_create) createStream;
  decltype(&dnnl_stream_destroy) destroyStream;
  decltype(&dnnl_memory_desc_create_with_tag) createDesc;
  decltype(&dnnl_memory_desc_destroy) destroyDesc;
  decltype(&dnnl_memory_desc_get_size) sizeOf;
  decltype(&dnnl_memory_create) createMemory;
  decltype(&dnnl_memory_destroy) destroyMemory;
  decltype(&dnnl_primitive_attr_create) createAttr;
  decltype(&dnnl_primitive_attr_destroy) destroyAttr;
  decltype(&dnnl_primitive_attr_set_scratchpad_mode) setScratchpad;
  decltype(&dnnl_convolution_forward_primitive_desc_create) createConvolution;
  decltype(&dnnl_reorder_primitive_desc_create) createReorder;
  decltype(&dnnl_primitive_desc_destroy) destroyPrimitiveDesc;
  decltype(&dnnl_primitive_desc_query_md) queryDesc;
  decltype(&dnnl_primitive_create) createPrimitive;
  decltype(&dnnl_primitive_destroy) destroyPrimitive;
  decltype(&dnnl_primitive_execute) execute;
  // Of the OpenMP that the library is linked with.
  int (*maxThreads)();
  void (*setThreads)(int);
};

/// The library and its engine for the CPU. It stays open while the process
/// lives: threads keep what belongs to it.
class OneDnn {
public:
  /// Opens the library of this name or path, once.
  static Result<const OneDnn *> open(const std::string &library);

  const Functions *operator->() const { return &functions_; }
  dnnl_engine_t engine() const { return engine_; }

private:
  Functions functions_ = {};
  dnnl_engine_t engine_ = nullptr;
};

/// While it lives, the library works on the calling thread alone: what it
/// starts and what it plans for is one thread.
class OneThread {
public:
  explicit OneThread(const OneDnn &library)
      : library_(library), before_(library->maxThreads()) {
    if (before_ != 1)
      library_->setThreads(1);
  }
  ~OneThread() {
    if (before_ != 1)
      library_->setThreads(before_);
  }
  OneThread(const OneThread &) = delete;
  OneThread &operator=(const OneThread &) = delete;

private:
  const OneDnn &library_;
  int before_;
};

} // namespace backplane::onednn

#endif // BACKPLANE_X86_ONEDNN_ONEDNN_H
