// SPDX-License-Identifier: Apache-2.0
//
// FileCopy.h: the contents of a file in memory of the process. Models, weights
// and artifacts are read, not mapped: a mapped file that somebody cuts off ends
// the process, and one that is overwritten changes under checks that are done.
#ifndef BACKPLANE_SUPPORT_FILECOPY_H
#define BACKPLANE_SUPPORT_FILECOPY_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <span>
#include <string>

namespace backplane {

/// Size of an open file; fails on what is no regular file.
Result<uint64_t> regularFileSize(int fd);

/// Reads from the begin of a file; fails when it is shorter.
Status readFromStart(int fd, void *to, uint64_t size);

/// Read-only, aligned to a page. Messages name no file.
class FileCopy {
public:
  FileCopy() = default;
  /// The first bytes of a file.
  static Result<FileCopy> ofFile(int fd, uint64_t size);
  static Result<FileCopy> ofBytes(std::span<const uint8_t> bytes);
  /// A mapping in place of a copy, for who knows that nobody touches the file.
  static Result<FileCopy> mapping(int fd, uint64_t size);
  FileCopy(FileCopy &&other) noexcept;
  FileCopy &operator=(FileCopy &&other) noexcept;
  ~FileCopy();

  std::span<const uint8_t> bytes() const {
    return {static_cast<const uint8_t *>(memory_), size_};
  }

private:
  FileCopy(void *memory, size_t size) : memory_(memory), size_(size) {}
  static Result<FileCopy> allocate(uint64_t size);

  void *memory_ = nullptr;
  size_t size_ = 0;
};

} // namespace backplane

#endif // BACKPLANE_SUPPORT_FILECOPY_H
