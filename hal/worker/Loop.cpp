// SPDX-License-Identifier: Apache-2.0
#include "Loop.h"
#include "Channel.h"
#include "backplane/compiler.h"
#include "hal/core/LoaderOptions.h"
#include "sdk/support/CommandLine.h"
#include "sdk/support/Glob.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <set>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

namespace backplane::worker {
namespace {

void logLine(void *, uint32_t level, bp_string_t message) {
  if (level >= BP_LOG_WARNING)
    std::fprintf(stderr, "worker: %s\n",
                 readableMessage(view(message)).c_str());
}

struct Targets {
  Hello *hello;
  std::string wanted; ///< empty: what the device takes
  std::string plugin; ///< of the chosen one
};

bp_status_t putTarget(void *context, const bp_target_listing_t *listing) {
  auto &targets = *static_cast<Targets *>(context);
  Hello &hello = *targets.hello;
  bool taken = targets.wanted.empty()
                   ? listing->chosen
                   : view(listing->target->name) == targets.wanted;
  if (!taken)
    return BP_STATUS_OK;
  const bp_target_t &target = *listing->target;
  hello.target = view(target.name);
  targets.plugin = view(listing->plugin);
  hello.storageDTypes = target.storage_dtypes;
  hello.computeDTypes =
      target.compute_dtypes ? target.compute_dtypes : target.storage_dtypes;
  for (uint64_t i = 0; i < std::min<uint64_t>(target.numerics_count, 1024);
       ++i) {
    const bp_numerics_t &from = *target.numerics[i];
    hello.numerics.push_back({std::string(view(from.op_class)), from.dtype,
                              from.accumulator_bits, from.rounding,
                              from.flags});
  }
  return BP_STATUS_OK;
}

WireProperty wireProperty(const bp_property_t &property) {
  return {std::string(view(property.key)),
          property.kind,
          property.i64,
          property.f64,
          std::string(view(property.string)),
          {property.i64s, property.i64s + property.count}};
}

WireDevice wireDevice(const bp_device_listing_t &listing) {
  WireDevice device;
  device.uri = view(listing.uri);
  device.plugin = view(listing.plugin);
  device.manifest = view(listing.manifest);
  device.refusal = view(listing.refusal);
  device.name = view(listing.name);
  if (!listing.info)
    return device;
  const bp_device_info_t &info = *listing.info;
  device.id = view(info.id);
  device.identity = view(info.identity);
  device.kind = info.kind;
  device.flags = info.flags;
  device.maxBindings = info.max_bindings;
  device.maxConstants = info.max_constants;
  device.workerCount = info.worker_count;
  device.maxGrid.assign(std::begin(info.max_grid), std::end(info.max_grid));
  device.maxBufferSize = info.max_buffer_size;
  device.maxBindingRange = info.max_binding_range;
  device.bindingAlignment = info.binding_alignment;
  device.memoryBytes = info.memory_bytes;
  for (uint64_t i = 0; i < info.format_count; ++i)
    device.formats.emplace_back(view(info.formats[i]));
  for (uint64_t i = 0; i < info.feature_count; ++i)
    device.features.emplace_back(view(info.features[i]));
  for (uint64_t i = 0; i < info.property_count; ++i)
    device.properties.push_back(wireProperty(info.properties[i]));
  return device;
}

bp_status_t putDevice(void *context, const bp_device_listing_t *listing) {
  static_cast<std::vector<WireDevice> *>(context)->push_back(
      wireDevice(*listing));
  return BP_STATUS_OK;
}

bp_status_t putKernel(void *context, const bp_kernel_listing_t *listing) {
  Hello &hello = *static_cast<Hello *>(context);
  const bp_kernel_t *kernel = listing->kernel;
  bool isOther = !hello.target.empty() && kernel &&
                 !matchesGlob(view(kernel->target), hello.target);
  if (!kernel || isOther)
    return BP_STATUS_OK;
  WireKernel wire = {std::string(view(listing->plugin)),
                     std::string(view(listing->version)),
                     std::string(view(kernel->text)),
                     {}};
  std::set<uint32_t> weights;
  const bp_compiled_t &body = *kernel->body;
  for (uint64_t i = 0; i < body.init_launch_count; ++i) {
    const bp_launch_t &launch = *body.init_launches[i];
    for (uint32_t j = 0; j < launch.entry->binding_count; ++j) {
      uint32_t binding = launch.bindings ? launch.bindings[j].binding : j;
      if (binding < BP_LAUNCH_PERSISTENT)
        weights.insert(binding);
    }
  }
  wire.weights.assign(weights.begin(), weights.end());
  hello.kernels.push_back(std::move(wire));
  return BP_STATUS_OK;
}

/// Those of the target; all where no compiler plug-in says which one that is.
Status listKernels(const Context &context, Hello &hello) {
  bp_kernel_listing_sink_t kernels = {putKernel, &hello};
  return checked([&](bp_error_t *error) {
    return bp_context_kernels(context.get(), &kernels, error);
  });
}

/// "Linux 6.1.0 aarch64".
std::string machineText() {
  utsname names = {};
  uname(&names);
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

/// Says of the device what its line of the list says.
void nameDevice(Hello &hello) {
  std::string_view wanted = hello.device;
  std::string driver(wanted.substr(0, wanted.find(':')));
  for (const WireDevice &device : hello.devices) {
    if (!device.uri.starts_with(driver + ":") || !device.refusal.empty() ||
        device.id.empty())
      continue;
    hello.deviceName = device.name;
    hello.plugin = device.plugin;
    hello.deviceFlags = device.flags;
    hello.deviceKind = device.kind;
    return;
  }
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

Channel *serving; ///< while answerAll runs

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

void answerAndLeave(const Frame &answer) {
  (void)serving->send(answer);
  _exit(0);
}

const bp_context_options_t &takenEnvironment() {
  static const bp_context_options_t taken = takeEnvironment();
  return taken;
}

Result<Context> openWorkerContext(const WorkerOptions &options,
                                  const std::vector<std::string> &plugins) {
  bp_context_options_t context = takenEnvironment();
  context.cache_dir = toC(options.contextCache);
  if (options.threads)
    context.threads = options.threads;
  context.log.log = logLine;
  std::vector<bp_string_t> only;
  for (const std::string &plugin : plugins)
    only.push_back(toC(plugin));
  context.select = only.data();
  context.select_count = only.size();
  return createContext(context);
}

std::vector<std::string> setsOf(const Hello &hello) {
  std::vector<std::string> sets;
  for (const WireKernel &kernel : hello.kernels)
    if (std::ranges::find(sets, kernel.set) == sets.end())
      sets.push_back(kernel.set);
  return sets;
}

Result<Hello> describeMachine(const Context &context) {
  Hello hello;
  hello.version = view(bp_version());
  hello.machine = machineText();
  bp_device_listing_sink_t devices = {putDevice, &hello.devices};
  Status status = checked([&](bp_error_t *error) {
    return bp_context_devices(context.get(), &devices, error);
  });
  if (!status.ok())
    return status;
  return hello;
}

Result<Hello> describeDevice(const Context &context, const std::string &device,
                             const std::string &target) {
  Result<Hello> machine = describeMachine(context);
  if (!machine)
    return machine;
  Hello hello = std::move(*machine);
  hello.device = device;
  nameDevice(hello);
  Targets chosen{&hello, target, {}};
  bp_target_listing_sink_t targets = {putTarget, &chosen};
  Status status = checked([&](bp_error_t *error) {
    return bp_context_targets(context.get(),
                              toC(target.empty() ? device : std::string()),
                              &targets, error);
  });
  if (!status.ok())
    return status;
  if (Status s = listKernels(context, hello); !s.ok())
    return s;
  std::vector<std::string> plugins = setsOf(hello);
  plugins.insert(plugins.end(), {hello.plugin, chosen.plugin});
  describePlugins(plugins, hello);
  return hello;
}

std::optional<int> parseWorkerOptions(int argc, char **argv,
                                      WorkerOptions &options) {
  CLI::App app("A worker: answers frames on standard input until it is closed. "
               "Tools start it, through any launcher. Where none can, "
               "bp-worker run BUNDLE runs a bundle.");
  app.add_option("--device", options.device, "device URI")
      ->capture_default_str();
  app.add_option("--threads", options.threads,
                 "workers of the pool; 0: one per core")
      ->check(command::whole(0, 1024));
  app.add_option("--memory-limit", options.memoryLimit,
                 "bytes of private memory that it may take; 0: no limit")
      ->check(command::seed());
  app.add_flag("--checks", options.checks,
               "run checks of the plug-in in place of artifacts");
  app.add_option("--target", options.target,
                 "of a compile worker: the target, whatever the device is");
  app.add_flag("--jobs", options.jobs,
               "of a compile worker: compile models into files");
  app.add_option("--record", options.record,
                 "write artifacts and runs to this file, run nothing");
  app.add_option("--replay", options.replay,
                 "BUNDLE RESULTS: answer with what the results say")
      ->expected(2);
  app.add_flag("--list", options.list, "greet with the devices and stop");
  app.add_option("--cache", options.cacheDir,
                 "folder that keeps artifacts of a MiB and more, so that they "
                 "are sent once; auto: in the user's cache folder");
  app.set_version_flag("--version", std::string(view(bp_version())));
  return command::parse(app, argc, argv);
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
  serving = &channel;
  return answerAll(channel, *handler);
}

namespace {

/// An application whose tool has gone ends, even while it works.
void endWithTool(int fd) {
  std::thread([fd] {
    pollfd connection = {fd, 0, 0};
    while (poll(&connection, 1, -1) < 0 && errno == EINTR)
      ;
    _exit(1);
  }).detach();
}

Result<BeginMessage> receiveBegin(Channel &channel) {
  auto frame = channel.receive();
  if (!frame)
    return frame.status();
  BeginMessage begin;
  if (!*frame || (*frame)->type != FrameType::Begin)
    return dataLoss("an application must be told first what to open");
  if (Status s = decode((*frame)->payload, begin); !s.ok())
    return s;
  return begin;
}

} // namespace

int serveBegun(const std::function<Result<Handler>(const BeginMessage &begin,
                                                   Hello &greeting)> &open) {
  Wires wires = takeStandardStreams();
  std::signal(SIGPIPE, SIG_IGN);
  Channel channel(wires.in, wires.out);
  auto begin = receiveBegin(channel);
  if (!begin)
    return 1;
  Hello greeting;
  Status status = limitMemory(begin->memoryLimit);
  Result<Handler> handler =
      status.ok() ? open(*begin, greeting) : Result<Handler>(status);
  if (!handler) {
    (void)channel.send(errorFrame(handler.status(), 0));
    return 1;
  }
  endWithTool(wires.in);
  if (!channel.send({FrameType::Hello, 0, encode(greeting)}).ok())
    return 1;
  return answerAll(channel, *handler);
}

} // namespace backplane::worker
