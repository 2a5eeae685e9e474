// SPDX-License-Identifier: Apache-2.0
//
// EntryStream.cpp: entry points about streams, events and graphs.
#include "Context.h"

#include <algorithm>

namespace emulator {
namespace {

// Events and graphs by their handles; they may go while work still has them.
template <class T> class Registry {
public:
  T *add(std::shared_ptr<T> object) {
    std::scoped_lock lock(mutex);
    T *handle = object.get();
    all[handle] = std::move(object);
    return handle;
  }
  std::shared_ptr<T> find(const void *handle) {
    std::scoped_lock lock(mutex);
    auto found = all.find(static_cast<const T *>(handle));
    if (found == all.end())
      fail(CUDA_ERROR_INVALID_HANDLE, "");
    return found->second;
  }
  void remove(const void *handle) {
    std::scoped_lock lock(mutex);
    if (!all.erase(static_cast<const T *>(handle)))
      fail(CUDA_ERROR_INVALID_HANDLE, "");
  }

private:
  std::mutex mutex;
  std::map<const T *, std::shared_ptr<T>> all;
};

Registry<Event> &events() {
  static auto *all = new Registry<Event>;
  return *all;
}
Registry<Graph> &graphs() {
  static auto *all = new Registry<Graph>;
  return *all;
}
struct GraphExec {
  std::vector<Work> nodes;
};
Registry<GraphExec> &graphExecs() {
  static auto *all = new Registry<GraphExec>;
  return *all;
}

void makeStream(CUstream *out, unsigned flags, int priority) {
  Context &context = current();
  static std::atomic<uint64_t> count{0};
  auto made = std::make_shared<Stream>();
  made->context = &context;
  made->blocking = !(flags & CU_STREAM_NON_BLOCKING);
  made->priority = std::clamp(priority, -5, 0);
  made->id = ++count;
  std::scoped_lock lock(context.mutex);
  context.streams[made.get()] = made;
  *out = reinterpret_cast<CUstream>(made.get());
}

void refuseFailure(CUresult failure) {
  if (failure != CUDA_SUCCESS)
    fail(failure, "");
}

void record(const std::shared_ptr<Event> &event,
            const std::shared_ptr<Stream> &stream) {
  if (stream->capture) {
    event->capture = stream->capture;
    return;
  }
  event->capture = nullptr;
  uint64_t number = ++event->recorded;
  auto mark = [=] {
    event->milliseconds = now();
    event->failure = stream->failure.exchange(CUDA_SUCCESS);
    event->completed = number;
  };
  // Also behind a fault, so that nobody waits for it for ever.
  stream->context->executor.enqueue({stream, nullptr, mark});
}

void waitFor(const std::shared_ptr<Stream> &stream,
             const std::shared_ptr<Event> &event) {
  if (event->capture) {
    // The stream takes part in the capture.
    stream->capture = event->capture;
    return;
  }
  uint64_t number = event->recorded;
  stream->context->submit(
      stream, [] {}, [=] { return event->completed >= number; });
}

void refuseCapture(const Stream &stream) {
  if (!stream.capture)
    return;
  stream.capture->broken = true;
  fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
       "a stream that captures cannot be waited for");
}

template <class T> T *wordAt(CUdeviceptr address) {
  const Allocation *found = memory().find(address);
  if (!found || found->freed || !found->contains(address, sizeof(T)) ||
      address % sizeof(T) != 0)
    fail(CUDA_ERROR_INVALID_VALUE,
         "no word of memory is at the address: " + memory().describe(address));
  return reinterpret_cast<T *>(found->host + (address - found->base));
}

template <class T>
void waitValue(CUstream handle, CUdeviceptr address, T value, unsigned flags) {
  Context &context = current();
  auto stream = context.stream(handle);
  T *word = wordAt<T>(address);
  auto ready = [=] {
    T have = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    switch (flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return std::make_signed_t<T>(have - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return have == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (have & value) != 0;
    default:
      return (have | value) != T(~T(0));
    }
  };
  if (stream->capture)
    fail(CUDA_ERROR_NOT_SUPPORTED,
         "waiting for a value is not supported in a graph");
  context.submit(stream, [] {}, ready);
}

template <class T>
void writeValue(CUstream handle, CUdeviceptr address, T value) {
  Context &context = current();
  auto stream = context.stream(handle);
  T *word = wordAt<T>(address);
  context.submit(stream,
                 [=] { __atomic_store_n(word, value, __ATOMIC_RELEASE); });
}

} // namespace
} // namespace emulator

using namespace emulator;

extern "C" {

CUresult cuStreamCreate(CUstream *out, unsigned flags) {
  return guarded([&] { makeStream(out, flags, 0); });
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags,
                                    int priority) {
  return guarded([&] { makeStream(out, flags, priority); });
}

CUresult cuStreamDestroy(CUstream handle) {
  return guarded([&] {
    Context &context = current();
    auto stream = context.stream(handle);
    if (stream->isDefault)
      fail(CUDA_ERROR_INVALID_HANDLE, "");
    // Its work goes on; the list of work keeps it.
    std::scoped_lock lock(context.mutex);
    context.streams.erase(stream.get());
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return guarded([&] {
    Context &context = current();
    auto stream = context.stream(handle);
    refuseCapture(*stream);
    context.executor.wait(stream.get());
    current();
    refuseFailure(stream->failure.exchange(CUDA_SUCCESS));
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return guarded([&] {
    Context &context = current();
    if (!context.executor.idle(context.stream(handle).get()))
      fail(CUDA_ERROR_NOT_READY, "");
  });
}

CUresult cuStreamGetPriority(CUstream handle, int *priority) {
  return guarded([&] { *priority = current().stream(handle)->priority; });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned *flags) {
  return guarded([&] {
    *flags = current().stream(handle)->blocking ? CU_STREAM_DEFAULT
                                                : CU_STREAM_NON_BLOCKING;
  });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  return guarded([&] {
    Context &context = current();
    waitFor(context.stream(handle), events().find(event));
  });
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address,
                             cuuint32_t value, unsigned flags) {
  return guarded([&] { waitValue<uint32_t>(stream, address, value, flags); });
}
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address,
                             cuuint64_t value, unsigned flags) {
  return guarded([&] { waitValue<uint64_t>(stream, address, value, flags); });
}
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address,
                              cuuint32_t value, unsigned) {
  return guarded([&] { writeValue<uint32_t>(stream, address, value); });
}
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address,
                              cuuint64_t value, unsigned) {
  return guarded([&] { writeValue<uint64_t>(stream, address, value); });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
  return guarded([&] {
    Context &context = current();
    context.submit(context.stream(handle), [=] { function(data); });
  });
}

CUresult cuEventCreate(CUevent *out, unsigned flags) {
  return guarded([&] {
    current();
    auto made = std::make_shared<Event>();
    made->timing = !(flags & CU_EVENT_DISABLE_TIMING);
    *out = reinterpret_cast<CUevent>(events().add(std::move(made)));
  });
}

CUresult cuEventDestroy(CUevent event) {
  return guarded([&] { events().remove(event); });
}

CUresult cuEventRecord(CUevent event, CUstream handle) {
  return guarded([&] {
    Context &context = current();
    record(events().find(event), context.stream(handle));
  });
}

CUresult cuEventQuery(CUevent handle) {
  return guarded([&] {
    current();
    auto event = events().find(handle);
    if (event->completed < event->recorded)
      fail(CUDA_ERROR_NOT_READY, "");
    refuseFailure(event->failure);
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return guarded([&] {
    current();
    auto event = events().find(handle);
    uint64_t number = event->recorded;
    while (event->completed < number)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    current();
    refuseFailure(event->failure);
  });
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  return guarded([&] {
    auto from = events().find(start), to = events().find(end);
    if (!from->timing || !to->timing || !from->recorded || !to->recorded)
      fail(CUDA_ERROR_INVALID_HANDLE, "");
    if (from->completed < from->recorded || to->completed < to->recorded)
      fail(CUDA_ERROR_NOT_READY, "");
    *milliseconds = float(to->milliseconds - from->milliseconds);
  });
}

#ifdef cuEventElapsedTime
// Programs that were built with older headers ask for the plain name.
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *, CUevent, CUevent)
    __attribute__((alias("cuEventElapsedTime_v2")));
#endif

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode) {
  return guarded([&] {
    auto stream = current().stream(handle);
    if (stream->isDefault)
      fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
           "the default stream cannot capture");
    if (stream->capture)
      fail(CUDA_ERROR_ILLEGAL_STATE, "the stream captures already");
    stream->capture = std::make_shared<Graph>();
    stream->capturedFirst = true;
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *out) {
  return guarded([&] {
    Context &context = current();
    auto stream = context.stream(handle);
    *out = nullptr;
    if (!stream->capture || !stream->capturedFirst)
      fail(CUDA_ERROR_ILLEGAL_STATE, "the stream has begun no capture");
    std::shared_ptr<Graph> graph = stream->capture;
    std::scoped_lock lock(context.mutex);
    for (auto &[other, shared] : context.streams)
      if (shared->capture == graph)
        shared->capture = nullptr;
    stream->capturedFirst = false;
    if (graph->broken)
      fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "");
    *out = reinterpret_cast<CUgraph>(graphs().add(graph));
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  return guarded([&] {
    auto stream = current().stream(handle);
    *status = !stream->capture          ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream->capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                        : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return guarded([&] { graphs().remove(graph); });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  return guarded([&] {
    if (nodes)
      fail(CUDA_ERROR_NOT_SUPPORTED, "only the number of nodes is known");
    *count = graphs().find(graph)->nodes.size();
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph,
                                     unsigned long long) {
  return guarded([&] {
    current();
    auto made = std::make_shared<GraphExec>();
    made->nodes = graphs().find(graph)->nodes;
    *out = reinterpret_cast<CUgraphExec>(graphExecs().add(std::move(made)));
  });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return guarded([&] { graphExecs().remove(exec); });
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream) {
  return guarded([&] { graphExecs().find(exec); });
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  return guarded([&] {
    Context &context = current();
    auto exec = graphExecs().find(handle);
    context.submit(context.stream(stream), [exec] {
      // In the order of the capture, which is one that the edges allow.
      for (const Work &work : exec->nodes)
        work.run();
    });
  });
}

} // extern "C"
