// SPDX-License-Identifier: Apache-2.0
#include "hal/core/ThreadPool.h"
#include "hal/core/PluginCall.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <linux/futex.h>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace backplane {

namespace {

/// How long an idle worker watches for the next loop before it sleeps.
constexpr auto spinTime = std::chrono::microseconds(60);
/// Polls between two looks at the clock.
constexpr int pollsPerLook = 64;
/// Polls for stragglers before the processor is given to somebody else.
constexpr int pollsBeforeYield = 4096;
/// Set in the gate while workers may enter the loop; the rest counts them.
constexpr uint32_t gateOpen = 0x80000000u;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  __asm__ volatile("yield");
#endif
}

uint32_t coreCount() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
    return uint32_t(CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE,
          expected, nullptr, nullptr, 0);
}

void futexWake(std::atomic<uint32_t> &word, uint64_t count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE,
          int(std::min<uint64_t>(count, INT32_MAX)), nullptr, nullptr, 0);
}

/// The loop that this thread is in, for loops inside loops.
struct Position {
  const void *pool = nullptr;
  uint32_t worker = 0;
};
thread_local Position position;

/// Marks this thread as a worker of a pool while it lives.
class Enter {
public:
  Enter(const void *pool, uint32_t worker) : outer_(position) {
    position = {pool, worker};
  }
  ~Enter() { position = outer_; }
  Enter(const Enter &) = delete;
  Enter &operator=(const Enter &) = delete;

private:
  Position outer_;
};

constexpr const char *loopBody = "a body of parallel_for";

void runAlone(uint64_t count, bp_loop_body_t body, void *context,
              uint32_t worker) {
  PluginCall call(loopBody);
  for (uint64_t i = 0; i < count; ++i) {
    body(context, i, worker);
    call.renew();
  }
}

/// What is left of a worker's share of a loop.
struct alignas(64) Share {
  std::atomic<uint64_t> next{0};
  uint64_t end = 0;
};

} // namespace

struct ThreadPool::State {
  explicit State(uint32_t count) : workers(count), shares(count) {}

  const uint32_t workers;

  // Written by the caller of a loop while the gate is shut and empty.
  bp_loop_body_t body = nullptr;
  void *context = nullptr;
  uint64_t count = 0;
  std::vector<Share> shares; ///< of each worker

  /// Counts loops; workers watch it and sleep on it.
  alignas(64) std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> sleepers{0};
  alignas(64) std::atomic<uint32_t> gate{0};
  alignas(64) std::atomic<bool> busy{false};
  std::atomic<bool> stopping{false};
  std::once_flag started;
  std::vector<std::thread> threads;

  std::mutex jobMutex;
  std::condition_variable jobPosted;
  std::deque<std::function<void()>> jobs;
  std::thread jobThread;
  bool jobsEnding = false;

  /// Workers that have a share.
  uint64_t parts() const { return std::min<uint64_t>(count, workers); }
  void startWorkers();
  void workerMain(uint32_t worker);
  uint32_t waitForEpoch(uint32_t seen);
  void divide();
  void work(uint32_t worker);
  void workOn(Share &share, uint32_t worker, PluginCall &call);
  void runShared();
  void jobMain();
  bool takeJob(std::function<void()> &job);
};

void ThreadPool::State::startWorkers() {
  threads.reserve(workers - 1);
  for (uint32_t worker = 1; worker < workers; ++worker) {
    try {
      threads.emplace_back([this, worker] { workerMain(worker); });
    } catch (const std::system_error &) {
      return; // The workers that started and the caller do the work.
    }
  }
}

/// Gives the first epoch that differs from `seen`.
uint32_t ThreadPool::State::waitForEpoch(uint32_t seen) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point end = Clock::now() + spinTime;
  do {
    for (int i = 0; i < pollsPerLook; ++i) {
      uint32_t now = epoch.load(std::memory_order_acquire);
      if (now != seen)
        return now;
      relax();
    }
  } while (Clock::now() < end);
  sleepers.fetch_add(1);
  uint32_t now;
  while ((now = epoch.load()) == seen)
    futexWait(epoch, seen);
  sleepers.fetch_sub(1);
  return now;
}

void ThreadPool::State::workerMain(uint32_t worker) {
  pthread_setname_np(pthread_self(),
                     ("bp-worker-" + std::to_string(worker)).c_str());
  Enter enter(this, worker);
  uint32_t seen = 0;
  while (true) {
    seen = waitForEpoch(seen);
    if (stopping.load())
      return;
    if (gate.fetch_add(1, std::memory_order_acquire) & gateOpen)
      work(worker);
    gate.fetch_sub(1, std::memory_order_release);
  }
}

/// Divides the loop: in loops of like size a worker has like indices, so that
/// it finds in its caches what it wrote there in the loop before.
void ThreadPool::State::divide() {
  uint64_t each = count / workers, more = count % workers, begin = 0;
  for (uint64_t worker = 0; worker < parts(); ++worker) {
    shares[worker].next.store(begin, std::memory_order_relaxed);
    begin += each + (worker < more ? 1 : 0);
    shares[worker].end = begin;
  }
}

/// Takes pieces of a share, large ones first, until none is left.
void ThreadPool::State::workOn(Share &share, uint32_t worker,
                               PluginCall &call) {
  uint64_t begin = share.next.load(std::memory_order_relaxed);
  while (begin < share.end) {
    uint64_t piece = std::max<uint64_t>(1, (share.end - begin) / 2);
    if (!share.next.compare_exchange_weak(begin, begin + piece,
                                          std::memory_order_relaxed))
      continue;
    for (uint64_t i = begin; i < begin + piece; ++i) {
      body(context, i, worker);
      call.renew();
    }
    begin = share.next.load(std::memory_order_relaxed);
  }
}

/// Works on the worker's own share, then on what is left of the others.
void ThreadPool::State::work(uint32_t worker) {
  PluginCall call(loopBody);
  for (uint64_t i = 0; i < parts(); ++i)
    workOn(shares[(worker + i) % parts()], worker, call);
}

/// Opens the gate, takes part as worker 0, and waits for those that entered.
/// Workers that come too late find the gate shut and are not waited for.
void ThreadPool::State::runShared() {
  divide();
  gate.fetch_or(gateOpen, std::memory_order_release);
  epoch.fetch_add(1);
  if (uint32_t asleep = sleepers.load())
    futexWake(epoch, std::min<uint64_t>(asleep, count - 1));
  {
    Enter enter(this, 0);
    work(0);
  }
  gate.fetch_and(~gateOpen);
  for (int polls = 0; gate.load(std::memory_order_acquire) != 0; ++polls) {
    if (polls < pollsBeforeYield)
      relax();
    else
      sched_yield();
  }
}

bool ThreadPool::State::takeJob(std::function<void()> &job) {
  std::lock_guard lock(jobMutex);
  if (jobs.empty())
    return false;
  job = std::move(jobs.front());
  jobs.pop_front();
  return true;
}

void ThreadPool::State::jobMain() {
  pthread_setname_np(pthread_self(), "bp-jobs");
  std::function<void()> job;
  while (true) {
    while (takeJob(job)) {
      job();
      job = nullptr;
    }
    std::unique_lock lock(jobMutex);
    jobPosted.wait(lock, [&] { return !jobs.empty() || jobsEnding; });
    if (jobs.empty())
      return;
  }
}

ThreadPool::ThreadPool(uint32_t threads)
    : state_(std::make_shared<State>(threads ? threads : coreCount())) {}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(state_->jobMutex);
    state_->jobsEnding = true;
  }
  state_->jobPosted.notify_all();
  if (state_->jobThread.get_id() == std::this_thread::get_id())
    state_->jobThread.detach();
  else if (state_->jobThread.joinable())
    state_->jobThread.join();
  state_->stopping = true;
  state_->epoch.fetch_add(1);
  futexWake(state_->epoch, INT32_MAX);
  for (std::thread &thread : state_->threads)
    thread.join();
}

uint32_t ThreadPool::workerCount() const { return state_->workers; }

void ThreadPool::parallelFor(uint64_t count, bp_loop_body_t body,
                             void *context) {
  State &state = *state_;
  if (position.pool == &state)
    return runAlone(count, body, context, position.worker);
  if (count <= 1 || state.workers == 1 ||
      state.busy.exchange(true, std::memory_order_acquire)) {
    Enter enter(&state, 0);
    return runAlone(count, body, context, 0);
  }
  std::call_once(state.started, [&] { state.startWorkers(); });
  state.body = body;
  state.context = context;
  state.count = count;
  state.runShared();
  state.busy.store(false, std::memory_order_release);
}

void ThreadPool::post(std::function<void()> job) {
  State &state = *state_;
  {
    std::lock_guard lock(state.jobMutex);
    state.jobs.push_back(std::move(job));
    try {
      if (!state.jobThread.joinable())
        state.jobThread = std::thread([kept = state_] { kept->jobMain(); });
      state.jobPosted.notify_one();
      return;
    } catch (const std::system_error &) {
      // No thread is to be had: this one does the work.
    }
  }
  help();
}

bool ThreadPool::help() {
  std::function<void()> job;
  if (!state_->takeJob(job))
    return false;
  job();
  return true;
}

} // namespace backplane
