// SPDX-License-Identifier: Apache-2.0
//
// Queues.cpp: queues, completions, and when work is done.
#include "Groups.h"
#include "Work.h"

#include <cstring>
#include <thread>

namespace backplane::checks {
namespace {

void classWorks(Trial &trial, uint32_t queueClass) {
  Fixture fixture(trial);
  Queue queue(fixture, queueClass);
  Buffer a(fixture, 1000), b(fixture, 1000);
  a.fill(1);
  b.fill(2);
  queue.run(Commands().copy(a, 1, b, 2, 900).barrier().fill(a, 0, 100, 3, 1));
  a.expect("a fill");
  b.expect("a copy");
}

/// A call without commands completes too, and keeps its place.
void withoutCommands(Trial &trial, uint32_t queueClass) {
  Fixture fixture(trial);
  Queue queue(fixture, queueClass);
  Buffer buffer(fixture, 256);
  for (uint32_t i = 0; i < 20; ++i) {
    queue.run(Commands());
    queue.run(Commands().fill(buffer, 0, 256, i, 4));
    queue.run(Commands());
  }
  buffer.expect("fills between calls without commands");
}

void manyQueues(Trial &trial, size_t count) {
  Fixture fixture(trial);
  std::vector<std::unique_ptr<Queue>> queues;
  for (size_t i = 0; i < count; ++i)
    queues.push_back(std::make_unique<Queue>(fixture, i % 2));
  Buffer buffer(fixture, 4096);
  buffer.fill(1);
  for (size_t i = 0; i < 2 * count; ++i)
    queues[i % count]->run(Commands().fill(buffer, i * 8, 16, uint32_t(i), 1));
  buffer.expect("memory that several queues wrote in turn");
}

void madeOften(Trial &trial) {
  Fixture fixture(trial);
  Buffer buffer(fixture, 64);
  buffer.fill(1);
  for (uint32_t i = 0; i < 500 && trial.ok(); ++i) {
    Queue queue(fixture);
    queue.run(Commands().fill(buffer, i % 64, 1, i, 1));
  }
  buffer.expect("memory that short-lived queues wrote");
}

/// Work of several calls runs in order although nobody waits in between.
void callsInOrder(Trial &trial, size_t count) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer a(fixture, 1 << 16), b(fixture, 1 << 16);
  a.fill(1);
  b.fill(2);
  std::vector<Done> dones(count);
  for (size_t i = 0; i < count && fixture.good(); ++i) {
    Commands commands;
    uint64_t shift = i % 100;
    commands.fill(a, 4 * shift, 4096, uint32_t(i), 4).barrier();
    commands.copy(a, shift, b, 2 * shift, 30000).barrier();
    commands.copy(b, 7, a, 31 + shift, 20000);
    queue.start(commands, dones[i]);
  }
  for (Done &done : dones)
    if (fixture.good())
      fixture.take(done.wait(fixture), "completion");
  a.expect("the first buffer");
  b.expect("the second buffer");
  for (const Done &done : dones)
    trial.expect(!fixture.good() || done.count() == 1,
                 "a call of queue_execute completed " +
                     std::to_string(done.count()) + " times");
}

/// Two queues work at once, each on memory of its own.
void twoAtOnce(Trial &trial) {
  Fixture fixture(trial);
  Queue queues[2] = {Queue(fixture), Queue(fixture)};
  Buffer buffers[2] = {{fixture, 100000}, {fixture, 100000}};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      buffers[t].fill(t);
      for (uint32_t i = 0; i < 200 && trial.ok(); ++i)
        queues[t].run(Commands()
                          .fill(buffers[t], i * 4, 1000, i, 4)
                          .barrier()
                          .copy(buffers[t], 0, buffers[t], 50000 + i, 40000));
      buffers[t].expect("memory of one of two busy queues");
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Commands of a later minor version are larger and may carry extensions.
void newerCommands(Trial &trial, bool extension) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer buffer(fixture, 256);
  buffer.fill(1);
  if (!fixture.good())
    return;
  static const bp_header_t unknown = {0x7ABC, sizeof(unknown), nullptr};
  struct {
    bp_command_fill_t fill;
    uint8_t tail[64];
  } larger = {};
  std::memset(larger.tail, 0xA5, sizeof(larger.tail));
  larger.fill = {BP_HEADER(bp_command_fill_t)};
  larger.fill.header.size = sizeof(larger);
  larger.fill.header.next = extension ? &unknown : nullptr;
  larger.fill.target = {buffer.handle(), 16, 100, 0, 0};
  larger.fill.pattern = 0x42;
  larger.fill.pattern_size = 1;
  fixture.take(queue.outcome(&larger.fill.header),
               "queue_execute of a larger command");
  Commands().fill(buffer, 16, 100, 0x42, 1).apply();
  buffer.expect("a fill by a larger command");
}

/// A command that no header knows is refused, not skipped.
void unknownCommand(Trial &trial, uint32_t type) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer buffer(fixture, 64);
  buffer.fill(1);
  if (!fixture.good())
    return;
  bp_command_barrier_t command = {BP_HEADER(bp_command_barrier_t)};
  command.header.type = type;
  Status status = queue.outcome(&command.header);
  trial.expect(status.code() == BP_STATUS_UNIMPLEMENTED,
               "a command of unknown type " + std::to_string(type) +
                   " gives status " + std::to_string(status.code()) +
                   ", not UNIMPLEMENTED");
  queue.run(Commands().fill(buffer, 0, 8, 9, 1));
  buffer.expect("memory after a refused command");
}

void unknownClass(Trial &trial) {
  Fixture fixture(trial);
  if (!fixture.good())
    return;
  bp_queue_t *queue = nullptr;
  Status status =
      callPlugin("queue_create", fixture.tables().queue.queue_create,
                 fixture.device(), 77u, &queue);
  if (status.ok())
    fixture.tables().queue.queue_destroy(fixture.device(), queue);
  trial.expect(status.code() == BP_STATUS_UNIMPLEMENTED,
               "a queue of an unknown class gives status " +
                   std::to_string(status.code()) + ", not UNIMPLEMENTED");
}

void unknownSpace(Trial &trial) {
  Fixture fixture(trial);
  if (!fixture.good())
    return;
  bp_buffer_t *buffer = nullptr;
  Status status =
      callPlugin("buffer_allocate", fixture.tables().memory.buffer_allocate,
                 fixture.device(), 77u, uint64_t(64), uint64_t(64), &buffer);
  if (status.ok())
    fixture.tables().memory.buffer_free(fixture.device(), buffer);
  trial.expect(status.code() == BP_STATUS_UNIMPLEMENTED,
               "memory in an unknown space gives status " +
                   std::to_string(status.code()) + ", not UNIMPLEMENTED");
}

// ---- Fences ----

/// Another thread looks at the memory as soon as the completion has come, while
/// the one that called the driver may still be inside.
void readsAtCompletion(Trial &trial, uint64_t bytes, int rounds) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer a(fixture, bytes), b(fixture, bytes);
  a.fill(1);
  b.fill(2);
  for (int i = 0; i < rounds && fixture.good(); ++i) {
    Commands commands;
    commands.fill(a, 0, bytes / 4 * 4, 0x10203 + uint32_t(i), 4);
    commands.barrier().copy(a, 0, b, 0, bytes).barrier();
    commands.fill(a, bytes - 1, 1, uint32_t(i), 1);
    commands.apply(); // what the other thread compares with
    Done done;
    std::thread reader([&] {
      (void)done.wait(fixture);
      b.expect("a copy, right after its completion");
      a.expect("a fill, right after its completion");
    });
    queue.start(commands, done, false);
    if (!fixture.good() && !done.arrived())
      fixture.trial().abandon("the work was not started");
    reader.join();
  }
}

void repeated(Trial &trial, How how, uint32_t rounds) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer a(fixture, 512), b(fixture, 512);
  a.fill(1);
  b.fill(2);
  for (uint32_t i = 0; i < rounds && fixture.good(); ++i) {
    queue.run(Commands().fill(a, 0, 512, i, 4).barrier().copy(a, 0, b, 0, 512),
              how);
    b.expect("run " + std::to_string(i));
  }
}

void addFences(Checks &all) {
  Group group(all, "L1/fence",
              "When a completion comes, the work is done and its results can "
              "be read from any thread.",
              {"fence", "race"});
  group.add("small", Depth::Smoke, readsAtCompletion, 4096, 50);
  group.add("1-mib", Depth::Smoke, readsAtCompletion, 1 << 20, 20);
  group.add("odd",
            [](Trial &trial) { readsAtCompletion(trial, (3 << 20) + 77, 8); });
  group.add("32-mib", readsAtCompletion, 32 << 20, 2);
  for (How how : allWays) {
    group.add(std::string("300-runs-") + name(how),
              how == How::Execute ? Depth::Smoke : Depth::Standard, repeated,
              how, 300);
    group.add(std::string("3000-runs-") + name(how), repeated, how, 3000);
  }
}

} // namespace

void addQueues(Checks &all) {
  Group group(all, "L1/queue",
              "Work of one queue runs in order and completes exactly once; "
              "queues are independent.",
              {"fence"});
  group.add("compute", Depth::Smoke, classWorks, BP_QUEUE_COMPUTE);
  group.add("transfer", Depth::Smoke, classWorks, BP_QUEUE_TRANSFER);
  for (size_t count : {2, 8, 32})
    group.add(std::to_string(count) + "-queues", manyQueues, count);
  group.add("made-500-times", madeOften);
  for (size_t count : {2, 20, 400})
    group.add(std::to_string(count) + "-calls-in-order",
              count == 20 ? Depth::Smoke : Depth::Standard, callsInOrder,
              count);
  group.add("two-at-once", twoAtOnce);
  group.add("without-commands", Depth::Smoke, withoutCommands,
            BP_QUEUE_COMPUTE);
  group.add("without-commands-transfer", withoutCommands, BP_QUEUE_TRANSFER);
  Group newer(all, "L1/unknown",
              "What a newer host may send is skipped where the ABI says so and "
              "refused with UNIMPLEMENTED where it changes the meaning.",
              {"struct-size"});
  newer.add("larger-command", Depth::Smoke, newerCommands, false);
  newer.add("extended-command", newerCommands, true);
  for (uint32_t type : {0u, 31u, 36u, 0x12345u})
    newer.add("command-type-" + std::to_string(type),
              type == 36 ? Depth::Smoke : Depth::Standard, unknownCommand,
              type);
  newer.add("queue-class", unknownClass);
  newer.add("memory-space", unknownSpace);
  addFences(all);
}

} // namespace backplane::checks
