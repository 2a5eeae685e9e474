// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the text of a kernel. What is read has graphs that verify, with
// a binding for each name.
#include "sdk/kernels/RegisteredKernel.h"

#include <cstdlib>

using namespace backplane;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto kernel = parseKernelText({reinterpret_cast<const char *>(data), size});
  if (!kernel)
    return 0;
  if (kernel->graphs.empty() || kernel->graphs.size() > 64)
    std::abort();
  for (const KernelGraph &graph : kernel->graphs)
    if (!graph.graph.verify().ok() ||
        graph.bindings.size() != kernel->bindings.size())
      std::abort();
  return 0;
}
