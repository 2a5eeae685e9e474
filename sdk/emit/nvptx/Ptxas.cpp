// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/nvptx/Ptxas.h"

#include <cstdlib>
#include <unistd.h>

namespace backplane {
namespace {

constexpr const char *variable = "BACKPLANE_PTXAS";

std::string inPath() {
  const char *path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    std::string file = std::string(folder) + "/ptxas";
    if (!folder.empty() && access(file.c_str(), X_OK) == 0)
      return file;
  }
  return "";
}

} // namespace

Result<std::string> findPtxas(const FileTrust &trust) {
  const char *named = std::getenv(variable);
  std::string file = named ? named : inPath();
  if (file.empty())
    return Status(BP_STATUS_FAILED_PRECONDITION,
                  "a cubin needs NVIDIA's ptxas, and PATH has none; name the "
                  "program by BACKPLANE_PTXAS, or take the target without "
                  "-cubin, whose PTX the device's driver compiles");
  Result<TrustedFile> opened = trust.open(file, "ptxas");
  if (!opened)
    return opened.status().within("a cubin needs NVIDIA's ptxas");
  if (access(opened->path().c_str(), X_OK) != 0)
    return Status(BP_STATUS_FAILED_PRECONDITION,
                  "a cubin needs NVIDIA's ptxas, and " + file +
                      " is no program that can be started");
  return opened->path();
}

} // namespace backplane
