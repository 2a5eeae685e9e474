// SPDX-License-Identifier: Apache-2.0
//
// AbiLifeCycle.cpp: initialize and shutdown.
#include "Groups.h"
#include "Work.h"

#include <thread>

namespace backplane::checks {
namespace {

/// Some work on a device, so that a `self` is not just made and dropped.
void useFixture(Fixture &fixture, uint64_t seed) {
  Buffer a(fixture, 1000), b(fixture, 1000);
  Queue queue(fixture);
  a.fill(seed);
  b.fill(seed + 1);
  queue.run(Commands().copy(a, 8, b, 16, 900));
  b.expect("a copy");
}

void cycles(Trial &trial, int count) {
  for (int i = 0; i < count && trial.ok(); ++i)
    Fixture fixture(trial);
}

void cyclesWithWork(Trial &trial) {
  for (uint64_t i = 0; i < 50 && trial.ok(); ++i) {
    Fixture fixture(trial);
    useFixture(fixture, i);
  }
}

void sideBySide(Trial &trial, size_t count) {
  std::vector<std::unique_ptr<Fixture>> rigs;
  for (size_t i = 0; i < count; ++i)
    rigs.push_back(std::make_unique<Fixture>(trial));
  for (size_t i = 0; i < count; ++i)
    useFixture(*rigs[i], i);
}

/// What belongs to one context must not be kept where the next one finds it.
void outlives(Trial &trial, bool firstGoes) {
  auto first = std::make_unique<Fixture>(trial);
  auto second = std::make_unique<Fixture>(trial);
  useFixture(*first, 1);
  (firstGoes ? first : second)->close();
  useFixture(*(firstGoes ? second : first), 2);
}

void interleaved(Trial &trial) {
  Fixture a(trial), b(trial);
  Queue first(a), second(b);
  Buffer one(a, 256), two(b, 256);
  one.fill(1);
  two.fill(2);
  for (uint32_t i = 0; i < 20; ++i) {
    first.run(Commands().fill(one, i, 7, i, 1));
    second.run(Commands().fill(two, i, 9, ~i, 1));
  }
  one.expect("the first context");
  two.expect("the second context");
}

void inThreads(Trial &trial) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 6; ++t)
    threads.emplace_back([&trial, t] {
      for (uint64_t i = 0; i < 10 && trial.ok(); ++i) {
        Fixture fixture(trial);
        useFixture(fixture, t * 100 + i);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Made by one thread, used by another, ended by a third.
void acrossThreads(Trial &trial) {
  std::unique_ptr<Fixture> fixture;
  std::thread([&] { fixture = std::make_unique<Fixture>(trial); }).join();
  std::thread([&] { useFixture(*fixture, 3); }).join();
  std::thread([&] { fixture.reset(); }).join();
}

void onHost(Trial &trial, const HostPlan &plan) {
  Fixture fixture(trial, plan);
  useFixture(fixture, 5);
}

/// A plug-in may need a table that this host does not have; then it says so.
void withoutGraphTable(Trial &trial) {
  HostPlan plan;
  plan.graphTable = false;
  TestHost host(plan);
  Library library(trial);
  bp_plugin_table_t plugin = {};
  DriverTables driver = {};
  if (!trial.ok() || !readTables(trial, library.info(), plugin, driver))
    return;
  bp_options_t none = {};
  void *self = nullptr;
  bp_error_t error;
  bp_status_t status = plugin.initialize(host.table(), &none, &self, &error);
  if (status == BP_STATUS_OK)
    plugin.shutdown(self);
  else
    trial.expect(!error.message.empty(), "initialize failed without a message");
  host.close();
  trial.expect(host.liveBlocks() == 0,
               "initialize failed and left memory of the host behind");
  trial.expect(host.complaint().empty(), host.complaint());
}

/// Unknown options are refused by name, whether or not the caller wants to
/// read the reason.
void unknownOption(Trial &trial, bool wantsReason) {
  TestHost host;
  Library library(trial);
  bp_plugin_table_t plugin = {};
  DriverTables driver = {};
  if (!trial.ok() || !readTables(trial, library.info(), plugin, driver))
    return;
  bp_option_t option = {toC("no_such_option"), toC("1")};
  bp_options_t options = {&option, 1};
  void *self = nullptr;
  bp_error_t error;
  bp_status_t status = plugin.initialize(host.table(), &options, &self,
                                         wantsReason ? &error : nullptr);
  if (status == BP_STATUS_OK)
    plugin.shutdown(self);
  trial.expect(status == BP_STATUS_INVALID_ARGUMENT,
               "initialize with an unknown option gave status " +
                   std::to_string(status));
  if (wantsReason)
    trial.expect(error.message.find("no_such_option") != std::string::npos,
                 "initialize does not name the option that it refuses: '" +
                     error.message + "'");
  host.close();
  trial.expect(host.liveBlocks() == 0,
               "initialize failed and left memory of the host behind");
}

void addHosts(Checks &all) {
  Group group(all, "L0/host",
              "A plug-in works with every host that keeps to bp_host_t.");
  for (uint32_t workers : {1u, 2u, 3u, 64u}) {
    HostPlan plan;
    plan.workers = workers;
    group.add("workers-" + std::to_string(workers), onHost, plan);
  }
  for (auto [order, name] : {std::pair(LoopOrder::Forward, "forward"),
                             std::pair(LoopOrder::Backward, "backward"),
                             std::pair(LoopOrder::Shuffled, "shuffled")}) {
    HostPlan plan;
    plan.order = order;
    group.add(std::string("loop-") + name, onHost, plan);
  }
  for (uint32_t tail : {8u, 1024u}) {
    HostPlan plan;
    plan.tailBytes = tail;
    group.add("larger-by-" + std::to_string(tail), onHost, plan);
  }
  HostPlan plain;
  plain.cpuFeatures = "";
  group.add("no-cpu-features", onHost, plain);
  HostPlan late;
  late.postDelayMs = 30;
  group.add("posted-tasks-late", onHost, late);
  group.add("without-graph-table", withoutGraphTable);
}

} // namespace

void addLifeCycle(Checks &all) {
  Group group(all, "L0/lifecycle",
              "initialize and shutdown pair up any number of times, contexts "
              "live side by side, and nothing is left behind.",
              {"leak"});
  group.add("once", Depth::Smoke, cycles, 1);
  group.add("20-times", Depth::Smoke, cycles, 20);
  group.add("1000-times", cycles, 1000);
  group.add("with-work-50-times", cyclesWithWork);
  for (size_t count : {2, 3, 16})
    group.add("side-by-side-" + std::to_string(count),
              count == 2 ? Depth::Smoke : Depth::Standard, sideBySide, count);
  group.add("second-outlives-first", Depth::Smoke, outlives, true);
  group.add("first-outlives-second", outlives, false);
  group.add("interleaved", interleaved);
  group.add("in-6-threads", inThreads);
  group.add("across-threads", acrossThreads);
  group.add("unknown-option", unknownOption, true);
  group.add("unknown-option-no-error", unknownOption, false);
  addHosts(all);
}

} // namespace backplane::checks
