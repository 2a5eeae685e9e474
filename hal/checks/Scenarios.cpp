// SPDX-License-Identifier: Apache-2.0
#include "Scenarios.h"

namespace backplane::checks {
namespace {

void start(Rig &) {}

void queues(Rig &rig) { Queue compute(rig), transfer(rig, BP_QUEUE_TRANSFER); }

void buffers(Rig &rig) {
  Buffer a(rig, 1), b(rig, 4097, BP_SPACE_STAGING, 256), c(rig, 100000);
  for (Buffer *buffer : {&a, &b, &c}) {
    buffer->fill(buffer->size());
    buffer->expect("memory");
  }
}

template <How how> void transfers(Rig &rig) {
  Queue queue(rig);
  Buffer a(rig, 3000), b(rig, 3000);
  a.fill(1);
  b.fill(2);
  queue.run(Commands().copy(a, 5, b, 7, 2000).barrier().fill(a, 8, 80, 9, 4),
            how);
  a.expect("a fill");
  b.expect("a copy");
}

void timelines(Rig &rig) {
  Timeline timeline(rig, 3);
  if (rig.good())
    rig.take(timeline.signal(4), "semaphore_signal");
  timeline.expectReached(4);
}

void imports(Rig &rig) {
  alignas(4096) uint8_t memory[4096] = {};
  Buffer buffer(rig, memory, sizeof(memory), false);
  buffer.fill(3);
  buffer.expect("imported memory");
}

void enumerates(Rig &rig) {
  bp_device_sink_t sink = {};
  sink.put = [](void *, const bp_device_info_t *) {
    return bp_status_t(BP_STATUS_OK);
  };
  bp_options_t none = {};
  if (rig.good())
    rig.take(callPlugin("enumerate", rig.tables().driver.enumerate, rig.self(),
                        static_cast<const bp_options_t *>(&none),
                        static_cast<const bp_device_sink_t *>(&sink)),
             "enumerate");
}

void opens(Rig &rig) {
  bp_options_t options = {rig.options().data(), rig.options().size()};
  bp_device_t *device = nullptr;
  if (rig.good() &&
      rig.take(callPlugin("open", rig.tables().driver.open, rig.self(),
                          rig.info().id,
                          static_cast<const bp_options_t *>(&options), &device),
               "open"))
    rig.tables().driver.close(device);
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

void openUnknown(Rig &rig) {
  bp_options_t none = {};
  bp_device_t *device = nullptr;
  if (rig.good())
    rig.trial().expect(!callPlugin("open", rig.tables().driver.open, rig.self(),
                                   toC("no-such-device"),
                                   static_cast<const bp_options_t *>(&none),
                                   &device)
                            .ok(),
                       "a device that is not listed was opened");
}

void openOption(Rig &rig) {
  bp_option_t option = {toC("no_such_option"), toC("1")};
  bp_options_t options = {&option, 1};
  bp_device_t *device = nullptr;
  if (rig.good())
    rig.trial().expect(
        !callPlugin("open", rig.tables().driver.open, rig.self(), rig.info().id,
                    static_cast<const bp_options_t *>(&options), &device)
             .ok(),
        "an unknown option was taken");
}

void enumerateOption(Rig &rig) {
  bp_option_t option = {toC("no_such_option"), toC("1")};
  bp_options_t options = {&option, 1};
  bp_device_sink_t sink = {};
  sink.put = [](void *, const bp_device_info_t *) {
    return bp_status_t(BP_STATUS_OK);
  };
  if (rig.good())
    rig.trial().expect(!callPlugin("enumerate", rig.tables().driver.enumerate,
                                   rig.self(),
                                   static_cast<const bp_options_t *>(&options),
                                   static_cast<const bp_device_sink_t *>(&sink))
                            .ok(),
                       "an unknown option was taken");
}

void tooLarge(Rig &rig) {
  bp_buffer_t *buffer = nullptr;
  if (rig.good())
    rig.trial().expect(!callPlugin("buffer_allocate",
                                   rig.tables().memory.buffer_allocate,
                                   rig.device(), BP_SPACE_DEVICE,
                                   uint64_t(1) << 62, uint64_t(64), &buffer)
                            .ok(),
                       "a buffer of 2^62 bytes was given");
}

void unknownCommand(Rig &rig) {
  Queue queue(rig);
  if (!rig.good())
    return;
  bp_command_barrier_t command = {BP_HEADER(bp_command_barrier_t)};
  command.header.type = 77;
  Status status = queue.outcome(&command.header);
  rig.trial().expect(!status.ok(), "an unknown command was taken");
}

void unknownClass(Rig &rig) {
  bp_queue_t *queue = nullptr;
  if (rig.good())
    rig.trial().expect(!callPlugin("queue_create",
                                   rig.tables().queue.queue_create,
                                   rig.device(), 77u, &queue)
                            .ok(),
                       "a queue of an unknown class was made");
}

void garbageBlob(Rig &rig) {
  if (!rig.good())
    return;
  Blob blob;
  blob.format = view(rig.info().formats[0]);
  blob.entries.push_back({.name = "entry", .bindingAccess = {1, 2}});
  rig.trial().expect(!Executable::attempt(rig, blob, noise(3000, 1)).ok(),
                     "noise was loaded as an executable");
}

void waitInVain(Rig &rig) {
  Timeline timeline(rig, 0);
  if (rig.good())
    rig.trial().expect(timeline.wait(1, 1000).code() ==
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

void load(ModelRig &model) {
  for (const Blob &blob : model.compiled.blobs())
    Executable one(model.rig, blob);
}

template <How how> void run(ModelRig &model) { model.run(1, {}, how); }

void runBadIndex(ModelRig &model) {
  if (!model.good())
    return;
  Layout layout;
  layout.badIndex = 1000;
  Call call(model.rig, model.compiled, model.executables, model.sizes(), 1,
            layout);
  Status status = model.queue->outcome(call.commands());
  if (model.good() && status.code() != BP_STATUS_OUT_OF_RANGE)
    model.rig.take(status.ok() ? internalError("a bad index was taken")
                               : status,
                   "a run with a bad index");
}

void loadDamaged(ModelRig &model) {
  for (const Blob &blob : model.compiled.blobs())
    for (uint64_t length : {blob.bytes.size() / 20, blob.bytes.size() / 2}) {
      if (!model.good())
        return;
      (void)Executable::attempt(model.rig, blob, {blob.bytes.data(), length});
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
