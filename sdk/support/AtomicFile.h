// SPDX-License-Identifier: Apache-2.0
//
// AtomicFile.h: a file that appears complete or not at all, also when the
// process dies or the disk is full. Artifacts and cache entries are written
// through it.
#ifndef BACKPLANE_SUPPORT_ATOMICFILE_H
#define BACKPLANE_SUPPORT_ATOMICFILE_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <functional>
#include <span>

namespace backplane {

/// Why `path`, which a user named, is nothing to write a file to: a folder, a
/// link, a pipe or a device is there. OK when nothing or a regular file is.
Status checkOutput(const std::string &path);

/// Whether two paths lead to one file, by whatever names.
bool isSameFile(const std::string &one, const std::string &other);

/// Writes to a file without a name in the folder of `path`, of which nothing is
/// left when the process is killed; where the file system has no such files, to
/// a temporary file, which it locks. Where it replaces a file, the whole of it
/// has a temporary name before it is renamed, which a kill in between leaves.
/// Without a commit it is removed by the destructor. Every failure names
/// `path`.
class AtomicFile {
public:
  /// What may be replaced: regular files, as by checkOutput, or also links,
  /// pipes and devices, as in a folder of our own.
  enum class Over { Regular, Anything };

  static Result<AtomicFile> create(const std::string &path,
                                   Over over = Over::Regular);
  /// The same, over anything, with a temporary file wherever it is.
  static Result<AtomicFile> createNamed(const std::string &path);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&other) = delete;
  ~AtomicFile();

  Status write(const void *data, uint64_t size);
  /// Writes zeros up to this offset, which is not below the current one.
  Status padTo(uint64_t offset);
  /// Brings everything to disk and renames the file to `path`, over what may
  /// be there. Nothing can be written afterwards.
  Status commit();
  /// The same without waiting for the disk: if the machine stops, the file may
  /// appear with other bytes. For files whose reader can tell.
  Status commitUnsynced();

private:
  AtomicFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status failure(const char *what) const;
  bool takeName(const std::function<bool(const char *)> &make);
  bool giveName();
  void lock();

  std::string path_, temporary_; ///< the latter empty: it has no name
  int fd_ = -1;
  uint64_t offset_ = 0;
};

/// Removes what processes that died while they wrote have left in a folder:
/// temporary files whose lock nobody holds and that nobody wrote to for a
/// minute (a file system of a network may know no locks).
void removeStaleFiles(const std::string &folder);

/// Removes what one process, which is gone, has left half-written of `path`.
void removeFilesOf(int process, const std::string &path);

/// Writes the whole of `data` to `path` through an AtomicFile.
Status writeFileAtomically(const std::string &path,
                           std::span<const uint8_t> data,
                           AtomicFile::Over over = AtomicFile::Over::Regular);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_ATOMICFILE_H
