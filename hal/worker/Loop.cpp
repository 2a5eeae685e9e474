// SPDX-License-Identifier: Apache-2.0
#include "Loop.h"
#include "Channel.h"
#include "backplane/compiler.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <new>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace backplane::worker {
namespace {

void logLine(void *, uint32_t level, bp_string_t message) {
  if (level >= BP_LOG_WARNING)
    std::fprintf(stderr, "worker: %.*s\n", int(message.size), message.data);
}

struct Targets {
  Hello *hello;
  std::string plugin; ///< of the chosen one
};

bp_status_t putTarget(void *context, const bp_target_listing_t *listing) {
  auto &targets = *static_cast<Targets *>(context);
  Hello &hello = *targets.hello;
  if (!listing->chosen)
    return BP_STATUS_OK;
  const bp_target_t &target = *listing->target;
  hello.target = view(target.name);
  targets.plugin = view(listing->plugin);
  hello.storageDTypes = target.storage_dtypes;
  hello.computeDTypes = target.compute_dtypes;
  for (uint64_t i = 0; i < std::min<uint64_t>(target.numerics_count, 1024);
       ++i) {
    const bp_numerics_t &from = *target.numerics[i];
    hello.numerics.push_back({std::string(view(from.op_class)), from.dtype,
                              from.accumulator_bits, from.rounding,
                              from.flags});
  }
  return BP_STATUS_OK;
}

struct Wanted {
  std::string_view driver;
  Hello *hello;
};

bp_status_t putDevice(void *context, const bp_device_listing_t *listing) {
  auto &wanted = *static_cast<Wanted *>(context);
  std::string_view uri = view(listing->uri);
  bool same = uri.substr(0, uri.find(':')) == wanted.driver;
  if (!same || listing->refusal.size || !listing->info ||
      !wanted.hello->deviceName.empty())
    return BP_STATUS_OK;
  wanted.hello->deviceName = view(listing->name);
  wanted.hello->plugin = view(listing->plugin);
  wanted.hello->deviceFlags = listing->info->flags;
  wanted.hello->deviceKind = listing->info->kind;
  return BP_STATUS_OK;
}

/// Descriptors for frames; 0 and 1 become harmless.
struct Wires {
  int in = -1, out = -1;
};

Wires takeStandardStreams() {
  Wires wires{fcntl(0, F_DUPFD_CLOEXEC, 3), fcntl(1, F_DUPFD_CLOEXEC, 3)};
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, 0);
  dup2(2, 1);
  close(null);
  return wires;
}

Status limitMemory(uint64_t bytes) {
  rlimit limit = {bytes, bytes};
  if (bytes && setrlimit(RLIMIT_DATA, &limit) != 0)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "cannot limit the memory of the worker");
  return {};
}

Frame errorFrame(const Status &status, uint64_t request) {
  return {FrameType::Error, request,
          encode(ErrorMessage{status.code(), status.message()})};
}

/// The standard library throws when memory is short; that becomes a failure.
Status withinMemory(const std::function<Status()> &body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return Status(BP_STATUS_RESOURCE_EXHAUSTED, "the worker is out of memory");
  }
}

/// Answers until the tool closes; gives the exit code.
int answerAll(Channel &channel, const Handler &handler) {
  while (true) {
    std::optional<Frame> request;
    Status received = withinMemory([&]() -> Status {
      Result<std::optional<Frame>> frame = channel.receive();
      if (frame)
        request = std::move(*frame);
      return frame.status();
    });
    if (!received.ok()) {
      (void)channel.send(errorFrame(received, 0));
      return 1;
    }
    if (!request)
      return 0;
    Frame answer{FrameType::Error, request->request, {}};
    Status status = withinMemory([&] { return handler(*request, answer); });
    if (!status.ok())
      answer = errorFrame(status, request->request);
    if (!channel.send(answer).ok())
      return 1;
  }
}

} // namespace

Result<Context> openWorkerContext(const WorkerOptions &options,
                                  const std::string &plugin) {
  bp_context_options_t context = {BP_HEADER(bp_context_options_t)};
  bp_context_options_from_env(&context);
  context.cache_dir = toC("-");
  if (options.threads)
    context.threads = options.threads;
  context.log.log = logLine;
  bp_string_t only = toC(plugin);
  if (!plugin.empty()) {
    context.select = &only;
    context.select_count = 1;
  }
  return createContext(context);
}

Result<Hello> describeDevice(const Context &context,
                             const std::string &device) {
  Hello hello;
  hello.version = view(bp_version());
  hello.device = device;
  Wanted wanted{std::string_view(device).substr(0, device.find(':')), &hello};
  bp_device_listing_sink_t devices = {putDevice, &wanted};
  Targets chosen{&hello, {}};
  bp_target_listing_sink_t targets = {putTarget, &chosen};
  Status status = checked([&](bp_error_t *error) {
    return bp_context_devices(context.get(), &devices, error);
  });
  if (status.ok())
    status = checked([&](bp_error_t *error) {
      return bp_context_targets(context.get(), toC(device), &targets, error);
    });
  if (!status.ok())
    return status;
  hello.files = pluginFiles({hello.plugin, chosen.plugin});
  return hello;
}

std::optional<int> parseWorkerOptions(int argc, char **argv,
                                      WorkerOptions &options) {
  CLI::App app("A worker: answers frames on standard input until it is closed. "
               "bp conformance starts it, through any launcher.");
  app.add_option("--device", options.device, "device URI")
      ->capture_default_str();
  app.add_option("--threads", options.threads,
                 "workers of the pool; 0: one per core")
      ->check(CLI::Range(0u, 4096u));
  app.add_option("--memory-limit", options.memoryLimit,
                 "bytes of private memory that it may take; 0: no limit");
  app.add_flag("--checks", options.checks,
               "run checks of the plug-in in place of artifacts");
  app.set_version_flag("--version", std::string(view(bp_version())));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 1 : 0;
  }
  return std::nullopt;
}

int serve(const WorkerOptions &options,
          const std::function<Result<Handler>(Hello &greeting)> &open) {
  Wires wires = takeStandardStreams();
  // A worker that hangs must not outlive a tool that was killed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);
  Channel channel(wires.in, wires.out);
  Hello greeting;
  Status status = limitMemory(options.memoryLimit);
  Result<Handler> handler =
      status.ok() ? open(greeting) : Result<Handler>(status);
  if (!handler) {
    (void)channel.send(errorFrame(handler.status(), 0));
    return 1;
  }
  if (!channel.send({FrameType::Hello, 0, encode(greeting)}).ok())
    return 1;
  return answerAll(channel, *handler);
}

} // namespace backplane::worker
