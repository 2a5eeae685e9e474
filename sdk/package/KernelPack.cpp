// SPDX-License-Identifier: Apache-2.0
#include "sdk/package/KernelPack.h"

#include "kernel_generated.h"

using namespace backplane;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

static fb::Workgroup pack(const std::array<uint32_t, 3> &sizes) {
  return {sizes[0], sizes[1], sizes[2]};
}

static std::array<uint32_t, 3> unpack(const fb::Workgroup &sizes) {
  return {sizes.x(), sizes.y(), sizes.z()};
}

static Offset<fb::LaunchBinding> pack(FlatBufferBuilder &builder,
                                      const LaunchBinding &binding) {
  return fb::CreateLaunchBinding(builder, binding.binding,
                                 builder.CreateString(binding.offset),
                                 builder.CreateString(binding.length));
}

static Offset<fb::Launch> pack(FlatBufferBuilder &builder,
                               const KernelLaunch &launch) {
  fb::Workgroup workgroup = pack(launch.workgroup);
  fb::Workgroup cluster = pack(launch.cluster);
  std::vector<Offset<fb::LaunchBinding>> bindings;
  for (const LaunchBinding &binding : launch.bindings)
    bindings.push_back(pack(builder, binding));
  return fb::CreateLaunch(builder, builder.CreateString(launch.name),
                          builder.CreateString(launch.grid[0]),
                          builder.CreateString(launch.grid[1]),
                          builder.CreateString(launch.grid[2]),
                          builder.CreateString(launch.workspace),
                          builder.CreateVector(launch.access),
                          launch.constantCount, &workgroup, launch.subgroupSize,
                          builder.CreateVector(launch.driverData),
                          builder.CreateVectorOfStrings(launch.parameters),
                          builder.CreateString(launch.sharedBytes), &cluster,
                          builder.CreateVector(bindings));
}

Bytes backplane::packKernel(const Kernel &kernel) {
  FlatBufferBuilder builder(kernel.code.size() + 1024);
  std::vector<Offset<fb::Launch>> launches, initLaunches;
  for (const KernelLaunch &launch : kernel.launches)
    launches.push_back(pack(builder, launch));
  for (const KernelLaunch &launch : kernel.initLaunches)
    initLaunches.push_back(pack(builder, launch));
  fb::FinishKernelBuffer(
      builder, fb::CreateKernel(builder, builder.CreateVector(kernel.code),
                                builder.CreateVector(launches),
                                builder.CreateString(kernel.scratch),
                                builder.CreateVector(initLaunches),
                                kernel.persistentBytes,
                                builder.CreateVector(kernel.inPlace),
                                builder.CreateVectorOfStrings(kernel.notes)));
  std::span<const uint8_t> bytes = builder.GetBufferSpan();
  return Bytes(bytes.begin(), bytes.end());
}

static LaunchBinding unpack(const fb::LaunchBinding &from) {
  return {from.binding(), from.offset()->str(), from.length()->str()};
}

static KernelLaunch unpack(const fb::Launch &from) {
  KernelLaunch launch;
  launch.name = from.name()->str();
  launch.grid = {from.grid_x()->str(), from.grid_y()->str(),
                 from.grid_z()->str()};
  launch.workspace = from.workspace()->str();
  launch.access.assign(from.access()->begin(), from.access()->end());
  launch.constantCount = from.constant_count();
  launch.workgroup = unpack(*from.workgroup());
  launch.subgroupSize = from.subgroup_size();
  launch.driverData.assign(from.driver_data()->begin(),
                           from.driver_data()->end());
  for (const flatbuffers::String *text : *from.parameters())
    launch.parameters.push_back(text->str());
  launch.sharedBytes = from.shared_bytes()->str();
  launch.cluster = unpack(*from.cluster());
  for (const fb::LaunchBinding *binding : *from.bindings())
    launch.bindings.push_back(unpack(*binding));
  return launch;
}

std::optional<Kernel> backplane::unpackKernel(std::span<const uint8_t> bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (!fb::VerifyKernelBuffer(verifier))
    return std::nullopt;
  const fb::Kernel &from = *fb::GetKernel(bytes.data());
  Kernel kernel;
  kernel.code.assign(from.code()->begin(), from.code()->end());
  for (const fb::Launch *launch : *from.launches())
    kernel.launches.push_back(unpack(*launch));
  kernel.scratch = from.scratch()->str();
  for (const fb::Launch *launch : *from.init_launches())
    kernel.initLaunches.push_back(unpack(*launch));
  kernel.persistentBytes = from.persistent_bytes();
  kernel.inPlace.assign(from.in_place()->begin(), from.in_place()->end());
  for (const flatbuffers::String *note : *from.notes())
    kernel.notes.push_back(note->str());
  return kernel;
}
