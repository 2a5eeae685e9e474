// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a NumPy archive.
#include "conformance/models/Npz.h"
#include "File.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static backplane::fuzz::File file;
  (void)backplane::conformance::readNpz(file.with(data, size));
  return 0;
}
