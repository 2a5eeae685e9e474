// SPDX-License-Identifier: Apache-2.0
//
// Endurance.cpp: the same thing many times, and many things at once.
#include "Groups.h"
#include "Scenarios.h"
#include "sdk/support/ProcessUse.h"

#include <algorithm>
#include <functional>
#include <thread>

namespace backplane::checks {
namespace {

// ---- Leaks ----

/// What `rounds` of `body` leave behind; empty: nothing to speak of.
std::string growth(int rounds, TestHost *host,
                   const std::function<void()> &body) {
  // Tasks that the host has not begun hold memory, too.
  auto settle = [host] {
    if (host)
      host->finishPosts();
  };
  settle();
  const uint64_t maxHeap = uint64_t(rounds) * 16 + 4096;
  constexpr uint64_t maxResident = uint64_t(8) << 20;
  uint64_t heap = heapBytes(), resident = residentBytes();
  uint64_t live = host ? host->liveBytes() : 0;
  unsigned files = openFileCount();
  for (int i = 0; i < rounds; ++i)
    body();
  settle();
  if (host && host->liveBytes() > live)
    return "memory of the host";
  if (openFileCount() > files)
    return "open files";
  if (uint64_t now = heapBytes(); now > heap + maxHeap)
    return std::to_string(now - heap) + " bytes of memory";
  if (uint64_t now = residentBytes(); now > resident + maxResident)
    return std::to_string(now - resident) + " bytes of pages";
  return {};
}

/// Runs `body` until caches are warm and then often; a leak shows every time.
/// What threads keep for their next allocations counts as used, and takes many
/// rounds to fill where a driver has threads.
void expectNoGrowth(Trial &trial, int rounds, TestHost *host,
                    const std::function<void()> &body) {
  for (int i = 0; i < rounds / 4 + 2 && trial.ok(); ++i)
    body();
  std::string left = "something";
  for (int i = 0; i < 12 && trial.ok() && !left.empty(); ++i)
    left = growth(rounds, host, body);
  trial.expect(left.empty(),
               std::to_string(rounds) + " rounds leave " + left + " behind");
}

void leaks(Trial &trial, const Scenario &scenario) {
  Fixture fixture(trial);
  expectNoGrowth(trial, 300, &fixture.host(), [&] { scenario.run(fixture); });
}

void contextLeaks(Trial &trial, const Scenario &scenario) {
  expectNoGrowth(trial, 60, nullptr, [&] {
    Fixture fixture(trial);
    scenario.run(fixture);
  });
}

void modelLeaks(Trial &trial, const ModelScenario &scenario) {
  ModelFixture model(trial);
  expectNoGrowth(trial, 100, &model.fixture.host(),
                 [&] { scenario.run(model); });
}

void addLeaks(Checks &all) {
  Group group(all, "L7/leak",
              "What is done many times leaves no memory, file or thread "
              "behind, whether it succeeds or fails.",
              {"leak"});
  for (const Scenario &scenario : scenarios()) {
    group.add(scenario.name, [&](Trial &trial) { leaks(trial, scenario); });
    group.add(std::string("contexts/") + scenario.name,
              [&](Trial &trial) { contextLeaks(trial, scenario); });
  }
  for (const Scenario &scenario : failures()) {
    group.add(std::string("failed/") + scenario.name, Depth::Smoke,
              [&](Trial &trial) { leaks(trial, scenario); });
    group.add(std::string("contexts/failed/") + scenario.name,
              [&](Trial &trial) { contextLeaks(trial, scenario); });
  }
  for (const ModelScenario &scenario : modelScenarios()) {
    Group models(all, std::string("L7/leak-model/") + scenario.name,
                 "The same with a model.", {"leak"});
    models.of(scenario.model);
    models.add("100-times", [&](Trial &trial) { modelLeaks(trial, scenario); });
  }
}

// ---- Crowds ----

void inThreads(unsigned count, const std::function<void(unsigned)> &body) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t)
    threads.emplace_back(body, t);
  for (std::thread &thread : threads)
    thread.join();
}

void ownContexts(Trial &trial, const Scenario &scenario, unsigned count) {
  inThreads(count, [&](unsigned) {
    for (int i = 0; i < 3 && trial.ok(); ++i) {
      Fixture fixture(trial);
      scenario.run(fixture);
    }
  });
}

/// One device, for each thread a queue and memory. Handles of the device are
/// made one at a time, as the caller of a device has to see to.
void sharedDevice(Trial &trial, unsigned count, How how) {
  Fixture fixture(trial);
  std::deque<Queue> queues;
  std::deque<Buffer> buffers;
  for (unsigned t = 0; t < count; ++t) {
    queues.emplace_back(fixture);
    buffers.emplace_back(fixture, 20000);
    buffers.emplace_back(fixture, 20000);
  }
  std::mutex making;
  inThreads(count, [&](unsigned t) {
    Buffer &a = buffers[2 * t], &b = buffers[2 * t + 1];
    a.fill(t);
    b.fill(t + 100);
    for (uint32_t i = 0; i < 40 && fixture.good(); ++i) {
      Commands commands;
      commands.fill(a, 4 * i, 4000, i, 4).barrier().copy(a, i, b, 9, 15000);
      if (how == How::Execute) {
        queues[t].run(commands);
      } else {
        std::lock_guard lock(making);
        queues[t].run(commands, how);
      }
    }
    a.expect("memory of one thread among many");
    b.expect("memory of one thread among many");
  });
}

void modelInThreads(Trial &trial, unsigned count) {
  ModelFixture model(trial);
  Bytes expected = model.run(1);
  std::deque<Queue> queues;
  std::deque<Call> calls;
  for (unsigned t = 0; t < count && model.good(); ++t) {
    queues.emplace_back(model.fixture);
    calls.emplace_back(model.fixture, model.compiled, model.executables,
                       model.sizes(), 1);
  }
  if (model.good())
    inThreads(count, [&](unsigned t) {
      for (int i = 0; i < 15 && model.good(); ++i) {
        queues[t].run(calls[t].commands());
        trial.expect(calls[t].outputs() == expected || !model.good(),
                     "one thread among many gets other results");
      }
    });
}

void addCrowds(Checks &all) {
  Group group(all, "L7/concurrency",
              "24 threads at once disturb each other neither in contexts of "
              "their own nor on one device.",
              {"race"});
  for (unsigned count : {4u, 24u}) {
    std::string threads = std::to_string(count) + "-threads/";
    for (const Scenario &scenario : scenarios())
      group.add(threads + "contexts-" + scenario.name,
                [&scenario, count](Trial &trial) {
                  ownContexts(trial, scenario, count);
                });
    for (How how : allWays)
      group.add(threads + "device-" + name(how),
                how == How::Execute ? Depth::Smoke : Depth::Standard,
                sharedDevice, count, how);
  }
  for (const char *model : {"gather-i32", "matmul-f32-mkn", "layers-f32"}) {
    Group models(all, std::string("L7/concurrency-model/") + model,
                 "24 threads run one loaded model on queues of their own.",
                 {"race", "workspace"});
    models.of(model);
    models.add("24-threads", modelInThreads, 24);
  }
}

// ---- Rare races ----

/// Something that goes wrong once in hundreds of runs is found.
void runsOften(Trial &trial, int times, const HostPlan &plan) {
  ModelFixture model(trial, plan);
  Bytes expected = model.run(1);
  if (!model.good())
    return;
  Call call(model.fixture, model.compiled, model.executables, model.sizes(), 1);
  for (int i = 0; i < times && model.good(); ++i) {
    model.queue->run(call.commands());
    trial.expect(call.outputs() == expected || !model.good(),
                 "run " + std::to_string(i + 1) +
                     " of one command list gives "
                     "other results");
  }
}

void addRaces(Checks &all) {
  for (const char *model :
       {"add-f32", "row-sums-i32-mn", "scatter-add-i32", "layers-f32"}) {
    Group group(all, std::string("L7/often/") + model,
                "Thousands of runs give the same bits.",
                {"race", "atomic", "workspace"});
    group.of(model);
    group.add("2500-times", [](Trial &t) { runsOften(t, 2500, {}); });
    HostPlan shuffled;
    shuffled.order = LoopOrder::Shuffled;
    group.add("1500-times-shuffled", runsOften, 1500, shuffled);
  }
}

} // namespace

void addEndurance(Checks &all) {
  addLeaks(all);
  addCrowds(all);
  addRaces(all);
}

} // namespace backplane::checks
