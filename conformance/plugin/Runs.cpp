// SPDX-License-Identifier: Apache-2.0
//
// Runs.cpp: dispatches: where their memory lies, how they reach the driver, in
// which order the host runs their parts, and what bad data come to. Inputs are
// whole numbers, so that results are the same bits in every order.
#include "Changes.h"
#include "Groups.h"
#include "Models.h"

#include <algorithm>
#include <thread>

namespace backplane::checks {
namespace {

/// The same inputs elsewhere, or by another way, give the same bits.
void expectSame(ModelFixture &model, const Bytes &found, const Bytes &expected,
                const std::string &what) {
  if (!model.good())
    return;
  auto [a, b] = std::mismatch(found.begin(), found.end(), expected.begin(),
                              expected.end());
  if (a == found.end() && b == expected.end())
    return;
  model.fixture.trial().fail(what + " gives other results, from byte " +
                             std::to_string(a - found.begin()) + " of " +
                             std::to_string(found.size()) + " on");
}

void repeats(Trial &trial, int times) {
  ModelFixture model(trial);
  Bytes expected = model.run(1);
  for (int i = 0; i < times && model.good(); ++i)
    expectSame(model, model.run(1), expected, "run " + std::to_string(i + 2));
}

/// One command list again and again: what an earlier run left behind is not
/// part of the next.
void sameMemory(Trial &trial, int times, How how) {
  ModelFixture model(trial);
  Bytes expected = model.run(2);
  if (!model.good())
    return;
  Call call(model.fixture, model.compiled, model.executables, model.sizes(), 2);
  for (int i = 0; i < times && model.good(); ++i) {
    model.queue->run(call.commands(), how);
    expectSame(model, call.outputs(), expected, "run " + std::to_string(i + 1));
  }
}

/// Every byte of an output is written, and only those.
void everyByte(Trial &trial) {
  ModelFixture model(trial);
  Layout layout;
  layout.fill = 0;
  Bytes expected = model.run(1, layout);
  for (uint8_t fill : {0xFF, 0x5A, 0x80}) {
    layout.fill = fill;
    expectSame(model, model.run(1, layout), expected,
               "an output that held something else before");
  }
}

void laidOut(Trial &trial, Layout layout, How how) {
  ModelFixture model(trial);
  Bytes expected = model.run(3);
  expectSame(model, model.run(3, layout, how), expected,
             "another place in memory");
}

/// Other data, other results; the same data, the same.
void alternates(Trial &trial) {
  ModelFixture model(trial);
  Bytes a = model.run(1), b = model.run(1000);
  trial.expect(!model.good() || a != b,
               "other inputs give the same outputs: is anything computed?");
  for (int i = 0; i < 8 && model.good(); ++i)
    expectSame(model, model.run(i % 2 ? 1000 : 1), i % 2 ? b : a,
               "a run between runs with other data");
}

/// Large and small sizes in turn, by one loaded executable.
void sizesInTurn(Trial &trial) {
  constexpr unsigned scales[] = {0, 1, 2, 3, 4, 5, 6, 3, 0, 6, 1, 5, 2};
  std::map<unsigned, Bytes> expected;
  for (unsigned scale : scales)
    if (!expected.contains(scale)) {
      ModelFixture fresh(trial);
      expected[scale] = fresh.run(4, {}, How::Execute, scale);
    }
  ModelFixture model(trial);
  for (unsigned scale : scales)
    expectSame(model, model.run(4, {}, How::Execute, scale), expected[scale],
               "a run after runs with other sizes");
}

/// A context of its own for each, with an unusual host.
void onHost(Trial &trial, const HostPlan &plan) {
  ModelFixture usual(trial);
  Bytes expected = usual.run(5);
  ModelFixture other(trial, plan);
  for (int i = 0; i < 3; ++i)
    expectSame(other, other.run(5), expected, "a host with other workers");
}

void severalInOneList(Trial &trial) {
  ModelFixture model(trial);
  Bytes first = model.run(6), second = model.run(7);
  if (!model.good())
    return;
  Call a(model.fixture, model.compiled, model.executables, model.sizes(), 6);
  Call b(model.fixture, model.compiled, model.executables, model.sizes(), 7);
  Commands all;
  for (int i = 0; i < 3; ++i)
    all.append(a.commands()).append(b.commands()).barrier();
  model.queue->run(all);
  expectSame(model, a.outputs(), first, "the first of two calls in one list");
  expectSame(model, b.outputs(), second, "the second of two calls in one list");
}

void queuesAtOnce(Trial &trial, unsigned count) {
  ModelFixture model(trial);
  Bytes expected = model.run(8);
  if (!model.good())
    return;
  std::deque<Queue> queues;
  std::deque<Call> calls;
  for (unsigned t = 0; t < count; ++t) {
    queues.emplace_back(model.fixture);
    calls.emplace_back(model.fixture, model.compiled, model.executables,
                       model.sizes(), 8);
  }
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10 && model.good(); ++i) {
        queues[t].run(calls[t].commands());
        expectSame(model, calls[t].outputs(), expected, "one queue of several");
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

void contextsAtOnce(Trial &trial) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      ModelFixture model(trial);
      Bytes expected = model.run(9);
      for (int i = 0; i < 5 && model.good(); ++i)
        expectSame(model, model.run(9), expected, "one context of several");
    });
  for (std::thread &thread : threads)
    thread.join();
}

void notWaited(Trial &trial) {
  ModelFixture model(trial);
  Bytes expected = model.run(10);
  if (!model.good())
    return;
  std::deque<Call> calls;
  std::vector<Done> dones(8);
  for (size_t i = 0; i < dones.size(); ++i)
    calls.emplace_back(model.fixture, model.compiled, model.executables,
                       model.sizes(), 10);
  for (size_t i = 0; i < dones.size(); ++i)
    model.queue->start(calls[i].commands(), dones[i]);
  for (size_t i = 0; i < dones.size() && model.good(); ++i)
    if (model.fixture.take(dones[i].wait(model.fixture), "completion"))
      expectSame(model, calls[i].outputs(), expected,
                 "one of several calls that nobody waited for");
}

// ---- Fences ----

/// Another thread reads the outputs as soon as the completion has come.
void readsAtCompletion(Trial &trial, const HostPlan &plan) {
  ModelFixture usual(trial);
  Bytes expected = usual.run(12);
  ModelFixture model(trial, plan);
  for (int i = 0; i < 5 && model.good(); ++i) {
    Call call(model.fixture, model.compiled, model.executables, model.sizes(),
              12);
    Done done;
    std::thread reader([&] {
      (void)done.wait(model.fixture);
      expectSame(model, call.outputs(), expected,
                 "reading outputs right after the completion");
    });
    model.queue->start(call.commands(), done);
    if (!model.good() && !done.arrived())
      trial.abandon("the work was not started");
    reader.join();
    // What the plug-in may still do with this memory it does now.
    model.fixture.host().finishPosts();
  }
}

void addFences(Checks &all, const ModelName &model) {
  Group group(all, std::string("L2/") + model.name + "/fence",
              "When a dispatch completes, its outputs are there, also when the "
              "host's threads are late.",
              {"fence"});
  group.of(model.name);
  HostPlan late;
  late.postDelayMs = 20;
  group.add("another-thread-reads",
            [](Trial &trial) { readsAtCompletion(trial, {}); });
  group.add("posted-tasks-late", model.smoke ? Depth::Smoke : Depth::Standard,
            readsAtCompletion, late);
}

// ---- Bad data ----

Layout badLayout(int64_t index) {
  Layout layout;
  layout.badIndex = index;
  return layout;
}

/// The failure names the op; the queue goes on.
void badIndex(Trial &trial, int64_t index, How how) {
  ModelFixture model(trial);
  Bytes expected = model.run(11);
  if (!model.good())
    return;
  Call bad(model.fixture, model.compiled, model.executables, model.sizes(), 11,
           badLayout(index));
  Status status = model.queue->outcome(bad.commands(), how);
  if (!model.good())
    return;
  trial.expect(status.code() == BP_STATUS_OUT_OF_RANGE,
               "an index out of range gives status " +
                   std::to_string(status.code()) + ", not OUT_OF_RANGE");
  trial.expect(status.message().find("op ") != std::string::npos &&
                   status.message().find(": ") != std::string::npos,
               "the message of a failed kernel does not start with 'op N: ', "
               "found '" +
                   status.message() + "'");
  expectSame(model, model.run(11), expected, "a run after one that failed");
}

/// Who waits for what failed fails in the same way.
void failureTravels(Trial &trial) {
  ModelFixture model(trial);
  model.run(11);
  if (!model.good())
    return;
  Call bad(model.fixture, model.compiled, model.executables, model.sizes(), 11,
           badLayout(1000));
  Timeline first(model.fixture, 0), second(model.fixture, 0);
  Queue other(model.fixture);
  Buffer buffer(model.fixture, 64);
  buffer.fill(1);
  Bytes before = buffer.model;
  bp_timepoint_t made = {first.handle(), 1}, used = {second.handle(), 1};
  model.queue->submit({}, {&made, 1}, bad.commands());
  other.submit({&made, 1}, {&used, 1}, Commands().fill(buffer, 0, 64, 1, 1));
  if (!model.good())
    return;
  for (Timeline *timeline : {&first, &second}) {
    Status status = timeline->wait(1, model.fixture.timeoutNs());
    if (status.code() == BP_STATUS_DEADLINE_EXCEEDED)
      trial.abandon("a wait for work that failed did not end in time");
    trial.expect(status.code() == BP_STATUS_OUT_OF_RANGE,
                 "a wait for work that failed gives status " +
                     std::to_string(status.code()) + ", not OUT_OF_RANGE");
    uint64_t value = 0;
    trial.expect(timeline->query(value).code() == BP_STATUS_OUT_OF_RANGE,
                 "a semaphore does not keep the failure that came with it");
  }
  trial.expect(buffer.read(0, 64) == before || !model.good(),
               "work ran whose wait had failed");
}

/// Memory is as it was after many failures.
void failsOften(Trial &trial) {
  ModelFixture model(trial);
  model.run(11);
  if (!model.good())
    return;
  Call bad(model.fixture, model.compiled, model.executables, model.sizes(), 11,
           badLayout(77));
  (void)model.queue->outcome(bad.commands());
  uint64_t before = model.fixture.host().liveBytes();
  for (int i = 0; i < 100 && model.good(); ++i)
    (void)model.queue->outcome(bad.commands());
  trial.expect(model.fixture.host().liveBytes() <= before,
               "each failed run keeps memory of the host");
}

void addErrors(Checks &all, const char *model) {
  Group group(all, std::string("L2/") + model + "/error",
              "An index out of range fails the work with OUT_OF_RANGE and the "
              "op's id, and harms nothing else.",
              {"error-word", "leak"});
  group.of(model);
  for (How how : allWays)
    group.add(std::string("index-1000-") + name(how),
              how == How::Execute ? Depth::Smoke : Depth::Standard, badIndex,
              1000, how);
  for (int64_t index : {int64_t(5), int64_t(1) << 32, INT64_MAX})
    group.add("index-" + std::to_string(index), badIndex, index, How::Execute);
  group.add("travels", failureTravels);
  group.add("often", failsOften);
}

void addHosts(Checks &all, const ModelName &model) {
  Group group(all, std::string("L2/") + model.name + "/host",
              "Work-groups run in any order, on any number of workers.",
              {"race", "atomic"});
  group.of(model.name);
  struct Named {
    const char *name;
    HostPlan plan;
  };
  for (auto [name, order, workers] :
       {std::tuple("forward", LoopOrder::Forward, 3u),
        std::tuple("backward", LoopOrder::Backward, 4u),
        std::tuple("shuffled", LoopOrder::Shuffled, 5u),
        std::tuple("1-worker", LoopOrder::Pool, 1u),
        std::tuple("16-workers", LoopOrder::Pool, 16u)}) {
    HostPlan plan;
    plan.order = order;
    plan.workers = workers;
    group.add(name, onHost, plan);
  }
  for (unsigned count : {2, 6})
    group.add(std::to_string(count) + "-queues", queuesAtOnce, count);
  group.add("3-contexts", contextsAtOnce);
  group.add("not-waited", notWaited);
}

/// Kernels on the host's pool leave no thread changed.
void leavesTheProcess(Trial &trial) {
  Changes changes;
  {
    ModelFixture model(trial);
    for (int i = 0; i < 5 && model.good(); ++i)
      (void)model.run(1);
  }
  changes.expectNone(trial);
}

/// A call without elements leaves the memory around its ports alone.
void withoutElements(Trial &trial, How how) {
  ModelFixture model(trial);
  if (!model.good())
    return;
  SymbolValues none = model.sizes();
  for (auto &[name, value] : none)
    value = 0;
  Layout gaps;
  gaps.before = 3;
  gaps.after = 100;
  Call call(model.fixture, model.compiled, model.executables, none, 1, gaps);
  model.queue->run(call.commands(), how);
  call.expectRestIntact();
}

void addPlaces(Checks &all, const ModelName &model) {
  Group group(all, std::string("L2/") + model.name + "/memory",
              "A dispatch reads and writes its bindings where they are, whole, "
              "and nothing else.",
              {"offset", "tail", "zero-size"});
  group.of(model.name);
  Depth depth = model.smoke ? Depth::Smoke : Depth::Standard;
  group.add("every-byte-written", depth, everyByte);
  for (How how : allWays) {
    if (model.dynamic)
      group.add(std::string("no-elements-") + name(how), withoutElements, how);
    Layout gaps;
    gaps.before = 3;
    gaps.after = 100;
    group.add(std::string("offsets-") + name(how),
              how == How::Slots ? depth : Depth::Standard, laidOut, gaps, how);
    Layout shared = gaps;
    shared.oneBuffer = true;
    shared.before = 1;
    group.add(std::string("one-buffer-") + name(how), laidOut, shared, how);
  }
}

} // namespace

void addRuns(Checks &all) {
  for (const ModelName &model : modelNames) {
    Group group(all, std::string("L2/") + model.name + "/run",
                "A dispatch gives the same bits for the same inputs, whatever "
                "ran before.",
                {"workspace", "cache", "race"});
    group.of(model.name);
    Depth depth = model.smoke ? Depth::Smoke : Depth::Standard;
    group.add("30-times", depth, repeats, 30);
    for (How how : allWays)
      group.add(std::string("same-memory-") + name(how), sameMemory, 10, how);
    group.add("other-data-between", depth, alternates);
    group.add("several-in-one-list", severalInOneList);
    group.add("leaves-the-process", leavesTheProcess);
    if (model.dynamic)
      group.add("sizes-in-turn", sizesInTurn);
    addPlaces(all, model);
    addHosts(all, model);
    addFences(all, model);
    if (model.indexed)
      addErrors(all, model.name);
  }
}

} // namespace backplane::checks
