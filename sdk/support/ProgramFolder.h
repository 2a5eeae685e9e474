// SPDX-License-Identifier: Apache-2.0
//
// ProgramFolder.h: where the running program is.
#ifndef BACKPLANE_SUPPORT_PROGRAMFOLDER_H
#define BACKPLANE_SUPPORT_PROGRAMFOLDER_H

#include <filesystem>

namespace backplane {

/// The folder of this program, behind links; empty where /proc is missing.
inline std::filesystem::path programFolder() {
  std::error_code code;
  return std::filesystem::read_symlink("/proc/self/exe", code).parent_path();
}

} // namespace backplane

#endif // BACKPLANE_SUPPORT_PROGRAMFOLDER_H
