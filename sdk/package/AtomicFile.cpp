// SPDX-License-Identifier: Apache-2.0
#include "AtomicFile.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace backplane {
namespace {

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// Makes a rename durable. A file system that cannot do it is not a failure.
void syncFolder(const std::string &folder) {
  int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return;
  fsync(fd);
  close(fd);
}

} // namespace

Status AtomicFile::failure(const char *what) const {
  int error = errno;
  return Status(error == ENOSPC || error == EDQUOT
                    ? BP_STATUS_RESOURCE_EXHAUSTED
                    : BP_STATUS_UNAVAILABLE,
                path_ + ": cannot " + what + ": " + strerror(error));
}

Result<AtomicFile> AtomicFile::create(const std::string &path) {
  static std::atomic<unsigned> counter = 0;
  AtomicFile file(path, "", -1);
  // A name can be taken by what a process that died has left behind.
  for (int attempt = 0; attempt < 100 && file.fd_ < 0; ++attempt) {
    std::string temporary = path + ".tmp-" + std::to_string(getpid()) + "-" +
                            std::to_string(counter++);
    file.fd_ =
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.fd_ >= 0)
      file.temporary_ = temporary;
    else if (errno != EEXIST)
      break;
  }
  if (file.fd_ < 0)
    return file.failure("create a file in its folder");
  return file;
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)),
      fd_(other.fd_), offset_(other.offset_) {
  other.fd_ = -1;
  other.temporary_.clear();
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0)
    close(fd_);
  if (!temporary_.empty())
    unlink(temporary_.c_str());
}

Status AtomicFile::write(const void *data, uint64_t size) {
  const char *next = static_cast<const char *>(data);
  while (size > 0) {
    // One call moves at most about 2 GiB.
    ssize_t done = ::write(fd_, next, std::min<uint64_t>(size, 1u << 30));
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return failure("write");
    next += done;
    size -= uint64_t(done);
    offset_ += uint64_t(done);
  }
  return {};
}

Status AtomicFile::padTo(uint64_t offset) {
  static const char zeros[4096] = {};
  while (offset_ < offset) {
    uint64_t size = std::min<uint64_t>(offset - offset_, sizeof(zeros));
    if (Status s = write(zeros, size); !s.ok())
      return s;
  }
  return {};
}

Status AtomicFile::commit() {
  if (fsync(fd_) != 0)
    return failure("bring the file to disk");
  int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0)
    return failure("close");
  if (rename(temporary_.c_str(), path_.c_str()) != 0)
    return failure("rename the finished file");
  temporary_.clear();
  syncFolder(folderOf(path_));
  return {};
}

Status writeFileAtomically(const std::string &path,
                           std::span<const uint8_t> data) {
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  if (Status s = file->write(data.data(), data.size()); !s.ok())
    return s;
  return file->commit();
}

} // namespace backplane
