// SPDX-License-Identifier: Apache-2.0
//
// Application.cpp: a process that uses the public API as any application does:
// one context with all plug-ins that there are, compiling and running, tensors
// in memory of malloc. What it is for comes over its connection, so that
// nothing about the process says it: not its name, its arguments, its
// environment or its parent.
#include "Runner.h"

#include <clocale>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace backplane::worker {
namespace {

Status refused(const std::string &what) {
  return Status(BP_STATUS_FAILED_PRECONDITION, "cannot " + what);
}

Status setVariables(const std::vector<std::string> &variables) {
  for (const std::string &variable : variables) {
    size_t equals = variable.find('=');
    if (equals == std::string::npos ||
        setenv(variable.substr(0, equals).c_str(),
               variable.c_str() + equals + 1, 1) != 0)
      return refused("set the variable '" + variable + "'");
  }
  return {};
}

/// Files that an application may have open beside its models.
Status openFiles(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
      return refused("open " + std::to_string(count) + " files");
  return {};
}

/// Threads that an application may have beside those that call.
Status startThreads(uint32_t count) {
  auto wait = [](void *) -> void * {
    for (;;)
      pause();
  };
  for (uint32_t i = 0; i < count; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, wait, nullptr) != 0)
      return refused("start " + std::to_string(count) + " threads");
    pthread_detach(thread);
  }
  return {};
}

/// Lets all threads run on the first `count` processors of this one alone.
Status keepProcessors(uint32_t count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return refused("tell the processors of the process");
  uint32_t kept = 0;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set) && kept++ >= count)
      CPU_CLR(i, &set);
  std::error_code error;
  for (const auto &task :
       std::filesystem::directory_iterator("/proc/self/task", error)) {
    long thread = std::strtol(task.path().filename().c_str(), nullptr, 10);
    // One that has ended has no processors.
    (void)sched_setaffinity(pid_t(thread), sizeof(set), &set);
  }
  return error ? refused("list the threads of the process") : Status();
}

/// Memory that an application may hold beside that of its models, to the end of
/// the process; where there is none it is as before.
void takeMemory(uint64_t bytes) {
  if (!bytes)
    return;
  [[maybe_unused]] void *held =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
}

/// Changes what is around this process. A locale that the machine lacks is no
/// failure.
Status surround(const SurroundMessage &message) {
  if (Status s = setVariables(message.variables); !s.ok())
    return s;
  if (!message.locale.empty())
    (void)std::setlocale(LC_ALL, message.locale.c_str());
  if (!message.directory.empty() && chdir(message.directory.c_str()) != 0)
    return refused("change to the folder '" + message.directory + "'");
  if (message.mask)
    umask(mode_t(message.mask));
  if (Status s = startThreads(message.threads); !s.ok())
    return s;
  if (message.processors)
    if (Status s = keepProcessors(message.processors); !s.ok())
      return s;
  takeMemory(message.memory);
  return openFiles(message.files);
}

Result<Handler> openAll(const BeginMessage &begin, Hello &greeting) {
  WorkerOptions options;
  options.device = begin.device;
  options.threads = begin.threads;
  options.plain = true;
  options.contextCache = begin.cacheFolder;
  Result<Context> opened = openWorkerContext(options);
  if (!opened)
    return opened.status();
  auto context = std::make_shared<const Context>(std::move(*opened));
  Result<Hello> hello = describeDevice(*context, begin.device);
  if (!hello)
    return hello.status();
  if (hello->target.empty())
    return notFound("no compiler plug-in has a target for device '" +
                    begin.device + "'");
  greeting = std::move(*hello);
  Handler compile = compileHandler(context, greeting.target);
  auto runner = std::make_shared<Runner>(context, options);
  return Handler([=](const Frame &request, Frame &answer) {
    if (request.type == FrameType::Compile)
      return compile(request, answer);
    if (request.type != FrameType::Surround)
      return runner->handle(request, answer);
    SurroundMessage message;
    Status status = decode(request.payload, message);
    answer.type = FrameType::Ready;
    return status.ok() ? surround(message) : status;
  });
}

} // namespace

int serveApplication() {
  // Who started it is not its parent.
  if (pid_t child = fork(); child != 0)
    return child < 0 ? 1 : 0;
  return serveBegun(openAll);
}

} // namespace backplane::worker
