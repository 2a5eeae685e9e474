// SPDX-License-Identifier: Apache-2.0
#include "Measure.h"
#include "Session.h"
#include "sdk/package/Check.h"
#include "sdk/support/Version.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>

namespace backplane::rt {
namespace {

constexpr size_t inFlight = 4; ///< calls, where throughput is measured
constexpr size_t maxCalls = 24;
constexpr double measureNs = 30e6;
constexpr uint64_t maxBytes = uint64_t(1) << 28; ///< of inputs and outputs

double now() {
  return double(std::chrono::duration_cast<std::chrono::nanoseconds>(
                    std::chrono::steady_clock::now().time_since_epoch())
                    .count());
}

/// Zeros in the shapes of some ports.
struct Tensors {
  std::vector<Bytes> data;
  std::vector<std::vector<int64_t>> dims;
  std::vector<bp_tensor_t> c;

  Status add(const std::vector<Port> &ports,
             const std::vector<std::vector<int64_t>> &shapes) {
    dims = shapes;
    uint64_t total = 0;
    for (size_t i = 0; i < ports.size(); ++i) {
      Result<uint64_t> bytes = denseBytes(ports[i].type.dtype, dims[i]);
      if (!bytes)
        return bytes.status();
      total += *bytes;
      if (total > maxBytes)
        return Status(BP_STATUS_RESOURCE_EXHAUSTED, "its tensors are large");
      data.emplace_back(*bytes);
      c.push_back({data.back().data(), dims[i].data(), *bytes,
                   bp_dtype_t(ports[i].type.dtype), uint32_t(dims[i].size())});
    }
    return {};
  }
};

/// The least value above 0 of each symbol.
SymbolValues smallest(const ArtifactInfo &artifact) {
  SymbolValues values;
  for (uint32_t i = 0; i < artifact.symbols.size(); ++i) {
    const Symbol &symbol = artifact.symbols[i];
    int64_t divisor = std::max<int64_t>(symbol.divisor, 1);
    int64_t least = std::max<int64_t>(symbol.minimum, 1);
    int64_t steps = least / divisor + (least % divisor != 0);
    values[std::string(symbol.name)] = steps * divisor;
  }
  return values;
}

Result<std::vector<std::vector<int64_t>>>
inputShapes(const LoadedArtifact &artifact) {
  SymbolValues values = smallest(artifact.file->metadata());
  std::vector<std::vector<int64_t>> shapes;
  for (const Port &port : artifact.signature.inputs()) {
    shapes.emplace_back();
    for (const Dim &dim : port.type.dims) {
      Result<int64_t> size = dim.evaluate(values);
      if (!size)
        return size.status();
      shapes.back().push_back(*size);
    }
  }
  return shapes;
}

bool waitsForData(const Program &program) {
  return std::ranges::any_of(
      program.commands, [](const program::Command &command) {
        if (std::holds_alternative<program::Read>(command))
          return true;
        const auto *control = std::get_if<program::Control>(&command);
        return control && control->kind == program::ControlKind::While &&
               control->conditional;
      });
}

bool waitsForData(const VariantInfo &variant) {
  return waitsForData(variant.program) ||
         std::ranges::any_of(variant.regions, [](const RegionInfo &region) {
           return waitsForData(region.program);
         });
}

/// Runs `batch` calls at once and gives the time of one.
Result<double> timeBatch(Session &session, const Tensors &inputs,
                         std::span<Tensors> outputs) {
  std::vector<std::unique_ptr<Call>> calls;
  Status failure;
  double start = now();
  for (Tensors &output : outputs) {
    auto call = session.submit({inputs.c, output.c}, outputs.size() == 1);
    if (!call) {
      failure = call.status();
      break;
    }
    calls.push_back(std::move(*call));
  }
  for (auto &call : calls)
    if (Status s = Session::wait(std::move(call)); !s.ok())
      failure = s;
  if (!failure.ok())
    return failure;
  return (now() - start) / double(outputs.size());
}

/// The median over the time that a measurement has; the first runs are not
/// counted.
Result<double> timeCalls(Session &session, const LoadedArtifact &artifact,
                         Aim aim) {
  auto shapes = inputShapes(artifact);
  if (!shapes)
    return shapes.status();
  Tensors inputs;
  if (Status s = inputs.add(artifact.signature.inputs(), *shapes); !s.ok())
    return s;
  auto outShapes = session.outputShapes(inputs.c);
  if (!outShapes)
    return outShapes.status();
  std::vector<Tensors> outputs(aim == Aim::Throughput ? inFlight : 1);
  for (Tensors &output : outputs)
    if (Status s = output.add(artifact.signature.outputs(), *outShapes);
        !s.ok())
      return s;
  std::vector<double> times;
  double begin = now();
  while (times.size() < 3 ||
         (times.size() < maxCalls && now() - begin < measureNs)) {
    Result<double> time = timeBatch(session, inputs, outputs);
    if (!time)
      return time;
    times.push_back(*time);
  }
  std::sort(times.begin() + 1, times.end());
  return times[1 + (times.size() - 1) / 2];
}

/// What a time depends on: the artifact (its header holds the hash of its
/// metadata, which has those of the weights), variant, device and threads.
std::string cacheKey(const LoadedArtifact &artifact, Aim aim,
                     const Candidate &candidate) {
  std::span<const uint8_t> header = artifact.file->bytes().first(64);
  const DeviceInfo &device = *candidate.info;
  return CacheKey("time")
      .add(productVersion)
      .add({reinterpret_cast<const char *>(header.data()), header.size()})
      .add(name(aim))
      .add(std::to_string(candidate.variant))
      .add(candidate.uri)
      .add(device.name())
      .add(view(device.c().identity))
      .add(std::to_string(artifact.registry->host().pool().workerCount()))
      .str();
}

std::optional<double> known(const Cache &cache, const std::string &key) {
  std::optional<Bytes> bytes = cache.get("times", key);
  double time = 0;
  if (!bytes || bytes->size() != sizeof(time))
    return std::nullopt;
  std::memcpy(&time, bytes->data(), sizeof(time));
  return std::isfinite(time) && time > 0 ? std::optional(time) : std::nullopt;
}

Result<double> timeOf(const std::shared_ptr<const LoadedArtifact> &artifact,
                      Aim aim, const SessionRequest &request,
                      const Candidate &candidate, const char *&source) {
  static const Cache none{""};
  const Cache &cache = request.cache ? *request.cache : none;
  std::string key = cacheKey(*artifact, aim, candidate);
  source = "measured earlier";
  if (std::optional<double> time = known(cache, key))
    return *time;
  source = "measured now";
  auto session = Session::load(artifact, candidate, request.budget);
  if (!session)
    return session.status();
  Result<double> time = timeCalls(**session, *artifact, aim);
  if (!time)
    return time;
  std::array<uint8_t, sizeof(double)> bytes;
  std::memcpy(bytes.data(), &*time, sizeof(double));
  if (Status s = cache.put("times", key, bytes); !s.ok())
    artifact->registry->host().log(BP_LOG_WARNING, s.message());
  return time;
}

std::string milliseconds(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g ms", ns / 1e6);
  return text;
}

/// The first candidate of each device that may be measured.
std::vector<size_t> measurable(const Selection &selection, Aim aim) {
  std::vector<size_t> first;
  for (size_t i = 0; i < selection.candidates.size(); ++i) {
    const Candidate &candidate = selection.candidates[i];
    if (!candidate.open() || !candidate.byAim ||
        standing(aim, *candidate.info, candidate.rank).place >= lastResort)
      continue;
    if (std::ranges::none_of(first, [&](size_t other) {
          return selection.candidates[other].uri == candidate.uri;
        }))
      first.push_back(i);
  }
  return first;
}

} // namespace

void orderByTime(const std::shared_ptr<const LoadedArtifact> &artifact, Aim aim,
                 const SessionRequest &request, Selection &selection) {
  std::vector<size_t> first = measurable(selection, aim);
  if (first.size() < 2)
    return;
  std::map<std::string, double> times;
  for (size_t i : first) {
    Candidate &candidate = selection.candidates[i];
    const char *source = "";
    Result<double> time =
        Status(BP_STATUS_FAILED_PRECONDITION,
               "a loop or a size of the model waits for data");
    if (!waitsForData(artifact->file->metadata().variants[candidate.variant]))
      time = timeOf(artifact, aim, request, candidate, source);
    times[candidate.uri] = time ? *time : INFINITY;
    candidate.note += time ? ", " + milliseconds(*time) + " a call, " + source
                           : ", not measured: " + time.message();
    if (!time)
      selection.remarks.push_back(candidate.uri +
                                  " is not measured: " + time.message());
  }
  auto timeAt = [&](const Candidate &candidate) {
    auto found = times.find(candidate.uri);
    bool last =
        standing(aim, *candidate.info, candidate.rank).place >= lastResort;
    return last || found == times.end() ? HUGE_VAL : found->second;
  };
  // They stand together, those that may run in front.
  auto begin = std::ranges::find_if(selection.candidates, &Candidate::byAim);
  auto end = std::find_if_not(begin, selection.candidates.end(),
                              [](const Candidate &candidate) {
                                return candidate.byAim && candidate.open();
                              });
  sortStably(std::span(begin, end),
             [&](const Candidate &a, const Candidate &b) {
               return timeAt(a) < timeAt(b);
             });
}

} // namespace backplane::rt
