// SPDX-License-Identifier: Apache-2.0
#include "Scenarios.h"

namespace backplane::checks {
namespace {

void start(Fixture &) {}

void queues(Fixture &fixture) {
  Queue compute(fixture), transfer(fixture, BP_QUEUE_TRANSFER);
}

void buffers(Fixture &fixture) {
  Buffer a(fixture, 1), b(fixture, 4097, BP_SPACE_STAGING, 256),
      c(fixture, 100000);
  for (Buffer *buffer : {&a, &b, &c}) {
    buffer->fill(buffer->size());
    buffer->expect("memory");
  }
}

template <How how> void transfers(Fixture &fixture) {
  Queue queue(fixture);
  Buffer a(fixture, 3000), b(fixture, 3000);
  a.fill(1);
  b.fill(2);
  queue.run(Commands().copy(a, 5, b, 7, 2000).barrier().fill(a, 8, 80, 9, 4),
            how);
  a.expect("a fill");
  b.expect("a copy");
}

void timelines(Fixture &fixture) {
  Timeline timeline(fixture, 3);
  if (fixture.good())
    fixture.take(timeline.signal(4), "semaphore_signal");
  timeline.expectReached(4);
}

void imports(Fixture &fixture) {
  alignas(4096) uint8_t memory[4096] = {};
  Buffer buffer(fixture, memory, sizeof(memory), false);
  buffer.fill(3);
  buffer.expect("imported memory");
}

void enumerates(Fixture &fixture) {
  bp_device_sink_t sink = {};
  sink.put = [](void *, const bp_device_info_t *) {
    return bp_status_t(BP_STATUS_OK);
  };
  bp_options_t none = {};
  if (fixture.good())
    fixture.take(callPlugin("enumerate", fixture.tables().driver.enumerate,
                            fixture.self(),
                            static_cast<const bp_options_t *>(&none),
                            static_cast<const bp_device_sink_t *>(&sink)),
                 "enumerate");
}

void opens(Fixture &fixture) {
  bp_options_t options = {fixture.options().data(), fixture.options().size()};
  bp_device_t *device = nullptr;
  if (fixture.good() &&
      fixture.take(callPlugin("open", fixture.tables().driver.open,
                              fixture.self(), fixture.info().id,
                              static_cast<const bp_options_t *>(&options),
                              &device),
                   "open"))
    fixture.tables().driver.close(device);
}

constexpr Scenario good[] = {
    {"start", start},
    {"queues", queues},
    {"buffers", buffers},
    {"execute", transfers<How::Execute>},
    {"record", transfers<How::Record>},
    {"slots", transfers<How::Slots>},
    {"submit", transfers<How::Submit>},
    {"timelines", timelines},
    {"import", imports},
    {"enumerate", enumerates},
    {"open", opens},
};

// ---- What fails ----

void openUnknown(Fixture &fixture) {
  bp_options_t none = {};
  bp_device_t *device = nullptr;
  if (fixture.good())
    fixture.trial().expect(!callPlugin("open", fixture.tables().driver.open,
                                       fixture.self(), toC("no-such-device"),
                                       static_cast<const bp_options_t *>(&none),
                                       &device)
                                .ok(),
                           "a device that is not listed was opened");
}

void openOption(Fixture &fixture) {
  bp_option_t option = {toC("no_such_option"), toC("1")};
  bp_options_t options = {&option, 1};
  bp_device_t *device = nullptr;
  if (fixture.good())
    fixture.trial().expect(
        !callPlugin("open", fixture.tables().driver.open, fixture.self(),
                    fixture.info().id,
                    static_cast<const bp_options_t *>(&options), &device)
             .ok(),
        "an unknown option was taken");
}

void enumerateOption(Fixture &fixture) {
  bp_option_t option = {toC("no_such_option"), toC("1")};
  bp_options_t options = {&option, 1};
  bp_device_sink_t sink = {};
  sink.put = [](void *, const bp_device_info_t *) {
    return bp_status_t(BP_STATUS_OK);
  };
  if (fixture.good())
    fixture.trial().expect(
        !callPlugin("enumerate", fixture.tables().driver.enumerate,
                    fixture.self(), static_cast<const bp_options_t *>(&options),
                    static_cast<const bp_device_sink_t *>(&sink))
             .ok(),
        "an unknown option was taken");
}

void tooLarge(Fixture &fixture) {
  bp_buffer_t *buffer = nullptr;
  if (fixture.good())
    fixture.trial().expect(!callPlugin("buffer_allocate",
                                       fixture.tables().memory.buffer_allocate,
                                       fixture.device(), BP_SPACE_DEVICE,
                                       uint64_t(1) << 62, uint64_t(64), &buffer)
                                .ok(),
                           "a buffer of 2^62 bytes was given");
}

void unknownCommand(Fixture &fixture) {
  Queue queue(fixture);
  if (!fixture.good())
    return;
  bp_command_barrier_t command = {BP_HEADER(bp_command_barrier_t)};
  command.header.type = 77;
  Status status = queue.outcome(&command.header);
  fixture.trial().expect(!status.ok(), "an unknown command was taken");
}

void unknownClass(Fixture &fixture) {
  bp_queue_t *queue = nullptr;
  if (fixture.good())
    fixture.trial().expect(!callPlugin("queue_create",
                                       fixture.tables().queue.queue_create,
                                       fixture.device(), 77u, &queue)
                                .ok(),
                           "a queue of an unknown class was made");
}

void garbageBlob(Fixture &fixture) {
  if (!fixture.good())
    return;
  Blob blob;
  blob.format = view(fixture.info().formats[0]);
  blob.entries.push_back({.name = "entry", .bindingAccess = {1, 2}});
  fixture.trial().expect(
      !Executable::attempt(fixture, blob, noise(3000, 1)).ok(),
      "noise was loaded as an executable");
}

void waitInVain(Fixture &fixture) {
  Timeline timeline(fixture, 0);
  if (fixture.good())
    fixture.trial().expect(timeline.wait(1, 1000).code() ==
                               BP_STATUS_DEADLINE_EXCEEDED,
                           "a wait for what does not come ended otherwise");
}

constexpr Scenario bad[] = {
    {"open-unknown-device", openUnknown},
    {"open-unknown-option", openOption},
    {"enumerate-unknown-option", enumerateOption},
    {"buffer-too-large", tooLarge},
    {"unknown-command", unknownCommand},
    {"unknown-queue-class", unknownClass},
    {"garbage-blob", garbageBlob},
    {"wait-in-vain", waitInVain},
};

// ---- Models ----

void load(ModelFixture &model) {
  for (const Blob &blob : model.compiled.blobs())
    Executable one(model.fixture, blob);
}

template <How how> void run(ModelFixture &model) { model.run(1, {}, how); }

void runBadIndex(ModelFixture &model) {
  if (!model.good())
    return;
  Layout layout;
  layout.badIndex = 1000;
  Call call(model.fixture, model.compiled, model.executables, model.sizes(), 1,
            layout);
  Status status = model.queue->outcome(call.commands());
  if (model.good() && status.code() != BP_STATUS_OUT_OF_RANGE)
    model.fixture.take(status.ok() ? internalError("a bad index was taken")
                                   : status,
                       "a run with a bad index");
}

void loadDamaged(ModelFixture &model) {
  for (const Blob &blob : model.compiled.blobs())
    for (uint64_t length : {blob.bytes.size() / 20, blob.bytes.size() / 2}) {
      if (!model.good())
        return;
      (void)Executable::attempt(model.fixture, blob,
                                {blob.bytes.data(), length});
    }
}

constexpr ModelScenario models[] = {
    {"load", "matmul-f32", load},
    {"load-damaged", "matmul-f32", loadDamaged},
    {"run", "matmul-f32", run<How::Execute>},
    {"run-layers", "layers-f32", run<How::Execute>},
    {"run-recorded", "layers-f32", run<How::Slots>},
    {"run-submitted", "row-sums-i32-mn", run<How::Submit>},
    {"run-scatter", "scatter-add-i32", run<How::Execute>},
    {"run-bad-index", "gather-i32", runBadIndex},
};

} // namespace

std::span<const Scenario> scenarios() { return good; }
std::span<const Scenario> failures() { return bad; }
std::span<const ModelScenario> modelScenarios() { return models; }

} // namespace backplane::checks
