// SPDX-License-Identifier: Apache-2.0
//
// TemporaryFolder.h: a place for files that a process needs for a while.
#ifndef BACKPLANE_SDK_SUPPORT_TEMPORARYFOLDER_H
#define BACKPLANE_SDK_SUPPORT_TEMPORARYFOLDER_H

#include <string>

namespace backplane {

/// A new folder below TMPDIR, or /tmp, that only its owner can read. It is
/// removed, with all that is in it, with this object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  /// Empty: it could not be made.
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

} // namespace backplane

#endif // BACKPLANE_SDK_SUPPORT_TEMPORARYFOLDER_H
