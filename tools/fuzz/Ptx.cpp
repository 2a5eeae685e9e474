// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a blob of the CUDA driver.
#include "backends/nvptx/driver/Ptx.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  backplane::cuda::Entries entries;
  std::string reason;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  if (backplane::cuda::readEntries(text, entries, &reason) == reason.empty())
    return 0;
  std::abort(); // a refusal has a reason, and nothing else has
}
