// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the archive of a submission.
#include "File.h"
#include "conformance/publish/Archive.h"

#include <cstdlib>
#include <filesystem>

using namespace backplane;
namespace fs = std::filesystem;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::File file;
  std::error_code code;
  std::string folder = (fs::temp_directory_path(code) / "bp-XXXXXX").string();
  if (!mkdtemp(folder.data()))
    return 0;
  (void)conformance::unpackArchive(file.with(data, size), folder);
  fs::remove_all(folder, code);
  return 0;
}
