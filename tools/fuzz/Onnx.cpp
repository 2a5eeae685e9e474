// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as an ONNX model. What is imported is a graph that holds.
#include "File.h"
#include "sdk/import/Import.h"

using namespace backplane;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::File file;
  Result<Model> model = importOnnx(file.with(data, size));
  if (model && !model->graph.verify().ok())
    std::abort();
  return 0;
}
