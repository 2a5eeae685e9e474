// SPDX-License-Identifier: Apache-2.0
#include "Submit.h"

#include <string_view>

namespace backplane::cuda {

bool settled(const bp_timepoint_t &at) {
  return at.semaphore->failure.status != BP_STATUS_OK ||
         at.semaphore->value >= at.value;
}

Outcome outcomeOf(bp_device_t &device, CUresult result) {
  Outcome outcome{statusOf(result)};
  constexpr std::string_view what = "the CUDA device failed: ";
  std::span<char> text = outcome.message;
  text = text.subspan(what.copy(text.data(), what.size()));
  device.cuda.describe(result, text);
  if (isSticky(result))
    device.lose(text.data());
  return outcome;
}

// ---- What a submission waits for ----

/// What is in a stream, raises a semaphore to a value and cannot fail.
struct Promise {
  const bp_queue_t *queue = nullptr; ///< null: there is none
  CUevent done = nullptr;
};

static Promise promiseOf(const bp_device_t &device, const bp_timepoint_t &at) {
  for (const bp_queue_t *queue : device.open)
    for (const Submission &submission : queue->running)
      if (submission.started && !submission.mayFail)
        for (const bp_timepoint_t &signal : submission.signals)
          if (signal.semaphore == at.semaphore && signal.value >= at.value)
            return {queue, submission.recording->done()};
  return {};
}

/// The failure that keeps a submission from running, if any.
static Outcome obstacle(bp_device_t &device,
                        std::span<const bp_timepoint_t> waits) {
  for (const bp_timepoint_t &at : waits)
    if (at.semaphore->failure.status != BP_STATUS_OK)
      return at.semaphore->failure;
  Outcome lost{BP_STATUS_UNAVAILABLE};
  return device.isLost(lost.message) ? lost : Outcome();
}

/// Whether the stream can do all the waiting that is left.
static bool isReady(const bp_device_t &device,
                    std::span<const bp_timepoint_t> waits) {
  return std::all_of(waits.begin(), waits.end(), [&](const auto &at) {
    return settled(at) || promiseOf(device, at).queue;
  });
}

/// Has the stream wait. Work of the same queue is done in order.
static CUresult await(const bp_queue_t &queue,
                      std::span<const bp_timepoint_t> waits) {
  const bp_device_t &device = *queue.device;
  CUresult result = CUDA_SUCCESS;
  for (const bp_timepoint_t &at : waits) {
    Promise promise = settled(at) ? Promise() : promiseOf(device, at);
    if (promise.queue && promise.queue != &queue && !result)
      result = device.cuda.cuStreamWaitEvent(queue.stream, promise.done, 0);
  }
  return result;
}

// ---- What is held back ----

/// Moves the first submission of a queue on; false when it has to wait.
static bool advance(bp_queue_t &queue) {
  Submission &first = queue.waiting.front();
  first.failure = obstacle(*queue.device, first.waits);
  if (first.failure.status == BP_STATUS_OK) {
    if (!isReady(*queue.device, first.waits))
      return false;
    Current current(*queue.device);
    CUresult result = await(queue, first.waits);
    if (!result)
      result = first.recording->launch(queue.stream);
    first.started = !result;
    if (result)
      first.failure = outcomeOf(*queue.device, result);
  }
  queue.running.splice(queue.running.end(), queue.waiting,
                       queue.waiting.begin());
  queue.work.notify_one();
  return true;
}

void advance(bp_device_t &device, const Lock &) {
  for (bool moved = true; moved;) {
    moved = false;
    for (bp_queue_t *queue : device.open)
      while (!queue->waiting.empty() && advance(*queue))
        moved = true;
  }
}

// ---- Submitting ----

namespace {

/// One submission on its way to a queue. Whatever needs memory is made while
/// nothing is locked.
class Sender {
public:
  explicit Sender(bp_queue_t &queue) : queue_(queue), device_(*queue.device) {}

  void prepare(Commands commands, const Terms &terms);
  CUresult send(Commands commands, const Replay &replay);

private:
  CUresult fill(Commands commands, const Replay &replay, bool now);
  /// Whether the commands go to the stream at once, which then waits.
  CUresult start(bool &now);
  void putBack();

  bp_queue_t &queue_;
  bp_device_t &device_;
  std::list<Submission> one_;
};

bool hasKernels(Commands commands) {
  return std::any_of(commands.begin(), commands.end(), [](const auto *command) {
    return command->type == bp_command_dispatch_t_TYPE;
  });
}

void Sender::prepare(Commands commands, const Terms &terms) {
  std::list<Recording> fresh;
  fresh.emplace_back(device_);
  Submission &made = one_.emplace_back();
  made.waits.assign(terms.waits.begin(), terms.waits.end());
  made.signals.assign(terms.signals.begin(), terms.signals.end());
  made.completion = terms.completion;
  made.times = terms.times;
  made.mayFail = hasKernels(commands);
  Lock lock(device_.mutex);
  RecordingPool *replayed = terms.replay.recordings;
  made.home = replayed ? replayed : &queue_.recordings;
  made.recording = replayed ? replayed->take(fresh, terms.replay.bound)
                            : made.home->take(fresh);
}

CUresult Sender::start(bool &now) {
  Lock lock(device_.mutex);
  std::span<const bp_timepoint_t> waits = one_.front().waits;
  now = queue_.waiting.empty() && isReady(device_, waits) &&
        obstacle(device_, waits).status == BP_STATUS_OK;
  return now ? await(queue_, waits) : CUDA_SUCCESS;
}

/// What was put into the stream before a failure is done when the recording
/// can be used again.
void Sender::putBack() {
  device_.cuda.cuStreamSynchronize(queue_.stream);
  Lock lock(device_.mutex);
  one_.front().home->putBack(one_.front().recording);
}

/// Puts the commands into the stream or into a graph.
CUresult Sender::fill(Commands commands, const Replay &replay, bool now) {
  Submission &submission = one_.front();
  Recording &recording = *submission.recording;
  if (!replay.recordings)
    return now ? recording.play(queue_.stream, commands, submission.timed)
               : recording.capture(queue_.capture, commands);
  CUresult result = CUDA_SUCCESS;
  if (recording.holds(replay.bound))
    recording.rewind();
  else
    result = recording.capture(queue_.capture, commands, replay.bound);
  return now && !result ? recording.launch(queue_.stream) : result;
}

CUresult Sender::send(Commands commands, const Replay &replay) {
  Submission &submission = one_.front();
  bool now = false;
  CUresult result = start(now);
  submission.timed = now && submission.times;
  if (!result)
    result = fill(commands, replay, now);
  if (result) {
    putBack();
    return result;
  }
  submission.started = now;
  Lock lock(device_.mutex);
  std::list<Submission> &to = now ? queue_.running : queue_.waiting;
  to.splice(to.end(), one_);
  queue_.work.notify_one();
  advance(device_, lock);
  return CUDA_SUCCESS;
}

} // namespace

bp_status_t submit(bp_queue_t &queue, Commands commands, const Terms &terms,
                   bp_error_t *error) {
  bp_device_t &device = *queue.device;
  if (std::optional<uint32_t> unknown = Recording::unknownCommand(commands))
    return fail(device.driver, error, BP_STATUS_UNIMPLEMENTED,
                "the CUDA driver has no command of type " +
                    std::to_string(*unknown));
  char lost[maxMessage];
  if (device.isLost(lost))
    return fail(device.driver, error, BP_STATUS_UNAVAILABLE, lost);
  Sender sender(queue);
  sender.prepare(commands, terms);
  Current current(device);
  CUresult result = sender.send(commands, terms.replay);
  return result ? device.fail(error, result, "cannot run commands")
                : BP_STATUS_OK;
}

} // namespace backplane::cuda
