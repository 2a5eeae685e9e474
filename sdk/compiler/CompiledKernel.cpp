// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/CompiledKernel.h"

#include "backplane/hal.h"
#include "sdk/support/Error.h"
#include "sdk/support/Property.h"
#include "sdk/support/ReadableText.h"

#include <algorithm>

namespace backplane {
namespace {

/// Those of the dispatch, in order, where the launch names none.
std::vector<LaunchBinding> bindingsOf(const bp_launch_t &from) {
  std::vector<LaunchBinding> bindings;
  for (uint32_t i = 0; i < from.entry->binding_count; ++i) {
    if (!from.bindings) {
      bindings.push_back({i, "", ""});
      continue;
    }
    const bp_launch_binding_t &one = from.bindings[i];
    bindings.push_back({one.binding, std::string(view(one.offset)),
                        std::string(view(one.length))});
  }
  return bindings;
}

KernelLaunch copyLaunch(const bp_launch_t &from) {
  const bp_entry_t &entry = *from.entry;
  KernelLaunch launch;
  launch.name = view(entry.name);
  launch.access.assign(entry.binding_access,
                       entry.binding_access + entry.binding_count);
  launch.constantCount = entry.constant_count;
  launch.workspace = std::to_string(entry.workspace_bytes);
  launch.subgroupSize = entry.subgroup_size;
  const auto *data = static_cast<const uint8_t *>(entry.driver_data.data);
  launch.driverData.assign(data, data + entry.driver_data.size);
  for (size_t i = 0; i < 3; ++i) {
    launch.grid[i] = view(from.grid[i]);
    launch.workgroup[i] = std::max(entry.workgroup_size[i], 1u);
    launch.cluster[i] = std::max(from.cluster[i], 1u);
  }
  for (uint32_t i = 0; i < entry.parameter_count; ++i)
    launch.parameters.emplace_back(view(from.parameters[i]));
  launch.sharedBytes = view(from.shared_bytes);
  launch.bindings = bindingsOf(from);
  return launch;
}

Status bad(std::string message) { return invalidArgument(std::move(message)); }

/// Checks the launches of one kernel.
class KernelChecker {
public:
  KernelChecker(const Kernel &kernel, const Graph &dispatch,
                const std::vector<bool> &weights)
      : kernel_(kernel), dispatch_(dispatch), weights_(weights),
        written_(dispatch.outputs.size(), false) {}

  Status run() {
    if (kernel_.launches.empty())
      return bad("it has no launch");
    for (bool init : {true, false}) {
      const auto &launches = init ? kernel_.initLaunches : kernel_.launches;
      for (size_t i = 0; i < launches.size(); ++i)
        if (Status s = check(launches[i], init); !s.ok())
          return s.within((init ? "init launch " : "launch ") +
                          std::to_string(i) + ", entry '" + launches[i].name +
                          "'");
    }
    if (kernel_.initLaunches.empty() != (kernel_.persistentBytes == 0) ||
        kernel_.persistentBytes > maxBytes)
      return bad("it has " + std::to_string(kernel_.initLaunches.size()) +
                 " init launches and " +
                 std::to_string(kernel_.persistentBytes) +
                 " bytes that they write");
    for (size_t i = 0; i < written_.size(); ++i)
      if (!written_[i])
        return bad("no launch writes output " + std::to_string(i));
    return {};
  }

private:
  static constexpr uint64_t maxBytes = uint64_t(1) << 62;

  Status check(const KernelLaunch &launch, bool init) {
    size_t symbols = init ? 0 : dispatch_.symbols.size();
    if (launch.constantCount && launch.constantCount != symbols)
      return bad("it takes " + std::to_string(launch.constantCount) +
                 " constants, the dispatch has " + std::to_string(symbols) +
                 " symbols" + (init ? " before any call" : ""));
    if (launch.bindings.empty() ||
        launch.bindings.size() != launch.access.size())
      return bad("it has " + std::to_string(launch.bindings.size()) +
                 " bindings, its entry " +
                 std::to_string(launch.access.size()) +
                 "; at least one is needed");
    for (size_t i = 0; i < launch.bindings.size(); ++i)
      if (Status s = checkBinding(launch.bindings[i].binding,
                                  launch.access[i] & BP_ACCESS_WRITE, init);
          !s.ok())
        return s.within("binding " + std::to_string(i));
    return init ? checkNumbers(launch) : Status();
  }

  Status checkBinding(uint32_t binding, bool writes, bool init) {
    size_t inputs = dispatch_.inputs.size();
    std::string number = std::to_string(binding);
    if (binding == BP_LAUNCH_PERSISTENT) {
      if (kernel_.persistentBytes == 0)
        return bad("it is persistent memory, and the dispatch has none");
      return writes && !init ? bad("it writes persistent memory in a call")
                             : Status();
    }
    if (binding == BP_LAUNCH_SCRATCH)
      return kernel_.scratch.empty() || init
                 ? bad(init ? "it is scratch, which is there in calls only"
                            : "it is scratch, and the dispatch has none")
                 : Status();
    if (binding >= inputs + written_.size())
      return bad("it is number " + number + " of the dispatch, which has " +
                 std::to_string(inputs + written_.size()));
    if (init && (binding >= weights_.size() || !weights_[binding]))
      return bad("it is number " + number +
                 " of the dispatch, which is no weight");
    if (writes && binding < inputs)
      return bad("it writes input " + number + " of the dispatch");
    if (writes)
      written_[binding - inputs] = true;
    return {};
  }

  /// What runs before any call knows no sizes of calls.
  static Status checkNumbers(const KernelLaunch &launch) {
    std::vector<std::string> texts(launch.grid.begin(), launch.grid.end());
    texts.push_back(launch.sharedBytes);
    texts.insert(texts.end(), launch.parameters.begin(),
                 launch.parameters.end());
    for (const LaunchBinding &binding : launch.bindings)
      texts.insert(texts.end(), {binding.offset, binding.length});
    for (const std::string &text : texts)
      if (auto dim = Dim::parse(text.empty() ? "0" : text);
          !dim || !dim->constant())
        return bad("'" + text +
                   "' is no number, which it must be before any "
                   "call");
    return {};
  }

  const Kernel &kernel_;
  const Graph &dispatch_;
  const std::vector<bool> &weights_;
  std::vector<bool> written_; ///< by output
};

} // namespace

/// The lines of a log without what would end a line, then the figures.
static std::vector<std::string> notesOf(const bp_compiled_t &compiled) {
  constexpr size_t maxLines = 64;
  std::vector<std::string> notes;
  std::string_view rest = view(compiled.log);
  while (!rest.empty()) {
    std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.empty())
      continue;
    if (notes.size() == maxLines) {
      notes.emplace_back("log: further lines are left out");
      break;
    }
    notes.push_back("log: " + readable(line));
  }
  auto statistics =
      copyProperties(compiled.statistics, compiled.statistic_count);
  for (const Property &figure :
       statistics ? *statistics : std::vector<Property>())
    notes.push_back(figure.str());
  return notes;
}

Kernel copyKernel(const bp_compiled_t &compiled) {
  Kernel kernel;
  const auto *data = static_cast<const uint8_t *>(compiled.blob.data);
  kernel.code.assign(data, data + compiled.blob.size);
  for (uint64_t i = 0; i < compiled.launch_count; ++i)
    kernel.launches.push_back(copyLaunch(*compiled.launches[i]));
  kernel.scratch = view(compiled.scratch_bytes);
  for (uint64_t i = 0; i < compiled.init_launch_count; ++i)
    kernel.initLaunches.push_back(copyLaunch(*compiled.init_launches[i]));
  kernel.persistentBytes = compiled.persistent_bytes;
  size_t bindings = kernel.launches.front().access.size();
  for (uint32_t i = 0; compiled.in_place && i < bindings; ++i)
    if (compiled.in_place[i])
      kernel.inPlace.push_back(i);
  kernel.notes = notesOf(compiled);
  return kernel;
}

Status checkKernel(const Kernel &kernel, const Graph &dispatch,
                   const std::vector<bool> &weights) {
  return KernelChecker(kernel, dispatch, weights).run();
}

} // namespace backplane
