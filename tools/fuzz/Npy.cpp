// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a NumPy file. What is read has all of its bytes.
#include "sdk/support/Npy.h"
#include "File.h"

using namespace backplane;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::File file;
  auto tensor = readNpy(file.with(data, size));
  if (tensor && tensor->elements() > 0)
    (void)tensor->number(tensor->elements() - 1);
  return 0;
}
