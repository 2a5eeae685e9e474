// SPDX-License-Identifier: Apache-2.0
#include "TemporaryFolder.h"

#include <cstdlib>
#include <filesystem>

namespace backplane {

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  std::string name = std::filesystem::temp_directory_path(error) / "bp-XXXXXX";
  if (!error && mkdtemp(name.data()))
    path_ = std::move(name);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty())
    std::filesystem::remove_all(path_, ignored);
}

} // namespace backplane
