// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a cubin, which CUDA is given without its size.
#include "backends/nvptx/driver/Cubin.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  backplane::cuda::Entries entries;
  std::string reason;
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  if (backplane::cuda::readCubin(bytes, entries, &reason) != reason.empty())
    std::abort(); // a refusal has a reason, and nothing else has
  return 0;
}
