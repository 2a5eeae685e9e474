// SPDX-License-Identifier: Apache-2.0
#include "CompileInWorker.h"
#include "ToolLibraries.h"
#include "hal/core/ThreadPool.h"
#include "hal/worker/Process.h"
#include "sdk/graph/Wire.h"
#include "sdk/support/AtomicFile.h"

#include <cstdio>
#include <filesystem>
#include <functional>
#include <sys/resource.h>

namespace backplane::rt {
namespace {

using worker::JobMessage;
using worker::Process;
using Clock = std::chrono::steady_clock;

std::string megabytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g MB", double(bytes) / 1e6);
  return text;
}

std::string seconds(std::chrono::milliseconds time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g s", double(time.count()) / 1e3);
  return text;
}

void addGraph(const CompileJob &job, worker::CompileMessage &message) {
  message.graph = writeGraph(*job.graph);
  for (const auto &[id, weight] : job.weights.all()) {
    worker::WireTensor tensor;
    tensor.dtype = uint32_t(weight.type.dtype);
    for (const Dim &dim : weight.type.dims)
      tensor.dims.push_back(*dim.constant());
    tensor.data.assign(weight.data.begin(), weight.data.end());
    message.weights.push_back(std::move(tensor));
  }
}

/// Threads of the worker. Each takes memory of its own.
uint32_t threadsOf(const CompileJob &job, const LoaderOptions &options) {
  constexpr uint64_t bytesOfThread = uint64_t(256) << 20;
  uint32_t threads =
      options.threads ? options.threads : ThreadPool().workerCount();
  if (job.limits.bytes == 0)
    return threads;
  uint64_t most = std::max<uint64_t>(job.limits.bytes / bytesOfThread, 1);
  return uint32_t(std::min<uint64_t>(threads, most));
}

JobMessage messageOf(const CompileJob &job, const LoaderOptions &options,
                     const std::string &path) {
  JobMessage message;
  message.model = job.model;
  // The worker has the working folder of this process, but does not rely on it.
  std::error_code error;
  if (!path.empty())
    message.output = std::filesystem::absolute(path, error).string();
  message.dumpDir = job.dumpDir;
  message.targets = job.targets;
  for (const DimRange &dim : job.dims) {
    message.symbols.push_back(dim.symbol);
    message.minimums.push_back(dim.minimum);
    message.maximums.push_back(dim.maximum);
  }
  message.flags = job.embedGraph ? BP_COMPILE_EMBED_GRAPH : 0;
  message.kernel = job.kernel;
  if (job.graph)
    addGraph(job, message.graph);
  message.cacheDir = options.cacheDir.empty() ? "-" : options.cacheDir;
  message.pluginFiles =
      options.pluginFiles.value_or(std::vector<std::string>());
  message.addPluginFiles = options.addPluginFiles;
  message.select = options.select;
  message.disable = options.disable;
  message.trustedDirs = options.trust.folders();
  message.threads = threadsOf(job, options);
  return message;
}

/// A failure of the worker, told by the limit that explains it.
Status explain(const CompileJob &job, const Status &failure) {
  bool died = failure.code() == BP_STATUS_ABORTED;
  bool ofTheModel = failure.code() == BP_STATUS_INVALID_ARGUMENT ||
                    failure.code() == BP_STATUS_UNIMPLEMENTED ||
                    failure.code() == BP_STATUS_NOT_FOUND;
  if (failure.code() == BP_STATUS_DEADLINE_EXCEEDED)
    return Status(BP_STATUS_DEADLINE_EXCEEDED,
                  "compiling took longer than the time limit of " +
                      seconds(job.limits.time));
  if (job.limits.bytes && !ofTheModel)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "compiling failed under the memory limit of " +
                      megabytes(job.limits.bytes) + ": " + failure.message());
  if (died && isMemoryLimited())
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "compiling failed under the memory limit of this process: " +
                      failure.message());
  return died ? internalError("the compiler failed: " + failure.message())
              : failure;
}

Status ask(Process &process, const JobMessage &message,
           const std::function<std::chrono::milliseconds()> &left) {
  if (Status s = process.send(worker::FrameType::Job, encode(message), left());
      !s.ok())
    return s;
  Result<worker::Frame> answer = process.receive(left());
  if (!answer)
    return answer.status();
  return answer->type == worker::FrameType::Error ? errorOf(*answer) : Status();
}

Status run(const CompileJob &job, const JobMessage &message) {
  using std::chrono::milliseconds;
  constexpr milliseconds week = std::chrono::hours(24 * 7);
  auto end = Clock::now() + (job.limits.time.count() ? job.limits.time : week);
  auto left = [&] {
    return std::chrono::ceil<milliseconds>(end - Clock::now());
  };
  std::vector<std::string> command = {ToolLibraries::workerPath(), "--jobs"};
  if (job.limits.bytes)
    command.insert(command.end(),
                   {"--memory-limit", std::to_string(job.limits.bytes)});
  auto process = Process::start(command, left(), true);
  if (!process)
    return process.status();
  pid_t pid = (*process)->pid();
  Status status = ask(**process, message, left);
  process->reset();
  if (!message.output.empty())
    removeFilesOf(pid, message.output);
  return status;
}

} // namespace

bool isCompileWorker() {
  namespace fs = std::filesystem;
  std::error_code error;
  return fs::equivalent("/proc/self/exe", ToolLibraries::workerPath(), error);
}

bool isMemoryLimited() {
  auto isLimited = [](auto resource) {
    rlimit limit = {};
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  };
  return isLimited(RLIMIT_AS) || isLimited(RLIMIT_DATA);
}

Status compileInWorker(const CompileJob &job, const LoaderOptions &options,
                       const std::string &path) {
  auto program =
      options.trust.open(ToolLibraries::workerPath(), "the compiler's worker");
  if (!program)
    return program.status();
  Status status = run(job, messageOf(job, options, path));
  if (status.ok())
    return status;
  Status told = explain(job, status); // the worker names the model itself
  return told.message().starts_with(job.model + ": ") ? told
                                                      : told.within(job.model);
}

} // namespace backplane::rt
