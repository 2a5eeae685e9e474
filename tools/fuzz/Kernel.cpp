// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a kernel out of the compiler's cache; what is taken is packed,
// taken again and packed to the same bytes.
#include "sdk/package/KernelPack.h"

#include <cstdlib>

using namespace backplane;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (auto kernel = unpackKernel({data, size})) {
    Bytes packed = packKernel(*kernel);
    auto again = unpackKernel(packed);
    if (!again || packKernel(*again) != packed)
      std::abort();
  }
  return 0;
}
