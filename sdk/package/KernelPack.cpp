// SPDX-License-Identifier: Apache-2.0
#include "sdk/package/KernelPack.h"

#include "kernel_generated.h"

using namespace backplane;

Bytes backplane::packKernel(const Kernel &kernel) {
  flatbuffers::FlatBufferBuilder builder(kernel.code.size() + 1024);
  fb::Workgroup workgroup(kernel.workgroup[0], kernel.workgroup[1],
                          kernel.workgroup[2]);
  fb::FinishKernelBuffer(
      builder, fb::CreateKernel(builder, builder.CreateVector(kernel.code),
                                builder.CreateString(kernel.name),
                                builder.CreateString(kernel.grid[0]),
                                builder.CreateString(kernel.grid[1]),
                                builder.CreateString(kernel.grid[2]),
                                builder.CreateString(kernel.workspace),
                                builder.CreateVector(kernel.access),
                                kernel.constantCount, &workgroup,
                                builder.CreateVector(kernel.inPlace)));
  std::span<const uint8_t> bytes = builder.GetBufferSpan();
  return Bytes(bytes.begin(), bytes.end());
}

std::optional<Kernel> backplane::unpackKernel(std::span<const uint8_t> bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (!fb::VerifyKernelBuffer(verifier))
    return std::nullopt;
  const fb::Kernel &from = *fb::GetKernel(bytes.data());
  Kernel kernel;
  kernel.code.assign(from.code()->begin(), from.code()->end());
  kernel.name = from.name()->str();
  kernel.grid = {from.grid_x()->str(), from.grid_y()->str(),
                 from.grid_z()->str()};
  kernel.workspace = from.workspace()->str();
  kernel.access.assign(from.access()->begin(), from.access()->end());
  kernel.constantCount = from.constant_count();
  kernel.workgroup = {from.workgroup()->x(), from.workgroup()->y(),
                      from.workgroup()->z()};
  kernel.inPlace.assign(from.in_place()->begin(), from.in_place()->end());
  return kernel;
}
