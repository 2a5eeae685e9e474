// SPDX-License-Identifier: Apache-2.0
//
// KernelExecutables.cpp: from kernels to executables, and what a dispatch needs
// to run one.
#include "sdk/compiler/Kernels.h"

#include "sdk/compiler/KernelSymbols.h"
#include "sdk/support/Error.h"

using namespace mlir;
using namespace backplane;

uint32_t KernelOrder::positionOf(size_t kernel) {
  auto [at, fresh] = positions_.try_emplace(kernel, uint32_t(kernels_.size()));
  if (fresh)
    kernels_.push_back(kernel);
  return at->second;
}

/// What is no plain number; such a one is in the entry of a launch.
static std::string symbolicWorkspace(const KernelLaunch &launch) {
  auto bytes = Dim::parse(launch.workspace.empty() ? "0" : launch.workspace);
  return !bytes || bytes->constant() ? std::string() : launch.workspace;
}

static Launch launchOf(const KernelLaunch &from, DimReader &reader) {
  Launch launch;
  for (size_t axis = 0; axis < 3; ++axis)
    launch.grid[axis] = reader.dim(from.grid[axis]);
  launch.workspace = reader.maybe(symbolicWorkspace(from));
  for (const std::string &parameter : from.parameters)
    launch.parameters.push_back(reader.dim(parameter));
  launch.sharedBytes = reader.maybe(from.sharedBytes);
  launch.cluster = from.cluster;
  launch.constants = from.constantCount > 0;
  launch.access = from.access;
  for (const LaunchBinding &binding : from.bindings)
    launch.bindings.push_back({binding.binding, reader.maybe(binding.offset),
                               reader.maybe(binding.length)});
  return launch;
}

Result<KernelCompiler::Needs>
KernelCompiler::needs(size_t index,
                      const std::vector<std::string> &symbols) const {
  const Kernel &kernel = this->kernel(index);
  DimReader reader(fromKernelSymbols(symbols));
  Needs needs;
  needs.flops = reader.maybe(kernel.flops);
  needs.scratch = reader.maybe(kernel.scratch);
  for (const KernelLaunch &launch : kernel.launches)
    needs.launches.push_back(launchOf(launch, reader));
  for (const KernelLaunch &launch : kernel.initLaunches)
    needs.initLaunches.push_back(launchOf(launch, reader));
  needs.persistentBytes = kernel.persistentBytes;
  return reader.status().ok() ? Result<Needs>(std::move(needs))
                              : Result<Needs>(reader.status());
}

/// Bytes of workspace when they do not depend on symbols, else 0: the dispatch
/// then carries the expression.
static Result<uint64_t> workspaceBytes(const KernelLaunch &launch) {
  auto bytes = Dim::parse(launch.workspace.empty() ? "0" : launch.workspace);
  if (!bytes)
    return bytes.status();
  int64_t value = bytes->constant().value_or(0);
  if (value < 0)
    return internalError(launch.name + ": a workspace of " + launch.workspace +
                         " bytes");
  return uint64_t(value);
}

static Result<Entry> entryOf(const KernelLaunch &launch) {
  auto workspace = workspaceBytes(launch);
  if (!workspace)
    return workspace.status();
  return Entry{.name = launch.name,
               .bindingAccess = launch.access,
               .constantCount = launch.constantCount,
               .workgroupSize = launch.workgroup,
               .workspaceBytes = *workspace,
               .subgroupSize = launch.subgroupSize,
               .parameterCount = uint32_t(launch.parameters.size()),
               .driverData = launch.driverData};
}

std::pair<uint32_t, uint32_t>
KernelCompiler::entryOf(size_t kernel, KernelOrders &orders) const {
  if (made_[kernel].own)
    return {1 + orders.own.positionOf(kernel), 0};
  return {0, orders.linked.positionOf(kernel)};
}

static Status addEntries(const Kernel &kernel, ExecutableInfo &executable) {
  for (const auto *launches : {&kernel.launches, &kernel.initLaunches})
    for (const KernelLaunch &launch : *launches) {
      auto entry = ::entryOf(launch);
      if (!entry)
        return entry.status();
      executable.entries.push_back(std::move(*entry));
    }
  return {};
}

/// What is linked, as the first executable.
Status KernelCompiler::link(const KernelOrder &order,
                            std::vector<ExecutableInfo> &result) {
  if (order.kernels().empty())
    return {};
  ExecutableInfo executable{.format = target_.format};
  std::vector<ObjectCode> objects;
  for (size_t index : order.kernels()) {
    Kernel &kernel = made_[index].kernel;
    if (Status s = addEntries(kernel, executable); !s.ok())
      return s;
    objects.push_back(
        {std::move(kernel.code), {.name = kernel.launches.front().name}});
  }
  std::vector<const ObjectCode *> list;
  for (const ObjectCode &object : objects)
    list.push_back(&object);
  auto image = emitter_->link(emitTargetOf(target_), list);
  if (!image)
    return image.status().within("the kernels do not link");
  executable.blob = Blob::of(std::move(image->bytes));
  executable.notes = std::move(image->notes);
  result.push_back(std::move(executable));
  return {};
}

Result<std::vector<ExecutableInfo>>
KernelCompiler::executables(const KernelOrders &orders) {
  std::vector<ExecutableInfo> result;
  if (Status s = link(orders.linked, result); !s.ok())
    return s;
  for (size_t index : orders.own.kernels()) {
    Kernel &kernel = made_[index].kernel;
    ExecutableInfo executable{.format = target_.format};
    if (Status s = addEntries(kernel, executable); !s.ok())
      return s;
    executable.native = kernel.native;
    if (kernel.native)
      executable.format = nativeFormat;
    else
      executable.blob = Blob::of(std::move(kernel.code));
    result.push_back(std::move(executable));
  }
  return result;
}
