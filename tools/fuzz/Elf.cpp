// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as an ELF image of the host driver. What is mapped is looked into
// and never run.
#include "hal/host/Elf.h"

using namespace backplane::host;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string reason;
  auto image = Image::map(data, size, &reason);
  if (!image)
    return reason.empty() ? __builtin_trap(), 0 : 0;
  for (const char *name : {"empty", "add", "", "no such function"})
    (void)image->function(name);
  return 0;
}
