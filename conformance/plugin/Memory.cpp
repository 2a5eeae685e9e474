// SPDX-License-Identifier: Apache-2.0
//
// Memory.cpp: buffers: allocation, reading and writing.
#include "Groups.h"
#include "Work.h"

#include <algorithm>
#include <thread>

namespace backplane::checks {
namespace {

const char *spaceName(uint32_t space) {
  return space == BP_SPACE_DEVICE ? "device" : "staging";
}

uint64_t most(const Fixture &fixture) {
  uint64_t limit = fixture.info().max_buffer_size;
  return limit ? limit : UINT64_MAX;
}

/// Every byte of a buffer holds what is written to it.
void allocate(Trial &trial, uint32_t space, uint64_t size) {
  Fixture fixture(trial);
  if (fixture.good() && size > most(fixture))
    return trial.skip("buffers of the device are smaller");
  Buffer buffer(fixture, size, space, 64);
  buffer.fill(size);
  buffer.expect("memory after a write");
}

void align(Trial &trial, uint32_t space, uint64_t alignment) {
  Fixture fixture(trial);
  Buffer first(fixture, 100, space, alignment),
      second(fixture, 5000, space, alignment);
  for (Buffer *buffer : {&first, &second}) {
    buffer->fill(alignment);
    auto address = reinterpret_cast<uintptr_t>(buffer->map());
    if (trial.ok() && !address)
      return trial.skip("the driver cannot map its memory, so that its "
                        "alignment cannot be seen");
    uint64_t wanted =
        fixture.good() ? std::max(alignment, fixture.info().binding_alignment)
                       : 1;
    trial.expect(address % wanted == 0,
                 "a buffer does not start at a multiple of " +
                     std::to_string(wanted));
  }
  first.expect("the first buffer");
  second.expect("the second buffer");
}

/// More memory than there is gets a refusal, and nothing else suffers.
void allocateTooMuch(Trial &trial, uint64_t size) {
  Fixture fixture(trial);
  Buffer before(fixture, 300);
  before.fill(1);
  if (!fixture.good())
    return;
  bp_buffer_t *handle = nullptr;
  Status status = callPlugin(
      "buffer_allocate", fixture.tables().memory.buffer_allocate,
      fixture.device(), BP_SPACE_DEVICE, size, uint64_t(64), &handle);
  if (status.ok()) {
    fixture.tables().memory.buffer_free(fixture.device(), handle);
    trial.expect(size < uint64_t(1) << 48, "the driver gave " +
                                               std::to_string(size) +
                                               " bytes, which no machine has");
  } else {
    trial.expect(
        status.code() == BP_STATUS_RESOURCE_EXHAUSTED,
        "an allocation of " + std::to_string(size) +
            " bytes fails with another code than RESOURCE_EXHAUSTED: " +
            status.message());
  }
  before.expect("memory from before");
  Buffer after(fixture, 300);
  after.fill(2);
  after.expect("memory from after a refused allocation");
}

/// What lies 4 GiB apart is not the same, for memory that may never be touched
/// in between.
void beyond32Bits(Trial &trial, uint32_t space) {
  constexpr uint64_t far = uint64_t(1) << 32, size = far + 4096;
  Fixture fixture(trial);
  if (fixture.good() && size > most(fixture))
    return trial.skip("buffers of the device are smaller");
  bp_buffer_t *handle = nullptr;
  const bp_memory_table_t &memory = fixture.tables().memory;
  if (!fixture.good() ||
      !callPlugin("buffer_allocate", memory.buffer_allocate, fixture.device(),
                  space, size, uint64_t(64), &handle)
           .ok())
    return trial.giveUp("there is no memory for a buffer of 4 GiB");
  Bytes low = noise(100, 1), high = noise(100, 2), got(100);
  for (auto [offset, data] : {std::pair(uint64_t(17), &low), {far + 17, &high}})
    trial.expectOk(callPlugin("buffer_write", memory.buffer_write,
                              fixture.device(), handle, offset,
                              static_cast<const void *>(data->data()),
                              uint64_t(100)),
                   "a write beside 4 GiB");
  for (auto [offset, data] :
       {std::pair(uint64_t(17), &low), {far + 17, &high}}) {
    trial.expectOk(callPlugin("buffer_read", memory.buffer_read,
                              fixture.device(), handle, offset,
                              static_cast<void *>(got.data()), uint64_t(100)),
                   "a read beside 4 GiB");
    trial.expect(got == *data, "the bytes at offset " + std::to_string(offset) +
                                   " are not those that were written");
  }
  memory.buffer_free(fixture.device(), handle);
}

void writeRange(Trial &trial, uint64_t offset, uint64_t length) {
  Fixture fixture(trial);
  Buffer buffer(fixture, 4096);
  buffer.fill(1);
  buffer.write(offset, noise(length, 2));
  buffer.expect("memory after a write of a part");
}

void readRange(Trial &trial, uint64_t offset, uint64_t length) {
  Fixture fixture(trial);
  Buffer buffer(fixture, 4096);
  buffer.fill(3);
  Bytes found = buffer.read(offset, length);
  if (fixture.good())
    trial.expect(std::equal(found.begin(), found.end(),
                            buffer.model.begin() + int64_t(offset)),
                 "a read of " + std::to_string(length) + " bytes at offset " +
                     std::to_string(offset) + " gives other bytes");
  buffer.expect("memory after a read of a part");
}

void manyBuffers(Trial &trial, size_t count) {
  Fixture fixture(trial);
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (size_t i = 0; i < count; ++i) {
    buffers.push_back(std::make_unique<Buffer>(fixture, 1 + i % 97));
    buffers.back()->fill(i);
  }
  for (auto &buffer : buffers)
    buffer->expect("one of many buffers");
}

/// Frees some of the buffers; the others keep what they hold.
void freeSome(Trial &trial, bool (*goes)(size_t index, size_t count)) {
  Fixture fixture(trial);
  constexpr size_t count = 64;
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (size_t i = 0; i < count; ++i) {
    buffers.push_back(std::make_unique<Buffer>(fixture, 100 * (1 + i % 7)));
    buffers.back()->fill(i);
  }
  for (size_t i = 0; i < count; ++i)
    if (goes(i, count))
      buffers[i].reset();
  for (size_t i = 0; i < count; ++i)
    if (buffers[i])
      buffers[i]->expect("a buffer whose neighbours were freed");
  for (auto &buffer : buffers)
    if (!buffer) {
      buffer = std::make_unique<Buffer>(fixture, 333);
      buffer->fill(7);
    }
  for (auto &buffer : buffers)
    buffer->expect("a buffer after others took freed memory");
}

void churn(Trial &trial) {
  Fixture fixture(trial);
  for (uint64_t i = 0; i < 5000 && trial.ok(); ++i)
    Buffer buffer(fixture, 1 + i * 37 % 5000, i % 2);
}

void inThreads(Trial &trial, unsigned count) {
  Fixture fixture(trial);
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (unsigned t = 0; t < count; ++t)
    buffers.push_back(std::make_unique<Buffer>(fixture, 10000 + t));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 50 && trial.ok(); ++i) {
        buffers[t]->fill(t * 1000 + i);
        buffers[t]->expect("memory that one of several threads uses");
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Memory is read and written while a queue works on other memory.
void besideQueue(Trial &trial) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer a(fixture, 4 << 20), b(fixture, 4 << 20), other(fixture, 5000);
  a.fill(1);
  b.fill(2);
  std::thread worker([&] {
    for (int i = 0; i < 20; ++i)
      queue.run(Commands().copy(a, 0, b, 0, a.size()));
  });
  for (uint64_t i = 0; i < 200; ++i) {
    other.fill(i);
    other.expect("memory beside a working queue");
  }
  worker.join();
  b.expect("the queue's memory");
}

void addRanges(Checks &all) {
  struct Piece {
    uint64_t offset, length;
  };
  static constexpr Piece ranges[] = {
      {0, 1},    {0, 4096}, {1, 1}, {1, 4095},  {63, 2},      {64, 64},
      {4095, 1}, {4096, 0}, {0, 0}, {17, 1000}, {2048, 2048}, {4000, 96},
  };
  Group group(all, "L1/memory/range",
              "buffer_write and buffer_read touch exactly the bytes from "
              "offset on.",
              {"offset"});
  for (Piece range : ranges) {
    std::string name = std::to_string(range.length) + "-bytes-at-" +
                       std::to_string(range.offset);
    Depth depth = range.offset == 17 ? Depth::Smoke : Depth::Standard;
    group.add("write-" + name, depth, writeRange, range.offset, range.length);
    group.add("read-" + name, depth, readRange, range.offset, range.length);
  }
}

void addSharing(Checks &all) {
  Group group(all, "L1/memory/several",
              "Buffers do not share bytes, whatever was freed before, and may "
              "be used from several threads.");
  group.add("100-buffers", Depth::Smoke, manyBuffers, 100);
  group.add("3000-buffers", manyBuffers, 3000);
  group.add("every-other-freed", [](Trial &trial) {
    freeSome(trial, [](size_t i, size_t) { return i % 2 == 0; });
  });
  group.add("first-half-freed", [](Trial &trial) {
    freeSome(trial, [](size_t i, size_t n) { return i < n / 2; });
  });
  group.add("last-half-freed", [](Trial &trial) {
    freeSome(trial, [](size_t i, size_t n) { return i >= n / 2; });
  });
  group.add("allocated-and-freed-5000-times", churn);
  for (unsigned count : {2, 8})
    group.add("in-" + std::to_string(count) + "-threads", inThreads, count);
  group.add("beside-a-working-queue", besideQueue);
}

} // namespace

void addMemory(Checks &all) {
  Group sizes(all, "L1/memory/allocate",
              "buffer_allocate gives as many bytes as were asked for, in both "
              "memory spaces.");
  Group starts(all, "L1/memory/align",
               "A buffer starts at a multiple of the alignment that was asked "
               "for and of binding_alignment.");
  for (uint32_t space : {BP_SPACE_DEVICE, BP_SPACE_STAGING}) {
    std::string prefix = std::string(spaceName(space)) + "-";
    for (uint64_t size : {1, 2, 3, 7, 8, 63, 64, 65, 255, 4095, 4096, 4097,
                          65536, 1048577, 33554437})
      sizes.add(prefix + std::to_string(size),
                size == 65 ? Depth::Smoke : Depth::Standard, allocate, space,
                size);
    for (uint64_t alignment : {1, 2, 16, 64, 256, 4096, 65536, 2097152})
      starts.add(prefix + std::to_string(alignment),
                 alignment == 256 ? Depth::Smoke : Depth::Standard, align,
                 space, alignment);
  }
  Group far(all, "L1/memory/far",
            "Offsets of buffer_write and buffer_read have 64 bits.",
            {"large", "offset"});
  for (uint32_t space : {BP_SPACE_DEVICE, BP_SPACE_STAGING})
    far.add(std::string(spaceName(space)) + "-beyond-4-gib", beyond32Bits,
            space);
  Group large(all, "L1/memory/too-large",
              "More memory than there is gets RESOURCE_EXHAUSTED; sizes near "
              "the end of 64 bits do not overflow.",
              {"oom", "large"});
  for (uint64_t size :
       {uint64_t(1) << 46, uint64_t(1) << 47, (uint64_t(1) << 47) + 1,
        uint64_t(1) << 62, uint64_t(1) << 63, UINT64_MAX - 4095,
        UINT64_MAX - 63, UINT64_MAX - 1, UINT64_MAX})
    large.add(std::to_string(size), allocateTooMuch, size);
  addRanges(all);
  addSharing(all);
}

} // namespace backplane::checks
