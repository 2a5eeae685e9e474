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
