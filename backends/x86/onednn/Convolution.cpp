// SPDX-License-Identifier: Apache-2.0
#include "Convolution.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace backplane::onednn {
namespace {

constexpr int64_t maxPadding = 63; ///< channels that a layout may add to each

/// What a thread runs primitives with.
class Worker {
public:
  static Worker &of(const OneDnn &library) {
    thread_local Worker worker(library);
    return worker;
  }
  dnnl_stream_t stream() const { return stream_; }
  float *scratchpad(int64_t floats) {
    if (int64_t(scratchpad_.size()) < floats + 16)
      scratchpad_.resize(size_t(floats) + 16);
    auto start = reinterpret_cast<uintptr_t>(scratchpad_.data());
    size_t floatsToLine = (64 - start % 64) % 64 / sizeof(float);
    return &scratchpad_[floatsToLine];
  }

private:
  explicit Worker(const OneDnn &library) : library_(library) {
    if (library->createStream(&stream_, library.engine(),
                              dnnl_stream_default_flags))
      stream_ = nullptr;
  }
  ~Worker() { library_->destroyStream(stream_); }

  const OneDnn &library_;
  dnnl_stream_t stream_ = nullptr;
  std::vector<float> scratchpad_;
};

/// Descriptors and memory for one call, which free themselves.
class Arguments {
public:
  explicit Arguments(const OneDnn &library) : library_(library) {}
  ~Arguments() {
    for (size_t i = 0; i < count_; ++i)
      library_->destroyMemory(all_[i].memory);
  }
  Arguments(const Arguments &) = delete;
  Arguments &operator=(const Arguments &) = delete;

  void add(int argument, const_dnnl_memory_desc_t desc, const void *data) {
    dnnl_memory_t memory = nullptr;
    failed_ |= library_->createMemory(&memory, desc, library_.engine(),
                                      const_cast<void *>(data)) != dnnl_success;
    if (!failed_)
      all_[count_++] = {argument, memory};
  }
  bool execute(dnnl_primitive_t primitive, dnnl_stream_t stream) const {
    return !failed_ && stream &&
           !library_->execute(primitive, stream, int(count_), all_.data());
  }

private:
  const OneDnn &library_;
  std::array<dnnl_exec_arg_t, 4> all_ = {};
  size_t count_ = 0;
  bool failed_ = false;
};

/// A descriptor of floats that frees itself; `c` is null on failure.
struct Desc {
  Desc(const OneDnn &library, const std::vector<int64_t> &dims,
       dnnl_format_tag_t tag)
      : library(library) {
    if (library->createDesc(&c, int(dims.size()), dims.data(), dnnl_f32, tag))
      c = nullptr;
  }
  ~Desc() { library->destroyDesc(c); }
  Desc(const Desc &) = delete;
  Desc &operator=(const Desc &) = delete;

  const OneDnn &library;
  dnnl_memory_desc_t c = nullptr;
};

std::vector<int64_t> weightDims(const ConvolutionSizes &s) {
  return {s.outputs, s.channels, s.windowHeight, s.windowWidth};
}

} // namespace

int64_t ConvolutionSizes::packedFloats() const {
  return (outputs + maxPadding) * (channels + 15) * windowHeight * windowWidth;
}

Convolution::~Convolution() {
  library_->destroyPrimitive(primitive_);
  library_->destroyPrimitiveDesc(chosen_);
  library_->destroyDesc(plain_);
}

/// Chooses an implementation for weights of a layout, or of any.
bool Convolution::choose(const ConvolutionSizes &s,
                         dnnl_memory_desc_t weights) {
  const Desc x(library_, {1, s.channels, s.height, s.width}, dnnl_nhwc);
  const Desc y(library_, {1, s.outputs, s.outHeight(), s.outWidth()},
               dnnl_nhwc);
  dnnl_primitive_attr_t attr = nullptr;
  if (!x.c || !y.c || library_->createAttr(&attr))
    return false;
  const std::array<int64_t, 2> strides = {s.stride, s.stride}, none = {},
                               dilates = {s.dilation - 1, s.dilation - 1};
  bool made =
      !library_->setScratchpad(attr, dnnl_scratchpad_mode_user) &&
      !library_->createConvolution(
          &chosen_, library_.engine(), dnnl_forward_inference,
          dnnl_convolution_direct, x.c, weights, nullptr, y.c, strides.data(),
          dilates.data(), none.data(), none.data(), attr);
  library_->destroyAttr(attr);
  return made;
}

bool Convolution::make(const ConvolutionSizes &s) {
  OneThread one(library_);
  const auto dims = weightDims(s);
  const Desc any(library_, dims, dnnl_format_tag_any);
  if (!any.c ||
      library_->createDesc(&plain_, int(dims.size()), dims.data(), dnnl_f32,
                           dnnl_oihw) ||
      !choose(s, any.c) || library_->createPrimitive(&primitive_, chosen_))
    return false;
  descs_ = {library_->queryDesc(chosen_, dnnl_query_src_md, 0),
            library_->queryDesc(chosen_, dnnl_query_weights_md, 0),
            library_->queryDesc(chosen_, dnnl_query_dst_md, 0),
            library_->queryDesc(chosen_, dnnl_query_scratchpad_md, 0)};
  return floatsOf(descs_[1]) <= s.packedFloats();
}

const Convolution *Convolution::find(const OneDnn &library,
                                     const ConvolutionSizes &sizes) {
  static std::shared_mutex mutex;
  static std::map<ConvolutionSizes, std::unique_ptr<Convolution>> known;
  {
    std::shared_lock lock(mutex);
    if (auto found = known.find(sizes); found != known.end())
      return found->second.get();
  }
  std::unique_lock lock(mutex);
  auto [at, isNew] = known.try_emplace(sizes);
  if (!isNew)
    return at->second.get();
  std::unique_ptr<Convolution> made(new Convolution(library));
  if (made->make(sizes))
    at->second = std::move(made);
  return at->second.get();
}

bool Convolution::pack(const float *weights, float *packed) const {
  OneThread one(library_);
  dnnl_primitive_desc_t desc = nullptr;
  if (library_->createReorder(&desc, plain_, library_.engine(), descs_[1],
                              library_.engine(), nullptr))
    return false;
  dnnl_primitive_t reorder = nullptr;
  bool made = !library_->createPrimitive(&reorder, desc);
  library_->destroyPrimitiveDesc(desc);
  if (!made)
    return false;
  Arguments arguments(library_);
  arguments.add(DNNL_ARG_FROM, plain_, weights);
  arguments.add(DNNL_ARG_TO, descs_[1], packed);
  bool done = arguments.execute(reorder, Worker::of(library_).stream());
  library_->destroyPrimitive(reorder);
  return done;
}

bool Convolution::run(const float *x, const float *packed, float *y) const {
  OneThread one(library_);
  Worker &worker = Worker::of(library_);
  Arguments arguments(library_);
  arguments.add(DNNL_ARG_SRC, descs_[0], x);
  arguments.add(DNNL_ARG_WEIGHTS, descs_[1], packed);
  arguments.add(DNNL_ARG_DST, descs_[2], y);
  arguments.add(DNNL_ARG_SCRATCHPAD, descs_[3],
                worker.scratchpad(floatsOf(descs_[3])));
  return arguments.execute(primitive_, worker.stream());
}

} // namespace backplane::onednn
