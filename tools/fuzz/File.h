// SPDX-License-Identifier: Apache-2.0
//
// File.h: bytes of a fuzzer as files, for readers that take a path.
#ifndef BACKPLANE_TOOLS_FUZZ_FILE_H
#define BACKPLANE_TOOLS_FUZZ_FILE_H

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace backplane::fuzz {

/// One temporary file, filled anew for each input.
class File {
public:
  File() : path_(std::filesystem::temp_directory_path() / "fuzz-XXXXXX") {
    file_ = mkstemp(path_.data());
    if (file_ < 0)
      std::abort();
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() {
    close(file_);
    unlink(path_.c_str());
  }

  /// Its path when it holds these bytes.
  const std::string &with(const uint8_t *data, size_t size) {
    if (ftruncate(file_, 0) != 0 ||
        pwrite(file_, data, size, 0) != ssize_t(size))
      std::abort();
    return path_;
  }

private:
  std::string path_;
  int file_;
};

/// A temporary folder, for readers of several files.
class Folder {
public:
  Folder() : path_(std::filesystem::temp_directory_path() / "fuzz-XXXXXX") {
    if (!mkdtemp(path_.data()))
      std::abort();
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  ~Folder() {
    std::error_code code;
    std::filesystem::remove_all(path_, code);
  }

  const std::string &path() const { return path_; }

private:
  std::string path_;
};

} // namespace backplane::fuzz

#endif // BACKPLANE_TOOLS_FUZZ_FILE_H
