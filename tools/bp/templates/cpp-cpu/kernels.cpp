// SPDX-License-Identifier: Apache-2.0
//
// kernels.cpp: a registered kernel. The text is the graph that the kernel
// equals: the compiler looks for it in models and runs the kernel in its place,
// which is an instruction of instructions.cpp.
#include "acme.h"

static constexpr std::string_view linearText = R"(kernel linear version 1
{
  symbol m, k, n
  %x = input f32[m, k]
  %w = input f32[k, n]
  %b = input f32[n]
  %product = matmul(%x, %w)
  %all = broadcast(%b) {dims = [m, n], axes = [1]}
  %y = add(%product, %all)
  output %y
}
)";

Status Plugin::describe(KernelSink sink) {
  const Launch launch = {
      .name = "linear",
      .access = {BP_ACCESS_READ, BP_ACCESS_READ, BP_ACCESS_READ,
                 BP_ACCESS_WRITE},
      .grid = {"m", "1", "1"},
      .parameters = {"k", "n"},
  };
  return sink.put(linearText, pluginName,
                  {.blob = bytesOf(blobOf(*findInstruction("linear"))),
                   .launches = {launch}});
}
