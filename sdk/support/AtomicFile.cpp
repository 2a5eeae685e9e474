// SPDX-License-Identifier: Apache-2.0
#include "AtomicFile.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace backplane {
namespace {

constexpr std::string_view mark = ".tmp-";
constexpr time_t staleSeconds = 60;

/// Whether a name ends like those that AtomicFile::create makes.
bool isTemporary(std::string_view name) {
  size_t at = name.rfind(mark);
  if (at == std::string_view::npos)
    return false;
  std::string_view numbers = name.substr(at + mark.size());
  size_t dash = numbers.find('-');
  return dash != std::string_view::npos && dash > 0 &&
         dash + 1 < numbers.size() &&
         numbers.find_first_not_of("0123456789") == dash &&
         numbers.find_first_not_of("0123456789", dash + 1) ==
             std::string_view::npos;
}

/// Whether whoever wrote the file is gone.
bool isStale(int fd) {
  struct stat facts = {};
  return fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
         facts.st_mtime + staleSeconds < time(nullptr) &&
         flock(fd, LOCK_EX | LOCK_NB) == 0;
}

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// Where an open file can be given a name from.
std::string openFile(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

/// A file without a name, which goes with this process; -1 where the file
/// system has none, or there is no /proc to name it by.
int openUnnamed(const std::string &folder) {
  int fd = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd >= 0 && access(openFile(fd).c_str(), F_OK) == 0)
    return fd;
  if (fd >= 0)
    close(fd);
  return -1;
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

Status checkOutput(const std::string &path) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode))
    return {};
  const char *found = S_ISDIR(info.st_mode)    ? "a folder"
                      : S_ISLNK(info.st_mode)  ? "a link"
                      : S_ISFIFO(info.st_mode) ? "a pipe"
                      : S_ISSOCK(info.st_mode) ? "a socket"
                                               : "a device";
  return invalidArgument("output '" + path + "' is " + found +
                         "; only a regular file is replaced, name another one");
}

bool isSameFile(const std::string &one, const std::string &other) {
  struct stat a = {}, b = {};
  return stat(one.c_str(), &a) == 0 && stat(other.c_str(), &b) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

Result<AtomicFile> AtomicFile::create(const std::string &path, Over over) {
  if (over == Over::Regular)
    if (Status s = checkOutput(path); !s.ok())
      return s;
  int fd = openUnnamed(folderOf(path));
  return fd < 0 ? createNamed(path) : AtomicFile(path, fd);
}

Result<AtomicFile> AtomicFile::createNamed(const std::string &path) {
  AtomicFile file(path, -1);
  bool made = file.takeName([&](const char *name) {
    file.fd_ = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return file.fd_ >= 0;
  });
  if (!made)
    return file.failure("create a file in its folder");
  file.lock();
  return file;
}

/// A name can be taken by what a process that died has left behind.
bool AtomicFile::takeName(const std::function<bool(const char *)> &make) {
  static std::atomic<unsigned> counter = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = path_ + std::string(mark) + std::to_string(getpid()) +
                       "-" + std::to_string(counter++);
    if (make(name.c_str())) {
      temporary_ = std::move(name);
      return true;
    }
    if (errno != EEXIST)
      break;
  }
  return false;
}

/// See removeStaleFiles.
void AtomicFile::lock() { (void)flock(fd_, LOCK_EX | LOCK_NB); }

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
  Status status = commitUnsynced();
  if (status.ok())
    syncFolder(folderOf(path_));
  return status;
}

/// Names a file that has no name: for good where nothing is there, so that no
/// kill can leave another name; only a rename replaces what is there.
bool AtomicFile::giveName() {
  if (linkat(AT_FDCWD, openFile(fd_).c_str(), AT_FDCWD, path_.c_str(),
             AT_SYMLINK_FOLLOW) == 0)
    return true;
  lock();
  return takeName([file = openFile(fd_)](const char *name) {
    return linkat(AT_FDCWD, file.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) ==
           0;
  });
}

Status AtomicFile::commitUnsynced() {
  if (temporary_.empty() && !giveName())
    return failure("name the finished file");
  int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0)
    return failure("close");
  if (!temporary_.empty() && rename(temporary_.c_str(), path_.c_str()) != 0)
    return failure("rename the finished file");
  temporary_.clear();
  return {};
}

void removeStaleFiles(const std::string &folder) {
  std::error_code error;
  std::filesystem::directory_iterator files(folder, error), end;
  for (; !error && files != end; files.increment(error)) {
    const std::filesystem::path &path = files->path();
    if (!isTemporary(path.filename().string()))
      continue;
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
      continue;
    if (isStale(fd))
      unlink(path.c_str());
    close(fd);
  }
}

void removeFilesOf(int process, const std::string &path) {
  namespace fs = std::filesystem;
  std::string start = fs::path(path).filename().string() + std::string(mark) +
                      std::to_string(process) + "-";
  std::error_code error;
  fs::directory_iterator files(folderOf(path), error), end;
  for (; !error && files != end; files.increment(error))
    if (files->path().filename().string().starts_with(start))
      unlink(files->path().c_str());
}

Status writeFileAtomically(const std::string &path,
                           std::span<const uint8_t> data,
                           AtomicFile::Over over) {
  Result<AtomicFile> file = AtomicFile::create(path, over);
  if (!file)
    return file.status();
  if (Status s = file->write(data.data(), data.size()); !s.ok())
    return s;
  return file->commit();
}

} // namespace backplane
