// SPDX-License-Identifier: Apache-2.0
#include "ArtifactStore.h"
#include "GuardedMemory.h"
#include "Loop.h"
#include "hal/core/DeviceUri.h"
#include "hal/core/LoaderOptions.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <list>
#include <map>

namespace backplane::worker {
namespace {

/// A tensor in guarded memory, as the C API takes it.
struct Held {
  GuardedMemory memory;
  std::vector<int64_t> dims;
  uint32_t dtype;

  bp_tensor_t c() const {
    return {memory.data(), dims.data(), memory.size(), dtype,
            uint32_t(dims.size())};
  }
};

std::vector<bp_tensor_t> asC(const std::vector<Held> &tensors) {
  std::vector<bp_tensor_t> result;
  for (const Held &tensor : tensors)
    result.push_back(tensor.c());
  return result;
}

bool isFloatType(uint32_t dtype) {
  return dtype >= BP_DTYPE_F64 && dtype <= BP_DTYPE_F8E5M2;
}

unsigned bitsOf(uint32_t dtype) {
  switch (dtype) {
  case BP_DTYPE_F64:
  case BP_DTYPE_I64:
  case BP_DTYPE_U64:
    return 64;
  case BP_DTYPE_F32:
  case BP_DTYPE_I32:
  case BP_DTYPE_U32:
    return 32;
  case BP_DTYPE_F16:
  case BP_DTYPE_BF16:
  case BP_DTYPE_I16:
  case BP_DTYPE_U16:
    return 16;
  case BP_DTYPE_I4:
  case BP_DTYPE_U4:
    return 4;
  default:
    return 8;
  }
}

Result<uint64_t> bytesOf(uint32_t dtype, const std::vector<int64_t> &dims) {
  uint64_t bits = bitsOf(dtype);
  for (int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(bits, uint64_t(dim), &bits))
      return Status(BP_STATUS_OUT_OF_RANGE, "the size of an output overflows");
  return bits / 8 + (bits % 8 != 0);
}

/// Where large artifacts are kept, if anywhere.
ArtifactStore storeOf(const WorkerOptions &options) {
  bp_context_options_t context = {BP_HEADER(bp_context_options_t)};
  bp_context_options_from_env(&context);
  Result<LoaderOptions> loader = loaderOptions(&context);
  if (!loader)
    return ArtifactStore("");
  bool isUsers = options.cacheDir == "auto";
  std::string folder = isUsers && !loader->cacheDir.empty()
                           ? loader->cacheDir + "/worker"
                       : isUsers ? std::string()
                                 : options.cacheDir;
  return ArtifactStore(std::move(folder), loader->trust);
}

/// A session, and the artifact that it runs.
struct OpenSession {
  std::shared_ptr<const Artifact> artifact;
  Session session;
};

/// An artifact in memory.
struct Loaded {
  std::string hash;
  OpenSession own; ///< for runs that name no session; the first one makes it
};

/// Runs artifacts on one device. The latest few stay loaded.
class Runner {
public:
  Runner(Context context, const WorkerOptions &options)
      : context_(std::move(context)), device_(options.device),
        store_(storeOf(options)) {}

  Status handle(const Frame &request, Frame &answer) {
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
    default:
      return unimplemented("this worker runs artifacts; it got frame type " +
                           std::to_string(unsigned(request.type)));
    }
  }

private:
  static constexpr size_t mostLoaded = 8, mostSessions = 256;

  Status offer(std::span<const uint8_t> payload, Frame &answer);
  Status load(std::span<const uint8_t> payload);
  Status open(std::span<const uint8_t> payload, Frame &answer);
  Status resetOrClose(const Frame &request);
  Status run(std::span<const uint8_t> payload, Frame &answer);
  Result<Session> makeSession(const Artifact &artifact, uint64_t budget,
                              uint32_t variant = OpenMessage::anyVariant) const;
  Result<OpenSession *> sessionOf(const RunMessage &message);
  void keep(const std::string &hash, Artifact artifact);
  Loaded *find(const std::string &hash) {
    for (Loaded &loaded : loaded_)
      if (loaded.hash == hash)
        return &loaded;
    return nullptr;
  }

  Context context_;
  std::string device_;
  ArtifactStore store_;
  std::list<Loaded> loaded_; ///< latest first
  std::map<uint64_t, OpenSession> sessions_;
  uint64_t lastSession_ = 0;
};

void Runner::keep(const std::string &hash, Artifact artifact) {
  loaded_.push_front(
      {hash, {std::make_shared<const Artifact>(std::move(artifact)), nullptr}});
  if (loaded_.size() > mostLoaded)
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
      path.empty() ? notFound("") : openArtifact(context_, path);
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
  if (hashOf(message.bytes) != message.hash)
    return dataLoss("an artifact does not have the hash it was sent with");
  if (find(message.hash))
    return {};
  Result<std::string> path = store_.put(message.hash, message.bytes);
  if (!path)
    std::fprintf(stderr, "worker: an artifact is not kept on disk: %s\n",
                 path.message().c_str());
  bp_artifact_t *artifact = nullptr;
  Status status = checked([&](bp_error_t *error) {
    return path && !path->empty()
               ? bp_artifact_open(context_.get(), toC(*path), &artifact, error)
               : bp_artifact_open_bytes(
                     context_.get(),
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
  if (sessions_.size() >= mostSessions)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "the worker has " + std::to_string(mostSessions) +
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

Result<std::vector<Held>> makeInputs(const RunMessage &message) {
  std::vector<Held> inputs;
  for (const WireTensor &tensor : message.inputs) {
    Result<GuardedMemory> memory = GuardedMemory::create(tensor.data.size());
    if (!memory)
      return memory.status();
    if (!tensor.data.empty())
      std::memcpy(memory->data(), tensor.data.data(), tensor.data.size());
    inputs.push_back({std::move(*memory), tensor.dims, tensor.dtype});
  }
  return inputs;
}

Result<std::vector<Held>> makeOutputs(const OpenSession &open,
                                      const RunMessage &message,
                                      const std::vector<Held> &inputs) {
  std::vector<bp_tensor_info_t> infos;
  std::vector<std::vector<int64_t>> dims;
  std::vector<int64_t *> rows;
  uint32_t count = bp_artifact_output_count(open.artifact->get());
  for (uint32_t i = 0; i < count; ++i) {
    bp_tensor_info_t info = {BP_HEADER(bp_tensor_info_t)};
    if (bp_artifact_output(open.artifact->get(), i, &info) != BP_STATUS_OK)
      return internalError("the artifact does not describe its outputs");
    infos.push_back(info);
    dims.emplace_back(info.rank);
  }
  for (auto &row : dims)
    rows.push_back(row.data());
  std::vector<bp_tensor_t> given = asC(inputs);
  Status status = checked([&](bp_error_t *error) {
    return bp_session_output_shapes(open.session.get(), given.data(),
                                    uint32_t(given.size()), rows.data(), error);
  });
  if (!status.ok())
    return status;
  std::vector<Held> outputs;
  for (uint32_t i = 0; i < count; ++i) {
    Result<uint64_t> bytes = bytesOf(infos[i].dtype, dims[i]);
    if (!bytes)
      return bytes.status();
    Result<GuardedMemory> memory = GuardedMemory::create(*bytes);
    if (!memory)
      return memory.status();
    std::memset(memory->data(),
                isFloatType(infos[i].dtype) ? message.floatFill
                                            : message.otherFill,
                size_t(*bytes));
    outputs.push_back({std::move(*memory), dims[i], infos[i].dtype});
  }
  return outputs;
}

/// What a run did to memory that was not its own.
std::string damageOf(const RunMessage &message, const std::vector<Held> &inputs,
                     const std::vector<Held> &outputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const GuardedMemory &memory = inputs[i].memory;
    if (hashOf({memory.data(), size_t(memory.size())}) !=
        hashOf(message.inputs[i].data))
      return "the run changed input " + std::to_string(i);
    if (!memory.intact())
      return "the run wrote beside input " + std::to_string(i);
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i].memory.intact())
      return "the run wrote beyond output " + std::to_string(i);
  return {};
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
  Result<std::vector<Held>> inputs = makeInputs(message);
  if (!inputs)
    return inputs.status();
  Result<std::vector<Held>> outputs = makeOutputs(**session, message, *inputs);
  if (!outputs)
    return outputs.status();
  auto start = std::chrono::steady_clock::now();
  double cpuStart = cpuMilliseconds();
  Status status = runSession((*session)->session, asC(*inputs), asC(*outputs));
  std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - start;
  double cpu = cpuMilliseconds() - cpuStart;
  if (!status.ok())
    return status;
  ResultMessage result;
  result.milliseconds = took.count();
  result.cpuMilliseconds = cpu;
  result.damage = damageOf(message, *inputs, *outputs);
  for (const Held &output : *outputs)
    result.outputs.push_back(
        {output.dtype,
         output.dims,
         {output.memory.data(), output.memory.data() + output.memory.size()}});
  answer.type = FrameType::Result;
  answer.payload = encode(result);
  return {};
}

} // namespace

/// The plug-ins that drive these devices, the first of which is described.
static Result<std::vector<std::string>>
pluginsOf(const Hello &hello, const std::vector<std::string> &uris) {
  std::vector<std::string> plugins = {hello.plugin};
  for (size_t i = 1; i < uris.size(); ++i) {
    std::string driver = uris[i].substr(0, uris[i].find(':'));
    auto found = std::ranges::find_if(hello.devices, [&](const auto &device) {
      return device.uri.starts_with(driver + ":") && device.refusal.empty();
    });
    if (found == hello.devices.end())
      return notFound("the machine of the worker has no device of driver '" +
                      driver + "'");
    if (std::ranges::find(plugins, found->plugin) == plugins.end())
      plugins.push_back(found->plugin);
  }
  return plugins;
}

int serveList(const WorkerOptions &options) {
  return serve(options, [&](Hello &greeting) -> Result<Handler> {
    Result<Context> context = openWorkerContext(options);
    if (!context)
      return context.status();
    Result<Hello> hello = describeMachine(*context);
    if (!hello)
      return hello.status();
    greeting = std::move(*hello);
    return Handler([](const Frame &, Frame &) {
      return unimplemented("this worker only lists devices");
    });
  });
}

int serveRuns(const WorkerOptions &options) {
  return serve(options, [&](Hello &greeting) -> Result<Handler> {
    Result<Context> context = openWorkerContext(options);
    if (!context)
      return context.status();
    std::vector<std::string> uris = splitUris(options.device);
    Result<Hello> hello = describeDevice(*context, uris.front());
    if (!hello)
      return hello.status();
    auto plugins = pluginsOf(*hello, uris);
    if (!plugins)
      return plugins.status();
    greeting = std::move(*hello);
    // With no other plug-in in the process, nothing else can do the work.
    context = Context(nullptr);
    context = openWorkerContext(options, *plugins);
    if (!context)
      return context.status();
    auto runner = std::make_shared<Runner>(std::move(*context), options);
    return Handler([runner](const Frame &request, Frame &answer) {
      return runner->handle(request, answer);
    });
  });
}

} // namespace backplane::worker
