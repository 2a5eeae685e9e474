// SPDX-License-Identifier: Apache-2.0
//
// FileTrust.h: which files are believed. Libraries, cache entries, manifests
// and worker files decide what code runs in this process, so nobody but its
// user and root may have been able to write them: neither the file nor a folder
// on the way to it. Models, artifacts that somebody named, bundles and tensors
// are data: their readers check them, whoever they belong to.
#ifndef BACKPLANE_SUPPORT_FILETRUST_H
#define BACKPLANE_SUPPORT_FILETRUST_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

/// A file that was opened for reading after its checks.
class TrustedFile {
public:
  TrustedFile(int fd, std::string path, uint64_t size, uint64_t links)
      : fd_(fd), path_(std::move(path)), size_(size), links_(links) {}
  TrustedFile(TrustedFile &&other) noexcept;
  TrustedFile &operator=(TrustedFile &&other) = delete;
  ~TrustedFile();

  int fd() const { return fd_; }
  /// Absolute and without links. What lies there can be replaced by those only
  /// who may write the file anyway.
  const std::string &path() const { return path_; }
  uint64_t size() const { return size_; }
  /// Names that the file has.
  uint64_t links() const { return links_; }
  /// All of its bytes; fails when there are more than `most`.
  Result<std::vector<uint8_t>> read(uint64_t most) const;

private:
  int fd_;
  std::string path_;
  uint64_t size_, links_;
};

/// Immutable and thread-safe.
class FileTrust {
public:
  enum class Links { Follow, Refuse };

  FileTrust() = default;
  /// Below these folders everything is believed, as for a folder that a
  /// container shares with its machine. They are absolute; one that is not
  /// there counts for nothing.
  explicit FileTrust(const std::vector<std::string> &folders);

  /// Opens a regular file that belongs to the user of this process or to root,
  /// as do all folders and links on the way, and that nobody else may write; a
  /// folder with the sticky bit may be written by all. Refused links are those
  /// in the place of the file. A failure says what `what` asked for, which
  /// component was found how, and what to do; it has the code
  /// BP_STATUS_PERMISSION_DENIED where trust is what lacks.
  Result<TrustedFile> open(const std::string &path, std::string_view what,
                           Links links = Links::Follow) const;

  /// Whether files in a folder can be believed, by the same rule.
  Status checkFolder(const std::string &path, std::string_view what) const;

  const std::vector<std::string> &folders() const { return folders_; }

private:
  friend class TrustWalk;
  std::vector<std::string> folders_; ///< canonical
};

/// Makes a folder and those above it that are missing, for the user only.
Status makePrivateFolders(const std::string &path);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_FILETRUST_H
