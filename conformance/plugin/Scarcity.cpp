// SPDX-License-Identifier: Apache-2.0
//
// Scarcity.cpp: memory that runs out: every allocation fails in turn, and
// nothing is lost or crashes.
#include "Groups.h"
#include "Scenarios.h"
#include "sdk/support/ProcessUse.h"

#include <sys/resource.h>

namespace backplane::checks {
namespace {

/// More allocations than any scenario makes.
constexpr uint64_t maxAllocations = 2000;

/// Each allocation of the host's memory fails once, or from then on.
void eachFails(Trial &trial, const Scenario &scenario, bool onwards) {
  for (uint64_t n = 0; n < maxAllocations && trial.ok(); ++n) {
    Fixture fixture(trial, {}, Fixture::Mode::Tolerant);
    fixture.host().failAfter(n, onwards);
    fixture.start();
    scenario.run(fixture);
    bool failed = fixture.host().hasFailed();
    fixture.host().failNever();
    if (!failed)
      return;
  }
}

/// After a failure the same context does what it could not.
void recovers(Trial &trial, const Scenario &scenario) {
  for (uint64_t n = 0; n < maxAllocations && trial.ok(); ++n) {
    Fixture fixture(trial, {}, Fixture::Mode::Tolerant);
    fixture.start();
    fixture.host().failAfter(n, true);
    scenario.run(fixture);
    bool failed = fixture.host().hasFailed();
    fixture.host().failNever();
    fixture.forgive();
    scenario.run(fixture);
    trial.expect(fixture.failure().ok(),
                 "memory is back, but the driver says: " +
                     fixture.failure().message());
    if (!failed)
      return;
  }
}

void modelFails(Trial &trial, const ModelScenario &scenario, bool onwards) {
  for (uint64_t n = 0; n < maxAllocations && trial.ok(); ++n) {
    ModelFixture model(trial, Fixture::Mode::Tolerant);
    model.fixture.start();
    model.fixture.host().failAfter(n, onwards);
    model.load();
    scenario.run(model);
    bool failed = model.fixture.host().hasFailed();
    model.fixture.host().failNever();
    model.fixture.forgive();
    model.load();
    scenario.run(model);
    trial.expect(model.fixture.failure().ok(),
                 "memory is back, but the driver says: " +
                     model.fixture.failure().message());
    if (!failed)
      return;
  }
}

/// While this lives, the process cannot have much more memory.
class Limit {
public:
  explicit Limit(uint64_t bytes) {
    getrlimit(RLIMIT_DATA, &kept_);
    rlimit lower = kept_;
    lower.rlim_cur = std::min<rlim_t>(bytes, kept_.rlim_max);
    setrlimit(RLIMIT_DATA, &lower);
  }
  ~Limit() { setrlimit(RLIMIT_DATA, &kept_); }

private:
  rlimit kept_ = {};
};

HostPlan oneThread() {
  HostPlan plan;
  plan.order = LoopOrder::Forward;
  return plan;
}

/// Takes buffers until the driver has no more; returns the failure.
Status exhaust(Fixture &fixture, uint64_t size,
               std::vector<bp_buffer_t *> &buffers) {
  Limit limit(dataBytes() + (uint64_t(64) << 20));
  while (buffers.size() < buffers.capacity()) {
    bp_buffer_t *handle = nullptr;
    Status status = callPlugin(
        "buffer_allocate", fixture.tables().memory.buffer_allocate,
        fixture.device(), BP_SPACE_DEVICE, size, uint64_t(64), &handle);
    if (!status.ok())
      return status;
    buffers.push_back(handle);
  }
  return {};
}

/// The machine says no, not the host.
void limited(Trial &trial, uint64_t size) {
  Fixture fixture(trial, oneThread());
  Buffer before(fixture, 1000);
  before.fill(1);
  if (!fixture.good())
    return;
  std::vector<bp_buffer_t *> buffers;
  buffers.reserve(1000);
  Status status = exhaust(fixture, size, buffers);
  for (bp_buffer_t *buffer : buffers)
    fixture.tables().memory.buffer_free(fixture.device(), buffer);
  if (status.ok())
    return trial.skip("buffers do not come from this process's memory");
  trial.expect(status.code() == BP_STATUS_RESOURCE_EXHAUSTED,
               "no memory gives another code than RESOURCE_EXHAUSTED: " +
                   status.message());
  before.expect("memory from before");
  Buffer after(fixture, size);
  after.fill(2);
  after.expect("memory after there was none");
}

} // namespace

void addScarcity(Checks &all) {
  Group group(all, "L7/out-of-memory",
              "Each allocation may fail: the call gives RESOURCE_EXHAUSTED, "
              "nothing is lost, and the context goes on when memory is back.",
              {"oom", "leak"});
  for (const Scenario &scenario : scenarios()) {
    std::string name = scenario.name;
    Depth depth = name == "execute" ? Depth::Smoke : Depth::Standard;
    group.add(name + "/one-fails", depth,
              [&](Trial &trial) { eachFails(trial, scenario, false); });
    group.add(name + "/all-fail", depth,
              [&](Trial &trial) { eachFails(trial, scenario, true); });
    group.add(name + "/recovers",
              [&](Trial &trial) { recovers(trial, scenario); });
  }
  for (uint64_t size : {uint64_t(1) << 20, uint64_t(40) << 20})
    group.add("process-limit-" + std::to_string(size), limited, size);
  for (const ModelScenario &scenario : modelScenarios()) {
    Group models(all, std::string("L7/out-of-memory-model/") + scenario.name,
                 "The same while a model is loaded and run.", {"oom", "leak"});
    models.of(scenario.model);
    models.add("one-fails",
               [&](Trial &trial) { modelFails(trial, scenario, false); });
    models.add("all-fail",
               [&](Trial &trial) { modelFails(trial, scenario, true); });
  }
}

} // namespace backplane::checks
