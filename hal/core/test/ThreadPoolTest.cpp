// SPDX-License-Identifier: Apache-2.0
#include "hal/core/ThreadPool.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace backplane;

namespace {

/// Counts how often each index ran, and workers that were used twice at once.
struct Loop {
  Loop(uint64_t count, uint32_t workers) : runs(count), busy(workers) {}
  std::vector<std::atomic<int>> runs;
  std::vector<std::atomic<int>> busy;
  std::atomic<int> clashes{0};

  static void body(void *context, uint64_t index, uint32_t worker) {
    Loop &loop = *static_cast<Loop *>(context);
    if (worker >= loop.busy.size() || loop.busy[worker].fetch_add(1))
      ++loop.clashes;
    ++loop.runs[index];
    if (worker < loop.busy.size())
      loop.busy[worker].fetch_sub(1);
  }
};

void checkLoop(ThreadPool &pool, uint64_t count) {
  Loop loop(count, pool.workerCount());
  pool.parallelFor(count, Loop::body, &loop);
  EXPECT_EQ(loop.clashes, 0);
  for (uint64_t i = 0; i < count; ++i)
    ASSERT_EQ(loop.runs[i], 1) << "index " << i << " of " << count;
}

TEST(ThreadPool, RunsEveryIndexOnce) {
  for (uint32_t threads : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.workerCount(), threads);
    for (uint64_t count : {0, 1, 2, 3, 7, 64, 1000})
      checkLoop(pool, count);
  }
}

TEST(ThreadPool, AWorkerHasLikeIndicesInLikeLoops) {
  constexpr uint32_t workers = 3;
  ThreadPool pool(workers);
  struct Context {
    std::atomic<uint32_t> arrived{0};
    std::atomic<uint64_t> indexOf[workers] = {};
  };
  // Nobody is done before all have begun, so that none takes another's share.
  auto body = [](void *pointer, uint64_t index, uint32_t worker) {
    Context &context = *static_cast<Context *>(pointer);
    context.indexOf[worker] = index + 1;
    ++context.arrived;
    while (context.arrived < workers)
      std::this_thread::yield();
  };
  for (int loop = 0; loop < 100; ++loop) {
    Context context;
    pool.parallelFor(workers, body, &context);
    for (uint32_t worker = 0; worker < workers; ++worker)
      ASSERT_EQ(context.indexOf[worker], worker + 1);
  }
}

TEST(ThreadPool, SurvivesManyShortLoops) {
  ThreadPool pool(4);
  std::atomic<uint64_t> sum{0};
  auto body = [](void *context, uint64_t index, uint32_t) {
    *static_cast<std::atomic<uint64_t> *>(context) += index + 1;
  };
  constexpr uint64_t loops = 20000;
  for (uint64_t i = 0; i < loops; ++i) {
    pool.parallelFor(4, body, &sum);
    ASSERT_EQ(sum, (i + 1) * 10);
  }
}

TEST(ThreadPool, WorkersWakeAfterAPause) {
  ThreadPool pool(2);
  for (int i = 0; i < 20; ++i) {
    checkLoop(pool, 50);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST(ThreadPool, NestedLoopsRunOnTheSameWorker) {
  ThreadPool pool(4);
  struct Context {
    ThreadPool &pool;
    std::atomic<int> inner{0};
    std::atomic<int> strange{0};
  } context{pool};
  auto outer = [](void *pointer, uint64_t, uint32_t worker) {
    Context &context = *static_cast<Context *>(pointer);
    struct Inner {
      Context &context;
      uint32_t worker;
      std::thread::id thread;
    } inner{context, worker, std::this_thread::get_id()};
    context.pool.parallelFor(
        10,
        [](void *pointer, uint64_t, uint32_t worker) {
          Inner &inner = *static_cast<Inner *>(pointer);
          ++inner.context.inner;
          if (worker != inner.worker ||
              std::this_thread::get_id() != inner.thread)
            ++inner.context.strange;
        },
        &inner);
  };
  pool.parallelFor(100, outer, &context);
  EXPECT_EQ(context.inner, 1000);
  EXPECT_EQ(context.strange, 0);
}

TEST(ThreadPool, ServesManyCallersAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        checkLoop(pool, 30);
    });
  for (std::thread &caller : callers)
    caller.join();
}

TEST(ThreadPool, RunsJobsInOrderEachOnce) {
  std::vector<int> order;
  {
    ThreadPool pool(2);
    for (int i = 0; i < 100; ++i)
      pool.post([&order, i] { order.push_back(i); });
  }
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(order[i], i);
}

TEST(ThreadPool, WaitersHelpWithJobs) {
  std::atomic<bool> started{false}, release{false};
  ThreadPool pool(1);
  pool.post([&] {
    started = true;
    while (!release)
      std::this_thread::yield();
  });
  while (!started)
    std::this_thread::yield();
  std::thread::id helper;
  pool.post([&] { helper = std::this_thread::get_id(); });
  EXPECT_TRUE(pool.help());
  EXPECT_EQ(helper, std::this_thread::get_id());
  EXPECT_FALSE(pool.help());
  release = true;
}

TEST(ThreadPool, JobsMayRunLoops) {
  std::atomic<bool> done{false};
  ThreadPool pool(2);
  pool.post([&] {
    checkLoop(pool, 100);
    done = true;
  });
  while (!done)
    if (!pool.help())
      std::this_thread::yield();
}

TEST(ThreadPool, AJobMayDropTheLastReference) {
  std::atomic<bool> done{false}, dropped{false};
  auto pool = std::make_shared<ThreadPool>(2);
  checkLoop(*pool, 10);
  pool->post([&done, &dropped, kept = pool]() mutable {
    while (!dropped)
      std::this_thread::yield();
    kept.reset();
    done = true;
  });
  pool.reset();
  dropped = true;
  while (!done)
    std::this_thread::yield();
}

} // namespace
