// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as an ONNX model with the file w.bin of weights beside it. What is
// imported is a graph that holds.
#include "File.h"
#include "sdk/import/Import.h"

#include <fstream>
#include <unistd.h>

using namespace backplane;

static bool writeFile(const std::string &path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  return file.write(bytes.data(), std::streamsize(bytes.size())).good();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder;
  static const std::string weights = folder.path() + "/w.bin";
  // Beside it lies a link that leads out of the folder.
  static const bool ready =
      writeFile(weights, std::string(1 << 16, '\x01')) &&
      symlink("/dev/null", (folder.path() + "/out").c_str()) == 0;
  std::string path = folder.path() + "/model.onnx";
  if (!ready || !writeFile(path, {reinterpret_cast<const char *>(data), size}))
    std::abort();
  Result<Model> model = importOnnx(path);
  if (model && !model->graph.verify().ok())
    std::abort();
  return 0;
}
