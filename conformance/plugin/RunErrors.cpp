// SPDX-License-Identifier: Apache-2.0
//
// RunErrors.cpp: dispatches whose data are bad.
#include "RunGroups.h"

namespace backplane::checks {
namespace {

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
  model.expectSame(model.run(11), expected, "a run after one that failed");
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

} // namespace

void addErrors(Checks &all, const ModelName &model) {
  Group group(all, std::string("L2/") + model.name + "/error",
              "An index out of range fails the work with OUT_OF_RANGE and the "
              "op's id, and harms nothing else.",
              {"error-word", "leak"});
  group.of(model.name);
  for (How how : allWays)
    group.add(std::string("index-1000-") + name(how),
              how == How::Execute ? Depth::Smoke : Depth::Standard, badIndex,
              1000, how);
  for (int64_t index : {int64_t(5), int64_t(1) << 32, INT64_MAX})
    group.add("index-" + std::to_string(index), badIndex, index, How::Execute);
  group.add("travels", failureTravels);
  group.add("often", failsOften);
}

} // namespace backplane::checks
