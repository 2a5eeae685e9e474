// SPDX-License-Identifier: Apache-2.0
#include "PerDispatch.h"
#include "sdk/support/ReadableText.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

namespace backplane {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *hostCpu = "host://cpu";

bool isCommand(const TraceSpan &span) {
  return span.category == "dispatch" || span.category == "copy";
}

TraceSpan spanOf(const Json &event,
                 const std::map<int64_t, std::string> &names) {
  constexpr double nsPerUs = 1e3;
  const Json &arguments = event["args"];
  TraceSpan span;
  auto track = names.find(event["pid"].get<int64_t>());
  span.track = track == names.end() ? "" : track->second;
  span.name = event["name"];
  span.category = event["cat"];
  span.kernel = arguments.value("kernel", "");
  span.ops = arguments.value("ops", "");
  span.clock = arguments.value("clock", "");
  span.begin = event["ts"].get<double>() * nsPerUs;
  span.end = span.begin + event["dur"].get<double>() * nsPerUs;
  span.bytes = arguments.value("bytes", 0.0);
  span.flops = arguments.value("flops", 0.0);
  return span;
}

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void addOnce(std::vector<std::string> &list, const std::string &text) {
  if (!text.empty() && !std::ranges::count(list, text))
    list.push_back(text);
}

/// The commands of each call, by their begin: a call begins before they do, on
/// a device's clock nearly so.
std::vector<std::vector<const TraceSpan *>>
splitByCall(const std::vector<TraceSpan> &spans) {
  std::vector<double> begins;
  for (const TraceSpan &span : spans)
    if (span.name == "call" && span.category == "host")
      begins.push_back(span.begin);
  std::ranges::sort(begins);
  std::vector<std::vector<const TraceSpan *>> calls(
      std::max<size_t>(1, begins.size()));
  for (const TraceSpan &span : spans) {
    if (!isCommand(span))
      continue;
    auto next = std::ranges::upper_bound(begins, span.begin);
    calls[next == begins.begin() ? 0 : size_t(next - begins.begin() - 1)]
        .push_back(&span);
  }
  for (auto &call : calls)
    std::ranges::sort(call, {}, &TraceSpan::begin);
  return calls;
}

/// The time in which no command of a call runs, and all of its time.
std::pair<double, double>
gapsOf(const std::vector<const TraceSpan *> &commands) {
  if (commands.empty())
    return {};
  double gaps = 0, last = commands.front()->begin;
  for (const TraceSpan *command : commands) {
    gaps += std::max(0.0, command->begin - last);
    last = std::max(last, command->end);
  }
  return {gaps, last - commands.front()->begin};
}

/// What the calls did with one kernel: an entry for each call.
struct Collected {
  KernelTime kernel;
  std::vector<double> count, ns, bytes, flops;
};

void collect(const TraceSpan &span, size_t call, Collected &to) {
  to.count[call] += 1;
  to.ns[call] += span.end - span.begin;
  to.bytes[call] += span.bytes;
  to.flops[call] += span.flops;
  to.kernel.allFlops &= span.flops > 0;
  addOnce(to.kernel.names, span.name);
  addOnce(to.kernel.ops, span.ops);
}

double perNs(double amount, double ns) { return ns > 0 ? amount / ns : 0; }

/// The part of the roof that is reached, where it is known.
std::optional<double> reached(const KernelTime &kernel,
                              const std::optional<Roof> &roof) {
  if (!roof || kernel.device != hostCpu || kernel.ns <= 0)
    return std::nullopt;
  return roof->ns(kernel.flops, kernel.bytes) / kernel.ns;
}

template <typename... Values>
std::string format(const char *pattern, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string cell(const char *pattern, std::optional<double> value) {
  return value ? format(pattern, *value) : format("%8s", "-");
}

/// "12 x matmul_3 ..: MatMul node '/a' and 11 more".
std::string labelOf(const KernelTime &kernel, bool manyDevices) {
  std::string text;
  if (kernel.count != 1)
    text = format("%.10g x ", kernel.count);
  text += readable(kernel.names.front());
  if (manyDevices)
    text += " on " + kernel.device;
  if (!kernel.ops.empty())
    text += ": " + readable(kernel.ops.front());
  if (kernel.ops.size() > 1)
    text += " and " + std::to_string(kernel.ops.size() - 1) + " more";
  return text;
}

Json rowOf(const KernelTime &kernel, const CallTimes &times,
           const std::optional<Roof> &roof) {
  constexpr double nsPerMs = 1e6;
  std::optional<double> part = reached(kernel, roof);
  Json row;
  row["device"] = kernel.device;
  row["kernel"] = kernel.kernel;
  row["names"] = kernel.names;
  row["ops"] = kernel.ops;
  row["count"] = kernel.count;
  row["ms"] = kernel.ns / nsPerMs;
  row["share"] = perNs(kernel.ns, times.ns);
  row["gflops"] =
      kernel.allFlops ? Json(perNs(kernel.flops, kernel.ns)) : Json();
  row["gb_per_s"] = perNs(kernel.bytes, kernel.ns);
  row["of_roof"] = part ? Json(*part) : Json();
  return row;
}

} // namespace

Result<std::vector<TraceSpan>> readTrace(const std::string &path) {
  std::ifstream file(path);
  Json root = Json::parse(file, nullptr, false);
  if (!root.is_object() || !root.contains("traceEvents"))
    return internalError("the trace '" + path + "' cannot be read");
  std::map<int64_t, std::string> names;
  std::vector<TraceSpan> spans;
  for (const Json &event : root["traceEvents"])
    if (event["ph"] != "M")
      spans.push_back(spanOf(event, names));
    else if (event["name"] == "process_name")
      names[event["pid"].get<int64_t>()] = event["args"]["name"];
  return spans;
}

Status checkClocks(const std::vector<TraceSpan> &spans) {
  bool any = false;
  for (const TraceSpan &span : spans) {
    if (!isCommand(span))
      continue;
    any = true;
    if (span.clock != "device")
      return Status(
          BP_STATUS_UNIMPLEMENTED,
          "--per-dispatch needs a device that tells when each command "
          "ran, and the driver of " +
              span.track +
              " has no table backplane.timestamps; bp run --trace "
              "shows times of the host's clock");
  }
  return any ? Status()
             : Status(
                   BP_STATUS_UNIMPLEMENTED,
                   "--per-dispatch needs commands of a device of this "
                   "process, and the calls had none; behind a worker, ask on "
                   "the machine that has the device");
}

CallTimes timesOf(const std::vector<TraceSpan> &spans) {
  auto calls = splitByCall(spans);
  std::map<std::pair<std::string, std::string>, Collected> all;
  std::vector<double> gaps, totals;
  for (size_t call = 0; call < calls.size(); ++call) {
    auto [gap, total] = gapsOf(calls[call]);
    gaps.push_back(gap);
    totals.push_back(total);
    for (const TraceSpan *span : calls[call]) {
      std::string key = span->kernel.empty() ? span->name : span->kernel;
      Collected &to = all[{span->track, key}];
      to.kernel.device = span->track;
      to.kernel.kernel = span->kernel;
      for (auto *list : {&to.count, &to.ns, &to.bytes, &to.flops})
        list->resize(calls.size());
      collect(*span, call, to);
    }
  }
  CallTimes times;
  times.calls = calls.size();
  times.ns = median(totals);
  times.gaps = median(gaps);
  for (auto &[key, one] : all) {
    one.kernel.count = median(one.count);
    one.kernel.ns = median(one.ns);
    one.kernel.bytes = median(one.bytes);
    one.kernel.flops = median(one.flops);
    times.kernels.push_back(std::move(one.kernel));
  }
  std::ranges::sort(times.kernels, std::greater{}, &KernelTime::ns);
  return times;
}

std::string tableOf(const CallTimes &times, const std::optional<Roof> &roof) {
  constexpr double percent = 100, nsPerUs = 1e3;
  bool many = std::ranges::any_of(times.kernels, [&](const KernelTime &kernel) {
    return kernel.device != times.kernels.front().device;
  });
  std::string out =
      format("per dispatch, median of %zu traced calls: %.1f us from first to "
             "last\n",
             times.calls, times.ns / nsPerUs);
  if (roof)
    out += format("roof of %s, measured now with %u threads: %.1f GFLOP/s (f32 "
                  "FMA), %.1f GB/s (copy in memory)\n",
                  hostCpu, roof->threads, roof->flopsPerNs, roof->bytesPerNs);
  else
    out += "no roof: that of this device is not known\n";
  out += "      us  share  GFLOP/s     GB/s  of roof  dispatch\n";
  for (const KernelTime &kernel : times.kernels) {
    std::optional<double> flops, part = reached(kernel, roof);
    if (kernel.allFlops)
      flops = perNs(kernel.flops, kernel.ns);
    if (part)
      *part *= percent;
    out += format("%8.1f %5.1f%% ", kernel.ns / nsPerUs,
                  percent * perNs(kernel.ns, times.ns)) +
           cell("%8.1f", flops) +
           format(" %8.1f ", perNs(kernel.bytes, kernel.ns)) +
           (part ? format("%7.0f%%", *part) : format("%8s", "-")) + "  " +
           labelOf(kernel, many) + "\n";
  }
  return out + format("%8.1f %5.1f%% %8s %8s %8s  gaps between dispatches\n",
                      times.gaps / nsPerUs,
                      percent * perNs(times.gaps, times.ns), "", "", "");
}

std::string jsonOf(const CallTimes &times, const std::optional<Roof> &roof) {
  constexpr double nsPerMs = 1e6;
  Json out;
  out["calls"] = times.calls;
  out["ms"] = times.ns / nsPerMs;
  out["gaps_ms"] = times.gaps / nsPerMs;
  out["roof"] = nullptr;
  if (roof)
    out["roof"] = {{"device", hostCpu},
                   {"threads", roof->threads},
                   {"gflops", roof->flopsPerNs},
                   {"gb_per_s", roof->bytesPerNs}};
  out["kernels"] = Json::array();
  for (const KernelTime &kernel : times.kernels)
    out["kernels"].push_back(rowOf(kernel, times, roof));
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace backplane
