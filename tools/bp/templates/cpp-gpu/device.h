// SPDX-License-Identifier: Apache-2.0
//
// device.h: the device as the host sees it, whose members driver.cpp defines.
// It is a GPU on a bus: memory of its own, which kernels see and the host does
// not, and queues that work while the host goes on.
#ifndef DEVICE_H
#define DEVICE_H

#include <backplane/cpp/Driver.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

using namespace backplane;
using namespace backplane::plugin;

inline constexpr std::string_view deviceId = "gpu0";

struct Instruction;

class Device {
public:
  struct Buffer {
    HostMemory bytes; // memory of the device, or pinned memory of the host
    bool isStaging;
  };
  struct Executable {
    const Instruction *instruction;
  };
  // Commands that stay: what a graph or a command list of the device is.
  class CommandBuffer {
  public:
    static Result<std::unique_ptr<CommandBuffer>> copyOf(Commands commands);
    Commands commands() const { return {list_.get(), count_}; }

  private:
    struct Free {
      void operator()(bp_header_t **list) const;
    };
    std::unique_ptr<bp_header_t *[], Free> list_;
    size_t count_ = 0;
  };
  class Queue;

  explicit Device(Host host) : host_(host) {}
  Result<std::unique_ptr<Buffer>> allocate(uint32_t space, uint64_t size,
                                           uint64_t alignment);
  Status write(Buffer &buffer, uint64_t offset,
               std::span<const std::byte> data);
  Status read(Buffer &buffer, uint64_t offset, std::span<std::byte> data);
  Result<void *> map(Buffer &buffer);
  Result<std::unique_ptr<Executable>> load(const bp_executable_info_t &info);
  Result<std::unique_ptr<CommandBuffer>> record(Commands commands);
  Result<std::unique_ptr<Queue>> createQueue(uint32_t queueClass);

private:
  Host host_;
};

// A stream: work in order, done by the thread that stands for the device's
// command processor.
class Device::Queue {
public:
  explicit Queue(Host host);
  ~Queue();
  Status execute(Commands commands, Completion completion);
  Status execute(CommandBuffer &recorded, std::span<const bp_binding_t> table,
                 Completion completion);
  Status executeTimed(Commands commands, std::span<bp_timestamp_t> times,
                      Completion completion);

private:
  struct Work {
    std::unique_ptr<CommandBuffer> own; // null: `recorded` is the host's
    const CommandBuffer *recorded;
    std::vector<bp_binding_t> table; // of its slots
    std::span<bp_timestamp_t> times; // empty: nobody asks
    Completion completion;
  };

  Status enqueue(Work work);
  void serve();
  Status run(const Work &work);

  Host host_;
  std::mutex mutex_; // of what follows
  std::condition_variable changed_;
  std::deque<Work> work_;
  bool ends_ = false;
  std::thread processor_; // the last: it sees all of the above
};

#endif // DEVICE_H
