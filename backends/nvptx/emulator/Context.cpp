// SPDX-License-Identifier: Apache-2.0
#include "Context.h"

#include <chrono>
#include <system_error>

namespace emulator {

const DeviceInfo kDevice[kDevices] = {
    {80, "emulated sm_80", 108, 166912, 167936, 2048, uint64_t(40) << 30},
    {90, "emulated sm_90", 132, 232448, 233472, 2048, uint64_t(80) << 30},
    {100, "emulated sm_100", 148, 232448, 233472, 2048, uint64_t(180) << 30},
    {120, "emulated sm_120", 170, 101376, 102400, 1536, uint64_t(32) << 30}};

Executor::~Executor() {
  {
    std::scoped_lock lock(mutex);
    ends = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void Executor::enqueue(Work work) {
  std::scoped_lock lock(mutex);
  pending.push_back(std::move(work));
  begin();
  changed.notify_all();
}

void Executor::start() {
  std::scoped_lock lock(mutex);
  begin();
}

void Executor::begin() {
  constexpr size_t streams = 64;
  held.reserve(streams); // so that next() needs no memory
  if (!thread.joinable())
    thread = std::thread([this] { loop(); });
}

bool Executor::has(const Stream *stream) const {
  if (!stream)
    return !pending.empty();
  for (const Work &work : pending)
    if (work.stream.get() == stream)
      return true;
  return false;
}

void Executor::wait(const Stream *stream) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !has(stream); });
}

bool Executor::idle(const Stream *stream) {
  std::scoped_lock lock(mutex);
  return !has(stream);
}

// The first piece that no earlier one holds back. `polls`: one waits for
// something that nobody announces.
std::list<Work>::iterator Executor::next(bool &polls) {
  held.clear();
  bool blockingHeld = false, defaultHeld = false;
  for (auto at = pending.begin(); at != pending.end(); ++at) {
    const Stream *stream = at->stream.get();
    bool isHeld = stream->isDefault  ? blockingHeld || defaultHeld
                  : stream->blocking ? defaultHeld
                                     : false;
    for (const Stream *other : held)
      isHeld |= other == stream;
    if (!isHeld) {
      if (!at->ready || stopped != CUDA_SUCCESS || at->ready())
        return at;
      polls = true;
    }
    held.push_back(stream);
    defaultHeld |= stream->isDefault;
    blockingHeld |= stream->blocking && !stream->isDefault;
  }
  return pending.end();
}

void Executor::loop() {
  std::unique_lock lock(mutex);
  for (;;) {
    bool polls = false;
    auto at = next(polls);
    if (at == pending.end()) {
      if (ends)
        return;
      if (polls)
        changed.wait_for(lock, std::chrono::microseconds(100));
      else
        changed.wait(lock);
      continue;
    }
    std::function<void()> run = std::move(at->run);
    std::shared_ptr<Stream> stream = at->stream;
    lock.unlock();
    try {
      run();
    } catch (const Error &error) {
      report(error.text);
      stopped = error.code;
    } catch (const std::bad_alloc &) {
      // No fault of the kernel: it can be tried again. A text would need
      // memory.
      stream->failure = CUDA_ERROR_OUT_OF_MEMORY;
    }
    run = nullptr;
    lock.lock();
    pending.erase(at);
    changed.notify_all();
  }
}

Context::Context(int device) : device(device) {
  stream0 = std::make_shared<Stream>();
  stream0->context = this;
  stream0->isDefault = true;
}

std::shared_ptr<Stream> Context::stream(CUstream handle) {
  auto number = reinterpret_cast<uintptr_t>(handle);
  // 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD.
  if (number <= 2)
    return stream0;
  std::scoped_lock lock(mutex);
  auto found = streams.find(reinterpret_cast<Stream *>(handle));
  if (found == streams.end())
    fail(CUDA_ERROR_INVALID_HANDLE, "the stream is none of this context");
  return found->second;
}

void Context::submit(const std::shared_ptr<Stream> &stream,
                     std::function<void()> run, std::function<bool()> ready) {
  Work work{stream, std::move(ready), std::move(run)};
  if (stream->capture) {
    stream->capture->nodes.push_back(std::move(work));
    return;
  }
  // What follows a fault is not executed.
  auto body = std::move(work.run);
  work.run = [this, stream, body = std::move(body)] {
    if (executor.error() == CUDA_SUCCESS && stream->failure == CUDA_SUCCESS)
      body();
  };
  executor.enqueue(std::move(work));
}

Module::~Module() {
  for (auto &[name, symbol] : symbols)
    memory().release(symbol.address);
}

Context &primary(int device) {
  // Never destroyed: callers may use them while the process ends.
  static auto *all = [] {
    auto *made = new std::vector<std::unique_ptr<Context>>;
    for (int i = 0; i < kDevices; ++i)
      made->push_back(std::make_unique<Context>(i));
    return made;
  }();
  return *(*all)[size_t(device)];
}

double now() {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point start = Clock::now();
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

CUresult guarded(const std::function<void()> &body) {
  try {
    body();
    return CUDA_SUCCESS;
  } catch (const Error &error) {
    // Without a text the code says all.
    if (!error.text.empty())
      report(error.text);
    return error.code;
  } catch (const std::bad_alloc &) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::system_error &) {
    return CUDA_ERROR_OPERATING_SYSTEM; // no thread can be started
  }
}

} // namespace emulator
