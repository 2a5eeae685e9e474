// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the manifest of a plug-in.
#include "hal/core/Manifest.h"
#include "File.h"
#include "hal/core/CpuInfo.h"

using namespace backplane;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::File file;
  static const bp_host_cpu_t cpu = {};
  if (auto manifest = readManifest(file.with(data, size), {}))
    (void)manifestRefusal(*manifest, LoaderOptions(), cpu);
  return 0;
}
