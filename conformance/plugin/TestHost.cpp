// SPDX-License-Identifier: Apache-2.0
#include "TestHost.h"
#include "hal/core/PluginCall.h"
#include "sdk/graph/GraphTable.h"
#include "sdk/support/Error.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

namespace backplane::checks {

static constexpr uint64_t guardBytes = 64;
static constexpr uint8_t guardByte = 0xB7;
/// Fresh memory is no zeros, so that a plug-in that counts on them is found.
static constexpr uint8_t freshByte = 0xCD;

struct TestHost::Storage {
  bp_host_t table;
  uint8_t tail[4096];
};

TestHost::TestHost(const HostPlan &plan)
    : plan_(plan), cpu_(CpuInfo::detect()), cpuTable_(cpu_.c()),
      storage_(new Storage) {
  if (plan_.cpuFeatures != "*")
    cpuTable_.features = toC(plan_.cpuFeatures);
  if (plan_.order == LoopOrder::Pool)
    pool_ = std::make_unique<ThreadPool>(plan_.workers);
  std::memset(storage_->tail, 0xA5, sizeof(storage_->tail));
  fillTable(storage_->table);
  table_ = &storage_->table;
}

TestHost::~TestHost() { finishPosts(); }

void TestHost::fillTable(bp_host_t &table) {
  table = {BP_HEADER(bp_host_t)};
  table.header.size += plan_.tailBytes;
  table.self = this;
  table.minor = plan_.minor;
  table.cpu = &cpuTable_;
  table.error_set = [](void *self, bp_error_t *error, bp_status_t status,
                       bp_string_t message) {
    of(self).use("error_set");
    return setError(error, Status(status, std::string(view(message))));
  };
  table.log = [](void *self, uint32_t, bp_string_t) { of(self).use("log"); };
  table.memory_allocate = [](void *self, uint64_t size, uint64_t alignment) {
    of(self).use("memory_allocate");
    return of(self).allocate(size, alignment);
  };
  table.memory_free = [](void *self, void *pointer) {
    of(self).use("memory_free");
    of(self).release(pointer);
  };
  table.worker_count = [](void *self) { return of(self).plan_.workers; };
  table.parallel_for = [](void *self, uint64_t count, bp_loop_body_t body,
                          void *context) {
    of(self).use("parallel_for");
    of(self).loop(count, body, context);
  };
  table.get_extension = [](void *self, bp_string_t name,
                           uint32_t version) -> const void * {
    of(self).use("get_extension");
    bool known = view(name) == "backplane.graph" && version == 0;
    return known && of(self).plan_.graphTable ? graphTable() : nullptr;
  };
  table.post = [](void *self, void (*task)(void *), void *context) {
    of(self).use("post");
    of(self).post(task, context);
  };
}

void TestHost::complain(std::string text) {
  if (complaint_.empty())
    complaint_ = std::move(text);
}

void TestHost::use(const char *what) {
  std::lock_guard lock(mutex_);
  if (closed_)
    complain(std::string("the plug-in called ") + what + " after shutdown");
}

bool TestHost::refusesNow() {
  if (untilFailure_ == UINT64_MAX)
    return false;
  if (untilFailure_ > 0) {
    --untilFailure_;
    return false;
  }
  if (!onwards_)
    untilFailure_ = UINT64_MAX;
  ++refusals_;
  return true;
}

void *TestHost::allocate(uint64_t size, uint64_t alignment) {
  constexpr uint64_t most = uint64_t(1) << 47;
  std::lock_guard lock(mutex_);
  if (refusesNow() || size > most)
    return nullptr;
  if (alignment == 0 || (alignment & (alignment - 1))) {
    complain("memory_allocate was asked for an alignment of " +
             std::to_string(alignment) + ", which is no power of two");
    return nullptr;
  }
  uint64_t start = std::max<uint64_t>(alignment, 16);
  Block block;
  block.memory.reset(new (std::nothrow) uint8_t[size + start + 2 * guardBytes]);
  if (!block.memory)
    return nullptr;
  auto first = reinterpret_cast<uintptr_t>(block.memory.get()) + guardBytes;
  block.data = reinterpret_cast<uint8_t *>((first + start - 1) & ~(start - 1));
  block.size = size;
  std::memset(block.data - guardBytes, guardByte, guardBytes);
  std::memset(block.data, freshByte, std::min<uint64_t>(size, 1u << 20));
  std::memset(block.data + size, guardByte, guardBytes);
  ++allocations_;
  bytes_ += size;
  uint8_t *data = block.data;
  blocks_[data] = std::move(block);
  return data;
}

void TestHost::checkGuards(const Block &block) {
  auto damaged = [](const uint8_t *guard) {
    return std::any_of(guard, guard + guardBytes,
                       [](uint8_t byte) { return byte != guardByte; });
  };
  if (damaged(block.data - guardBytes) || damaged(block.data + block.size))
    complain("the plug-in wrote beside a block of " +
             std::to_string(block.size) + " bytes that the host gave it");
}

void TestHost::release(void *pointer) {
  std::lock_guard lock(mutex_);
  if (!pointer)
    return;
  auto found = blocks_.find(static_cast<uint8_t *>(pointer));
  if (found == blocks_.end())
    return complain("memory_free was given memory that is not allocated");
  checkGuards(found->second);
  bytes_ -= found->second.size;
  blocks_.erase(found);
}

void TestHost::loop(uint64_t count, bp_loop_body_t body, void *context) {
  if (pool_)
    return pool_->parallelFor(count, body, context);
  // A step that shares no factor with `count` visits every index once.
  uint64_t step = 1;
  if (plan_.order == LoopOrder::Shuffled)
    for (step = count / 2 + 1; std::__gcd(step, count) > 1;)
      ++step;
  PluginCall call("a body of parallel_for");
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t index =
        plan_.order == LoopOrder::Backward ? count - 1 - i : i * step % count;
    body(context, index, uint32_t(i % plan_.workers));
  }
}

void TestHost::post(void (*task)(void *), void *context) {
  std::lock_guard lock(mutex_);
  tasks_.push_back([task, context] {
    PluginCall call("a posted task");
    task(context);
  });
  if (posting_)
    return;
  posting_ = true;
  if (poster_.joinable())
    poster_.join(); // it has left runTasks
  poster_ = std::thread([this] { runTasks(); });
}

void TestHost::runTasks() {
  std::unique_lock lock(mutex_);
  while (!tasks_.empty()) {
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(plan_.postDelayMs));
    task();
    lock.lock();
  }
  posting_ = false;
  tasksChanged_.notify_all();
}

void TestHost::finishPosts() {
  std::unique_lock lock(mutex_);
  tasksChanged_.wait(lock, [&] { return !posting_; });
  std::thread poster = std::move(poster_);
  lock.unlock();
  if (poster.joinable())
    poster.join();
}

void TestHost::failAfter(uint64_t count, bool onwards) {
  std::lock_guard lock(mutex_);
  untilFailure_ = count;
  onwards_ = onwards;
  refusals_ = 0;
}

void TestHost::failNever() {
  std::lock_guard lock(mutex_);
  untilFailure_ = UINT64_MAX;
}

bool TestHost::hasFailed() const {
  std::lock_guard lock(mutex_);
  return refusals_ > 0;
}

uint64_t TestHost::liveBlocks() const {
  std::lock_guard lock(mutex_);
  return blocks_.size();
}

uint64_t TestHost::liveBytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

uint64_t TestHost::allocations() const {
  std::lock_guard lock(mutex_);
  return allocations_;
}

void TestHost::close() {
  finishPosts();
  std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto &[data, block] : blocks_)
    checkGuards(block);
}

std::string TestHost::complaint() const {
  std::lock_guard lock(mutex_);
  return complaint_;
}

} // namespace backplane::checks
