// SPDX-License-Identifier: Apache-2.0
#include "GuardedMemory.h"
#include "Loop.h"

#include <chrono>
#include <cstring>
#include <ctime>
#include <list>

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

/// Runs artifacts on one device. The latest few stay loaded.
class Runner {
public:
  Runner(Context context, std::string device)
      : context_(std::move(context)), device_(std::move(device)) {}

  Status handle(const Frame &request, Frame &answer) {
    if (request.type == FrameType::Artifact)
      return load(request.payload, answer);
    if (request.type == FrameType::Run)
      return run(request.payload, answer);
    return unimplemented("this worker runs artifacts; it got frame type " +
                         std::to_string(unsigned(request.type)));
  }

private:
  struct Loaded {
    std::string hash;
    Artifact artifact;
    Session session;
  };
  static constexpr size_t mostLoaded = 8;

  Status load(std::span<const uint8_t> payload, Frame &answer);
  Status run(std::span<const uint8_t> payload, Frame &answer);
  Result<std::vector<Held>> makeInputs(const RunMessage &message) const;
  Result<std::vector<Held>> makeOutputs(const Loaded &loaded,
                                        const RunMessage &message,
                                        const std::vector<Held> &inputs) const;
  const Loaded *find(const std::string &hash) const {
    for (const Loaded &loaded : loaded_)
      if (loaded.hash == hash)
        return &loaded;
    return nullptr;
  }

  Context context_;
  std::string device_;
  std::list<Loaded> loaded_; ///< latest first
};

Status Runner::load(std::span<const uint8_t> payload, Frame &answer) {
  ArtifactMessage message;
  if (Status s = decode(payload, message); !s.ok())
    return s;
  if (hashOf(message.bytes) != message.hash)
    return dataLoss("an artifact does not have the hash it was sent with");
  answer.type = FrameType::Ready;
  if (find(message.hash))
    return {};
  bp_artifact_t *artifact = nullptr;
  Status status = checked([&](bp_error_t *error) {
    return bp_artifact_open_bytes(context_.get(),
                                  {message.bytes.data(), message.bytes.size()},
                                  &artifact, error);
  });
  if (!status.ok())
    return status;
  Loaded loaded{message.hash, Artifact(artifact), nullptr};
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  options.device = toC(device_);
  Result<Session> session = createSession(loaded.artifact, options);
  if (!session)
    return session.status();
  loaded.session = std::move(*session);
  loaded_.push_front(std::move(loaded));
  if (loaded_.size() > mostLoaded)
    loaded_.pop_back();
  return {};
}

Result<std::vector<Held>> Runner::makeInputs(const RunMessage &message) const {
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

Result<std::vector<Held>>
Runner::makeOutputs(const Loaded &loaded, const RunMessage &message,
                    const std::vector<Held> &inputs) const {
  std::vector<bp_tensor_info_t> infos;
  std::vector<std::vector<int64_t>> dims;
  std::vector<int64_t *> rows;
  uint32_t count = bp_artifact_output_count(loaded.artifact.get());
  for (uint32_t i = 0; i < count; ++i) {
    bp_tensor_info_t info = {BP_HEADER(bp_tensor_info_t)};
    if (bp_artifact_output(loaded.artifact.get(), i, &info) != BP_STATUS_OK)
      return internalError("the artifact does not describe its outputs");
    infos.push_back(info);
    dims.emplace_back(info.rank);
  }
  for (auto &row : dims)
    rows.push_back(row.data());
  std::vector<bp_tensor_t> given = asC(inputs);
  Status status = checked([&](bp_error_t *error) {
    return bp_session_output_shapes(loaded.session.get(), given.data(),
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
  const Loaded *loaded = find(message.artifact);
  if (!loaded)
    return notFound("artifact " + message.artifact +
                    " is not loaded; send it first");
  Result<std::vector<Held>> inputs = makeInputs(message);
  if (!inputs)
    return inputs.status();
  Result<std::vector<Held>> outputs = makeOutputs(*loaded, message, *inputs);
  if (!outputs)
    return outputs.status();
  auto start = std::chrono::steady_clock::now();
  double cpuStart = cpuMilliseconds();
  Status status = runSession(loaded->session, asC(*inputs), asC(*outputs));
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

int serveRuns(const WorkerOptions &options) {
  return serve(options, [&](Hello &greeting) -> Result<Handler> {
    Result<Context> context = openWorkerContext(options);
    if (!context)
      return context.status();
    Result<Hello> hello = describeDevice(*context, options.device);
    if (!hello)
      return hello.status();
    greeting = std::move(*hello);
    // With no other plug-in in the process, nothing else can do the work.
    context = Context(nullptr);
    context = openWorkerContext(options, greeting.plugin);
    if (!context)
      return context.status();
    auto runner = std::make_shared<Runner>(std::move(*context), options.device);
    return Handler([runner](const Frame &request, Frame &answer) {
      return runner->handle(request, answer);
    });
  });
}

} // namespace backplane::worker
