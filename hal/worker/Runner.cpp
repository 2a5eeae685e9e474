// SPDX-License-Identifier: Apache-2.0
#include "Runner.h"

#include "hal/core/LoaderOptions.h"
#include "sdk/support/Hash.h"
#include "sdk/support/ProcessUse.h"
#include "sdk/support/ReadableText.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <sys/resource.h>
#include <thread>

namespace backplane::worker {
namespace {

/// Where large artifacts are kept, if anywhere.
ArtifactStore storeOf(const WorkerOptions &options) {
  Result<LoaderOptions> loader = loaderOptions(&takenEnvironment());
  if (!loader)
    return ArtifactStore("");
  bool isUsers = options.cacheDir == "auto";
  std::string folder = isUsers && !loader->cacheDir.empty()
                           ? loader->cacheDir + "/worker"
                       : isUsers ? std::string()
                                 : options.cacheDir;
  return ArtifactStore(std::move(folder), loader->trust);
}

} // namespace

Runner::Runner(SharedContext context, const WorkerOptions &options)
    : context_(std::move(context)), device_(options.device),
      plain_(options.plain), store_(storeOf(options)) {}

Status Runner::handle(const Frame &request, Frame &answer) {
  answer.type = FrameType::Ready;
  switch (request.type) {
  case FrameType::Offer:
    return offer(request.payload, answer);
  case FrameType::Artifact:
    return load(request.payload);
  case FrameType::Open:
    return open(request.payload, answer);
  case FrameType::Reset:
  case FrameType::Close:
    return resetOrClose(request);
  case FrameType::Run:
    return run(request.payload, answer);
  case FrameType::Batch:
    return batch(request.payload, answer);
  default:
    return unimplemented("this worker runs artifacts; it got frame type " +
                         std::to_string(unsigned(request.type)));
  }
}

void Runner::keep(const std::string &hash, Artifact artifact) {
  loaded_.push_front(
      {hash, {std::make_shared<const Artifact>(std::move(artifact)), nullptr}});
  if (loaded_.size() > maxLoaded)
    loaded_.pop_back();
}

Status Runner::offer(std::span<const uint8_t> payload, Frame &answer) {
  OfferMessage message;
  if (Status s = decode(payload, message); !s.ok())
    return s;
  if (find(message.hash))
    return {};
  std::string path = store_.find(message.hash);
  Result<Artifact> artifact =
      path.empty() ? notFound("") : openArtifact(*context_, path);
  if (artifact)
    keep(message.hash, std::move(*artifact));
  else
    answer.type = FrameType::Need;
  return {};
}

Status Runner::load(std::span<const uint8_t> payload) {
  ArtifactMessage message;
  if (Status s = decode(payload, message); !s.ok())
    return s;
  if (hashBytes(message.bytes) != message.hash)
    return dataLoss("an artifact does not have the hash it was sent with");
  if (find(message.hash))
    return {};
  Result<std::string> path = store_.put(message.hash, message.bytes);
  if (!path)
    std::fprintf(stderr, "worker: an artifact is not kept on disk: %s\n",
                 readableMessage(path.message()).c_str());
  bp_artifact_t *artifact = nullptr;
  Status status = checked([&](bp_error_t *error) {
    return path && !path->empty()
               ? bp_artifact_open(context_->get(), toC(*path), &artifact, error)
               : bp_artifact_open_bytes(
                     context_->get(),
                     {message.bytes.data(), message.bytes.size()}, &artifact,
                     error);
  });
  if (!status.ok())
    return status;
  keep(message.hash, Artifact(artifact));
  return {};
}

/// A chooser that takes one variant where it fits.
bp_status_t takeVariant(void *context, const bp_candidate_t *const *all,
                        uint32_t count, uint32_t *order, uint32_t *given,
                        const bp_string_sink_t *) {
  uint32_t wanted = *static_cast<uint32_t *>(context);
  for (uint32_t i = 0; i < count; ++i)
    if (all[i]->variant == wanted && all[i]->target.size &&
        !all[i]->misfit.size)
      order[(*given)++] = i;
  return BP_STATUS_OK;
}

Result<Session> Runner::makeSession(const Artifact &artifact, uint64_t budget,
                                    uint32_t variant) const {
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  bp_chooser_t chooser = {takeVariant, &variant};
  options.device = toC(device_);
  options.memory_budget = budget;
  if (variant != OpenMessage::anyVariant)
    options.chooser = &chooser;
  return createSession(artifact, options);
}

Status Runner::open(std::span<const uint8_t> payload, Frame &answer) {
  OpenMessage message;
  if (Status s = decode(payload, message); !s.ok())
    return s;
  const Loaded *loaded = find(message.artifact);
  if (!loaded)
    return notFound("artifact " + message.artifact +
                    " is not loaded; send it first");
  if (sessions_.size() >= maxSessions)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "the worker has " + std::to_string(maxSessions) +
                      " sessions open, which is the most it takes");
  Result<Session> session =
      makeSession(*loaded->own.artifact, message.memoryBudget, message.variant);
  if (!session)
    return session.status();
  OpenedMessage opened{++lastSession_,
                       bp_session_dispatch_count(session->get()),
                       std::string(view(bp_session_choice(session->get())))};
  sessions_[lastSession_] = {loaded->own.artifact, std::move(*session)};
  answer.type = FrameType::Opened;
  answer.payload = encode(opened);
  return {};
}

Status Runner::resetOrClose(const Frame &request) {
  SessionMessage message;
  if (Status s = decode(request.payload, message); !s.ok())
    return s;
  auto found = sessions_.find(message.session);
  if (found == sessions_.end())
    return notFound("the worker has no session " +
                    std::to_string(message.session));
  if (request.type == FrameType::Reset)
    return checked([&](bp_error_t *error) {
      return bp_session_reset(found->second.session.get(), error);
    });
  sessions_.erase(found);
  return {};
}

Result<OpenSession *> Runner::sessionOf(const RunMessage &message) {
  if (message.session) {
    auto found = sessions_.find(message.session);
    if (found == sessions_.end())
      return notFound("the worker has no session " +
                      std::to_string(message.session));
    return &found->second;
  }
  Loaded *loaded = find(message.artifact);
  if (!loaded)
    return notFound("artifact " + message.artifact +
                    " is not loaded; send it first");
  if (!loaded->own.session) {
    Result<Session> session = makeSession(*loaded->own.artifact, 0);
    if (!session)
      return session.status();
    loaded->own.session = std::move(*session);
  }
  return &loaded->own;
}

/// Time that all threads of this process have computed.
double cpuMilliseconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e3 + double(time.tv_nsec) / 1e6;
}

Status Runner::run(std::span<const uint8_t> payload, Frame &answer) {
  RunMessage message;
  if (Status s = decode(payload, message); !s.ok())
    return s;
  Result<OpenSession *> session = sessionOf(message);
  if (!session)
    return session.status();
  auto call = PreparedCall::make(**session, message, !plain_);
  if (!call)
    return call.status();
  auto start = std::chrono::steady_clock::now();
  double cpuStart = cpuMilliseconds();
  Status status = call->run();
  std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - start;
  double cpu = cpuMilliseconds() - cpuStart;
  if (!status.ok())
    return status;
  ResultMessage result = call->result();
  result.milliseconds = took.count();
  result.cpuMilliseconds = cpu;
  answer.type = FrameType::Result;
  answer.payload = encode(result);
  return {};
}

namespace {

/// A sanitizer takes memory of its own whenever it likes.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BP_MEMORY_IS_SHARED
#endif
#endif

/// Hardly any more memory for this process while the object lives.
class ScarceMemory {
public:
  /// Bytes beyond what the process has; 0: no limit.
  explicit ScarceMemory([[maybe_unused]] uint64_t spare) {
    getrlimit(RLIMIT_DATA, &before_);
#ifndef BP_MEMORY_IS_SHARED
    rlimit limit = before_;
    limit.rlim_cur = std::min<rlim_t>(before_.rlim_cur, dataBytes() + spare);
    if (spare)
      setrlimit(RLIMIT_DATA, &limit);
#endif
  }
  ~ScarceMemory() { setrlimit(RLIMIT_DATA, &before_); }
  ScarceMemory(const ScarceMemory &) = delete;
  ScarceMemory &operator=(const ScarceMemory &) = delete;

private:
  rlimit before_ = {};
};

using Calls = std::vector<PreparedCall>;

Status runInTurn(Calls &calls) {
  for (PreparedCall &call : calls)
    if (Status s = call.run(); !s.ok())
      return s;
  return {};
}

/// Waits for all of them, whatever comes of one.
Status runOverlapped(Calls &calls) {
  std::vector<bp_call_t *> flying;
  Status status;
  for (PreparedCall &call : calls) {
    auto submitted = call.submit();
    if (submitted)
      flying.push_back(*submitted);
    else if (status.ok())
      status = submitted.status();
  }
  for (bp_call_t *call : flying)
    if (Status s = PreparedCall::wait(call); status.ok())
      status = s;
  return status;
}

Status runInThreads(Calls &calls) {
  std::vector<Status> statuses(calls.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < calls.size(); ++i)
    threads.emplace_back([&, i] { statuses[i] = calls[i].run(); });
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &status : statuses)
    if (!status.ok())
      return status;
  return {};
}

Status runRound(Calls &calls, const BatchMessage &message) {
  for (PreparedCall &call : calls)
    call.fillOutputs();
  ScarceMemory scarce(message.spareMemory);
  return message.mode == BatchMessage::Overlap   ? runOverlapped(calls)
         : message.mode == BatchMessage::Threads ? runInThreads(calls)
                                                 : runInTurn(calls);
}

/// Keeps the first outputs, and the first ones that are not like them.
void note(const Calls &calls, uint64_t round, BatchedMessage &batched) {
  for (size_t i = 0; i < calls.size(); ++i)
    if (round == 0) {
      batched.results.push_back(calls[i].result());
    } else if (batched.odd.empty() && !calls[i].gives(batched.results[i])) {
      batched.odd.push_back(calls[i].result());
      batched.oddRun = i;
      batched.oddRound = round;
    }
}

} // namespace

Status Runner::batch(std::span<const uint8_t> payload, Frame &answer) {
  BatchMessage message;
  if (Status s = decode(payload, message); !s.ok())
    return s;
  Calls calls;
  for (const RunMessage &run : message.runs) {
    Result<OpenSession *> session = sessionOf(run);
    if (!session)
      return session.status();
    auto call = PreparedCall::make(**session, run, !plain_);
    if (!call)
      return call.status();
    calls.push_back(std::move(*call));
  }
  BatchedMessage batched;
  for (uint32_t round = 0; round < message.rounds; ++round) {
    if (Status s = runRound(calls, message); !s.ok())
      return s;
    note(calls, round, batched);
  }
  answer.type = FrameType::Batched;
  answer.payload = encode(batched);
  return {};
}

} // namespace backplane::worker
