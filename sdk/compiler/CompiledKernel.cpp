// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/CompiledKernel.h"

#include "backplane/hal.h"
#include "sdk/support/Error.h"

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
    bindings.push_back(
        {one.binding == BP_NONE ? std::nullopt : std::optional(one.binding),
         std::string(view(one.offset)), std::string(view(one.length))});
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

/// Notes in `written` which outputs the launch writes.
Status checkBindings(const KernelLaunch &launch, const Kernel &kernel,
                     size_t inputs, std::vector<bool> &written) {
  if (launch.bindings.empty() || launch.bindings.size() != launch.access.size())
    return bad("it has " + std::to_string(launch.bindings.size()) +
               " bindings, its entry " + std::to_string(launch.access.size()) +
               "; at least one is needed");
  for (size_t i = 0; i < launch.bindings.size(); ++i) {
    std::string what = "binding " + std::to_string(i);
    std::optional<uint32_t> binding = launch.bindings[i].binding;
    bool writes = launch.access[i] & BP_ACCESS_WRITE;
    if (!binding) {
      if (kernel.scratch.empty())
        return bad(what + " is scratch, and the dispatch has none");
      continue;
    }
    if (*binding >= inputs + written.size())
      return bad(what + " is number " + std::to_string(*binding) +
                 " of the dispatch, which has " +
                 std::to_string(inputs + written.size()));
    if (writes && *binding < inputs)
      return bad(what + " writes input " + std::to_string(*binding) +
                 " of the dispatch");
    if (writes)
      written[*binding - inputs] = true;
  }
  return {};
}

} // namespace

Kernel copyKernel(const bp_compiled_t &compiled) {
  Kernel kernel;
  const auto *data = static_cast<const uint8_t *>(compiled.blob.data);
  kernel.code.assign(data, data + compiled.blob.size);
  for (uint64_t i = 0; i < compiled.launch_count; ++i)
    kernel.launches.push_back(copyLaunch(*compiled.launches[i]));
  kernel.scratch = view(compiled.scratch_bytes);
  size_t bindings = kernel.launches.front().access.size();
  for (uint32_t i = 0; compiled.in_place && i < bindings; ++i)
    if (compiled.in_place[i])
      kernel.inPlace.push_back(i);
  return kernel;
}

Status checkKernel(const Kernel &kernel, const Graph &dispatch) {
  if (kernel.launches.empty())
    return bad("it has no launch");
  std::vector<bool> written(dispatch.outputs.size(), false);
  for (size_t i = 0; i < kernel.launches.size(); ++i) {
    const KernelLaunch &launch = kernel.launches[i];
    std::string what =
        "launch " + std::to_string(i) + ", entry '" + launch.name + "'";
    if (Status s =
            checkBindings(launch, kernel, dispatch.inputs.size(), written);
        !s.ok())
      return s.within(what);
    if (launch.constantCount && launch.constantCount != dispatch.symbols.size())
      return bad(what + ": it takes " + std::to_string(launch.constantCount) +
                 " constants, the dispatch has " +
                 std::to_string(dispatch.symbols.size()) + " symbols");
  }
  for (size_t i = 0; i < written.size(); ++i)
    if (!written[i])
      return bad("no launch writes output " + std::to_string(i));
  return {};
}

} // namespace backplane
