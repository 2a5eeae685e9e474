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

/// The functions that are called: their names here and in the library.
#define BP_ONEDNN_FUNCTIONS(X)                                                 \
  X(version, dnnl_version)                                                     \
  X(createEngine, dnnl_engine_create)                                          \
  X(createStream, dnnl_stream_create)                                          \
  X(destroyStream, dnnl_stream_destroy)                                        \
  X(createDesc, dnnl_memory_desc_create_with_tag)                              \
  X(destroyDesc, dnnl_memory_desc_destroy)                                     \
  X(sizeOf, dnnl_memory_desc_get_size)                                         \
  X(createMemory, dnnl_memory_create)                                          \
  X(destroyMemory, dnnl_memory_destroy)                                        \
  X(createAttr, dnnl_primitive_attr_create)                                    \
  X(destroyAttr, dnnl_primitive_attr_destroy)                                  \
  X(setScratchpad, dnnl_primitive_attr_set_scratchpad_mode)                    \
  X(createConvolution, dnnl_convolution_forward_primitive_desc_create)         \
  X(createReorder, dnnl_reorder_primitive_desc_create)                         \
  X(destroyPrimitiveDesc, dnnl_primitive_desc_destroy)                         \
  X(queryDesc, dnnl_primitive_desc_query_md)                                   \
  X(createPrimitive, dnnl_primitive_create)                                    \
  X(destroyPrimitive, dnnl_primitive_destroy)                                  \
  X(execute, dnnl_primitive_execute)

struct Functions {
#define BP_ONEDNN_MEMBER(member, name) decltype(&::name) member;
  BP_ONEDNN_FUNCTIONS(BP_ONEDNN_MEMBER)
#undef BP_ONEDNN_MEMBER
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
