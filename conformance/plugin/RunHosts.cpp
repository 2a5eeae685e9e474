// SPDX-License-Identifier: Apache-2.0
//
// RunHosts.cpp: dispatches on a host with unusual workers, on several queues
// and in several contexts, and what is there when they complete.
#include "RunGroups.h"

#include <thread>

namespace backplane::checks {
namespace {

/// A context of its own for each, with an unusual host.
void onHost(Trial &trial, const HostPlan &plan) {
  ModelFixture usual(trial);
  Bytes expected = usual.run(5);
  ModelFixture other(trial, plan);
  for (int i = 0; i < 3; ++i)
    other.expectSame(other.run(5), expected, "a host with other workers");
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
        model.expectSame(calls[t].outputs(), expected, "one queue of several");
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
        model.expectSame(model.run(9), expected, "one context of several");
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
      model.expectSame(calls[i].outputs(), expected,
                       "one of several calls that nobody waited for");
}

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
      model.expectSame(call.outputs(), expected,
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

} // namespace

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

} // namespace backplane::checks
