// SPDX-License-Identifier: Apache-2.0
#include "Common.h"
#include "PerDispatch.h"
#include "sdk/support/TemporaryFolder.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace backplane {
namespace {

double elapsedMs(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now() - start)
      .count();
}

/// Runs this program with arguments and a cache folder; output is dropped,
/// errors are shown. Gives the wall time in milliseconds.
Result<double> timeSelf(std::vector<std::string> arguments,
                        const std::string &cacheDir) {
  std::vector<char *> argv, environment;
  arguments.insert(arguments.begin(), "bp");
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::string cache = "BACKPLANE_CACHE_DIR=" + cacheDir;
  for (char **entry = environ; *entry; ++entry)
    if (!std::string_view(*entry).starts_with("BACKPLANE_CACHE_DIR="))
      environment.push_back(*entry);
  environment.push_back(cache.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  int error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr,
                          argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (error || waitpid(child, &status, 0) < 0)
    return internalError("cannot start bp a second time");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return internalError("'bp compile' failed, see above");
  return elapsedMs(start);
}

struct Report {
  double minMs = 0, medianMs = 0, coldMs = 0, cachedMs = 0, peakMb = 0;
  double roundTripMs = 0; ///< median, with transfers; 0: not remote
  uint64_t dispatches = 0, runs = 0;
  std::string choice;
  std::optional<CallTimes> perDispatch;
  std::optional<Roof> roof;
};

Status beginTrace(const Context &context, const std::string &path) {
  return checked([&](bp_error_t *error) {
    return bp_context_trace_begin(context.get(), toC(path), error);
  });
}

Result<std::vector<TraceSpan>> endTrace(const Context &context,
                                        const std::string &path) {
  if (Status s = checked([&](bp_error_t *error) {
        return bp_context_trace_end(context.get(), error);
      });
      !s.ok())
    return s;
  return readTrace(path);
}

/// Workers of the CPU's device.
unsigned workersOfCpu(const Context &context) {
  unsigned workers = 1;
  bp_device_listing_sink_t sink = {
      [](void *to, const bp_device_listing_t *listing) -> bp_status_t {
        if (listing->info && view(listing->uri) == "host://cpu")
          *static_cast<unsigned *>(to) =
              std::max<unsigned>(1, listing->info->worker_count);
        return BP_STATUS_OK;
      },
      &workers};
  Status ignored = checked([&](bp_error_t *error) {
    return bp_context_devices(context.get(), &sink, error);
  });
  return ignored.ok() ? workers : 1;
}

/// Compiles twice in processes of their own, so that neither memory nor page
/// cache of the compiler counts as the model's. Gives the artifact's path.
Result<std::string> timeCompile(const ModelOptions &options,
                                const TemporaryFolder &scratch,
                                Report &report) {
  if (options.path.ends_with(".bpx"))
    return options.path;
  if (scratch.path().empty())
    return Status(BP_STATUS_UNAVAILABLE,
                  "cannot create a temporary folder; is TMPDIR one that can be "
                  "written?");
  std::string out = scratch.path() + "/model.bpx";
  std::vector<std::string> arguments = {"compile", options.path, "-o", out};
  if (options.variant.empty())
    arguments.insert(arguments.end(), {"--for-driver", options.device});
  else
    arguments.insert(arguments.end(), {"--target", options.variant});
  if (!options.fallback)
    arguments.push_back("--no-fallback");
  for (double *ms : {&report.coldMs, &report.cachedMs}) {
    Result<double> took = timeSelf(arguments, scratch.path() + "/cache");
    if (!took)
      return took.status();
    *ms = *took;
  }
  return out;
}

Status timeCalls(const Session &session, std::vector<Tensor> &inputs,
                 OutputTensors &outputs, double seconds, Report &report) {
  std::vector<bp_tensor_t> in = asC(inputs);
  for (int warmup = 0; warmup < 2; ++warmup)
    if (Status status = runSession(session, in, outputs.forCall());
        !status.ok())
      return status;
  std::vector<double> times, remote;
  auto begin = std::chrono::steady_clock::now();
  while (times.size() < 5 || elapsedMs(begin) < seconds * 1e3) {
    std::vector<bp_tensor_t> out = outputs.forCall();
    auto start = std::chrono::steady_clock::now();
    if (Status status = runSession(session, in, out); !status.ok())
      return status;
    times.push_back(elapsedMs(start));
    if (double ms = bp_session_remote_ms(session.get()); ms > 0)
      remote.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  if (!remote.empty()) {
    report.roundTripMs = times[times.size() / 2];
    times = std::move(remote);
    std::sort(times.begin(), times.end());
  }
  report.runs = times.size();
  report.minMs = times.front();
  report.medianMs = times[times.size() / 2];
  return {};
}

/// Calls the session under a trace, for as long as `seconds` and few enough
/// times that the trace stays small.
Status timeDispatches(const Context &context, const Session &session,
                      std::vector<Tensor> &inputs, OutputTensors &outputs,
                      const std::string &path, double seconds, Report &report) {
  constexpr uint64_t fewCalls = 5, manySpans = 50000;
  const uint64_t most = std::max<uint64_t>(
      fewCalls, manySpans / std::max<uint64_t>(1, report.dispatches));
  std::vector<bp_tensor_t> in = asC(inputs);
  if (Status s = beginTrace(context, path); !s.ok())
    return s;
  auto begin = std::chrono::steady_clock::now();
  for (uint64_t calls = 0;
       calls < fewCalls || (calls < most && elapsedMs(begin) < seconds * 1e3);
       ++calls)
    if (Status s = runSession(session, in, outputs.forCall()); !s.ok())
      return s;
  Result<std::vector<TraceSpan>> spans = endTrace(context, path);
  if (!spans)
    return spans.status();
  if (Status s = checkClocks(*spans); !s.ok())
    return s;
  report.perDispatch = timesOf(*spans);
  for (const KernelTime &kernel : report.perDispatch->kernels)
    if (kernel.device == "host://cpu" && !report.roof)
      report.roof = measureRoof(workersOfCpu(context));
  return {};
}

/// Notes the device that would be taken, and takes it.
struct FirstDevice {
  const std::string &variant; ///< the one that counts, empty: all
  std::string uri;
  bool emulated = false;

  static bp_status_t choose(void *context, const bp_candidate_t *const *all,
                            uint32_t count, uint32_t *order, uint32_t *chosen,
                            const bp_string_sink_t *) {
    auto &first = *static_cast<FirstDevice *>(context);
    *chosen = 0;
    for (uint32_t i = 0; i < count && *chosen == 0; ++i) {
      if (all[i]->misfit.size ||
          !(first.variant.empty() || first.variant == view(all[i]->target)))
        continue;
      order[(*chosen)++] = i;
      first.uri = view(all[i]->uri);
      first.emulated = all[i]->info->flags & BP_DEVICE_EMULATED;
    }
    return BP_STATUS_OK;
  }
};

/// Refuses to time an emulated device. What else is wrong with a device, making
/// a session tells.
Status checkReal(const Artifact &artifact, const ModelOptions &options) {
  FirstDevice first{.variant = options.variant};
  bp_chooser_t chooser = {FirstDevice::choose, &first};
  bp_session_options_t session = sessionOptions(options);
  session.chooser = &chooser;
  bp_string_sink_t ignore = {
      [](void *, bp_string_t) -> bp_status_t { return BP_STATUS_OK; }, nullptr};
  Status status = checked([&](bp_error_t *error) {
    return bp_artifact_select(artifact.get(), &session, &ignore, error);
  });
  if (!status.ok() || !first.emulated)
    return {};
  return Status(BP_STATUS_FAILED_PRECONDITION,
                first.uri + " is emulated, so that its times say nothing of a "
                            "device; --counters tells what it executes, "
                            "--emulated measures it all the same");
}

/// A call under the trace that is on plans the program with names; then it
/// ends.
Status endFirstTrace(const Context &context, const Session &session,
                     std::vector<Tensor> &inputs, OutputTensors &outputs,
                     const std::string &path) {
  std::vector<bp_tensor_t> in = asC(inputs);
  if (Status s = runSession(session, in, outputs.forCall()); !s.ok())
    return s;
  Result<std::vector<TraceSpan>> spans = endTrace(context, path);
  return spans ? checkClocks(*spans) : spans.status();
}

Status measure(const BenchOptions &options, Report &report) {
  TemporaryFolder scratch;
  Result<std::string> path = timeCompile(options.model, scratch, report);
  if (!path)
    return path.status();
  Result<Context> context = openContext(options.model.threads);
  if (!context)
    return context.status();
  Result<Artifact> artifact = openArtifact(*context, *path);
  if (!artifact)
    return artifact.status();
  if (!options.emulated)
    if (Status s = checkReal(*artifact, options.model); !s.ok())
      return s;
  // Sessions made under a trace have names for their dispatches.
  const std::string trace = scratch.path() + "/trace.json";
  if (options.perDispatch)
    if (Status s = beginTrace(*context, trace); !s.ok())
      return s;
  Result<PreparedSession> ready = prepareSession(*artifact, options.model);
  if (!ready)
    return ready.status();
  auto &[session, inputs, outputs] = *ready;
  report.choice = view(bp_session_choice(session.get()));
  report.dispatches = bp_session_dispatch_count(session.get());
  if (options.perDispatch)
    if (Status s = endFirstTrace(*context, session, inputs, outputs, trace);
        !s.ok())
      return s;
  Status status = timeCalls(session, inputs, outputs, options.seconds, report);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  report.peakMb = double(usage.ru_maxrss) / 1024;
  if (!status.ok() || !options.perDispatch)
    return status;
  return timeDispatches(*context, session, inputs, outputs, trace,
                        options.seconds, report);
}

} // namespace

int runBench(const BenchOptions &options) {
  if (options.counters)
    return runCounters(options);
  Report report;
  if (Status status = measure(options, report); !status.ok())
    return fail(status);
  if (options.json) {
    std::printf("{\"min_ms\": %.6f, \"median_ms\": %.6f, "
                "\"compile_cold_ms\": %.3f, \"compile_cached_ms\": %.3f, "
                "\"peak_rss_mb\": %.1f, \"dispatches\": %llu",
                report.minMs, report.medianMs, report.coldMs, report.cachedMs,
                report.peakMb,
                static_cast<unsigned long long>(report.dispatches));
    if (report.roundTripMs > 0) // behind a worker only
      std::printf(", \"round_trip_ms\": %.6f", report.roundTripMs);
    if (report.perDispatch)
      std::printf(", \"per_dispatch\": %s",
                  jsonOf(*report.perDispatch, report.roof).c_str());
    std::printf("}\n");
    return 0;
  }
  std::printf("%s\n%.4f ms min, %.4f ms median over %llu runs, "
              "%llu dispatches\n",
              report.choice.c_str(), report.minMs, report.medianMs,
              static_cast<unsigned long long>(report.runs),
              static_cast<unsigned long long>(report.dispatches));
  if (report.roundTripMs > 0)
    std::printf("measured by the worker; %.4f ms median with transfers\n",
                report.roundTripMs);
  if (report.coldMs > 0)
    std::printf("compile %.1f ms cold, %.1f ms cached\n", report.coldMs,
                report.cachedMs);
  std::printf("peak memory %.1f MB\n", report.peakMb);
  if (report.perDispatch)
    std::printf("\n%s", tableOf(*report.perDispatch, report.roof).c_str());
  return 0;
}

} // namespace backplane
