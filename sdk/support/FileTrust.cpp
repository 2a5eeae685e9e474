// SPDX-License-Identifier: Apache-2.0
#include "FileTrust.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace backplane {
namespace {

/// Owns a descriptor.
class Descriptor {
public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0)
      close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

private:
  int fd_;
};

const char *kindOf(mode_t mode) {
  if (S_ISDIR(mode))
    return "a folder";
  if (S_ISLNK(mode))
    return "a link";
  if (S_ISFIFO(mode))
    return "a pipe";
  if (S_ISSOCK(mode))
    return "a socket";
  return S_ISREG(mode) ? "a regular file" : "a device";
}

bool isOwn(uid_t owner) { return owner == 0 || owner == geteuid(); }

bool othersMayWrite(const struct stat &info) {
  bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX);
  return !S_ISLNK(info.st_mode) && !sticky &&
         (info.st_mode & (S_IWGRP | S_IWOTH));
}

bool isBelow(const std::string &path, const std::string &folder) {
  return folder == "/" || path == folder ||
         (path.starts_with(folder) && path[folder.size()] == '/');
}

} // namespace

/// Goes along a path, folder by folder, and looks at each of them through a
/// descriptor, so that what was looked at is what is entered.
class TrustWalk {
public:
  TrustWalk(const FileTrust &trust, std::string_view what,
            const std::string &asked)
      : trust_(trust), what_(what), asked_(asked), folder_(-1) {}

  Result<TrustedFile> file(FileTrust::Links links);
  Status folder();

private:
  static constexpr int maxLinks = 40;

  Status begin();
  Status next();
  Status enter(const std::string &name, const struct stat &info,
               Descriptor found);
  Status followLink(int link);
  int open(const std::string &name, int flags) const;
  Status up();
  void look(const struct stat &info, const std::string &path);
  Status verdict(const std::string &path) const;
  Status failure(bp_status_t code, const std::string &text) const {
    return Status(code, std::string(what_) + " '" + asked_ + "' " + text);
  }
  Status cannot(const char *verb, const std::string &path) const;
  std::string in(const std::string &name) const { return path_ + "/" + name; }

  const FileTrust &trust_;
  std::string_view what_;
  const std::string &asked_;
  Descriptor folder_;
  std::string path_; ///< of folder_; empty: "/"
  std::deque<std::string> rest_;
  int links_ = 0, replaced_ = 0;
  std::string refusal_; ///< the first one
};

Status TrustWalk::cannot(const char *verb, const std::string &path) const {
  int error = errno;
  return failure(error == ENOENT || error == ENOTDIR ? BP_STATUS_NOT_FOUND
                                                     : BP_STATUS_UNAVAILABLE,
                 std::string("cannot be used, ") + verb + " '" + path +
                     "' fails: " + std::strerror(error));
}

/// Notes why what lies at `path` is not to be believed.
void TrustWalk::look(const struct stat &info, const std::string &path) {
  bool own = isOwn(info.st_uid), writable = othersMayWrite(info);
  if (!refusal_.empty() || (own && !writable))
    return;
  std::string user = std::to_string(geteuid());
  char mode[8];
  std::snprintf(mode, sizeof(mode), "%04o", unsigned(info.st_mode & 07777));
  std::string subject =
      path == asked_ ? "it"
                     : std::string(kindOf(info.st_mode)) + " '" + path + "'";
  refusal_ =
      "is not used: " + subject + " belongs to uid " +
      std::to_string(info.st_uid) + " and has mode " + mode +
      (own ? ", so others may write it; run 'chmod go-w " + path + "'"
           : ", neither to you (uid " + user + ") nor to root; run 'chown " +
                 user + " " + path + "'") +
      ", or list a folder that you vouch for in trusted_dirs "
      "(BACKPLANE_TRUSTED_DIRS)";
}

/// What is below a folder that the user vouches for is not asked.
Status TrustWalk::verdict(const std::string &path) const {
  if (refusal_.empty())
    return {};
  for (const std::string &folder : trust_.folders_)
    if (isBelow(path, folder))
      return {};
  return failure(BP_STATUS_PERMISSION_DENIED, refusal_);
}

Status TrustWalk::begin() {
  std::string text = asked_;
  if (text.empty() || text.find('\0') != std::string::npos)
    return failure(BP_STATUS_INVALID_ARGUMENT, "is no path");
  if (text.front() != '/') {
    std::error_code error;
    text = std::filesystem::current_path(error).string() + "/" + text;
    if (error)
      return failure(BP_STATUS_UNAVAILABLE,
                     "is relative, and there is no working directory");
  }
  for (const auto &part : std::filesystem::path(text).relative_path())
    rest_.push_back(part.string());
  folder_ = Descriptor(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info = {};
  if (fstat(folder_.get(), &info) != 0)
    return cannot("opening", "/");
  look(info, "/");
  return {};
}

Status TrustWalk::up() {
  folder_ =
      Descriptor(openat(folder_.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  path_.resize(path_.empty() ? 0 : path_.rfind('/'));
  return folder_.get() < 0 ? cannot("opening", path_) : Status();
}

/// Opens a part of the path. The first one goes by its full name: to a program
/// under qemu-user the folder "/" itself is the one of its system libraries.
int TrustWalk::open(const std::string &name, int flags) const {
  return path_.empty() ? ::open(("/" + name).c_str(), flags | O_CLOEXEC)
                       : openat(folder_.get(), name.c_str(), flags | O_CLOEXEC);
}

/// Puts the parts of a link's target in front of the rest.
Status TrustWalk::followLink(int link) {
  char target[PATH_MAX];
  ssize_t size = readlinkat(link, "", target, sizeof(target));
  if (size <= 0 || size == ssize_t(sizeof(target)) || ++links_ > maxLinks)
    return failure(BP_STATUS_INVALID_ARGUMENT,
                   "leads through a link that is damaged or without end");
  std::filesystem::path path(std::string(target, size_t(size)));
  std::deque<std::string> parts;
  for (const auto &part : path.relative_path())
    parts.push_back(part.string());
  rest_.insert(rest_.begin(), parts.begin(), parts.end());
  if (!path.is_absolute())
    return {};
  folder_ = Descriptor(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  path_.clear();
  return folder_.get() < 0 ? cannot("opening", "/") : Status();
}

Status TrustWalk::enter(const std::string &name, const struct stat &info,
                        Descriptor found) {
  look(info, in(name));
  if (S_ISLNK(info.st_mode))
    return followLink(found.get());
  if (!S_ISDIR(info.st_mode)) {
    errno = ENOTDIR;
    return cannot("opening", in(name));
  }
  folder_ = std::move(found);
  path_ = in(name);
  return {};
}

/// Takes one part of the path, which is a folder or a link.
Status TrustWalk::next() {
  std::string name = rest_.front();
  rest_.pop_front();
  if (name.empty() || name == ".")
    return {};
  if (name == "..")
    return up();
  Descriptor found(open(name, O_PATH | O_NOFOLLOW));
  struct stat info = {};
  if (found.get() < 0 || fstat(found.get(), &info) != 0)
    return cannot("opening", in(name));
  return enter(name, info, std::move(found));
}

Status TrustWalk::folder() {
  Status status = begin();
  while (status.ok() && !rest_.empty())
    status = next();
  return status.ok() ? verdict(path_.empty() ? "/" : path_) : status;
}

Result<TrustedFile> TrustWalk::file(FileTrust::Links links) {
  Status status = begin();
  while (status.ok()) {
    while (status.ok() && rest_.size() > 1)
      status = next();
    if (!status.ok())
      break;
    std::string name = rest_.empty() ? "." : rest_.front();
    Descriptor found(open(name, O_PATH | O_NOFOLLOW));
    struct stat info = {}, opened = {};
    if (found.get() < 0 || fstat(found.get(), &info) != 0)
      return cannot("opening", in(name));
    if (S_ISLNK(info.st_mode) && links == FileTrust::Links::Follow) {
      status = next();
      continue;
    }
    if (!S_ISREG(info.st_mode))
      return failure(BP_STATUS_INVALID_ARGUMENT, std::string("is ") +
                                                     kindOf(info.st_mode) +
                                                     ", not a regular file");
    look(info, in(name));
    if (Status s = verdict(in(name)); !s.ok())
      return s;
    Descriptor file(open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    if (file.get() < 0 || fstat(file.get(), &opened) != 0)
      return cannot("opening", in(name));
    // Whoever may write here can put a new file in the place of the old one.
    if (opened.st_dev != info.st_dev || opened.st_ino != info.st_ino) {
      if (++replaced_ > maxLinks)
        return failure(BP_STATUS_UNAVAILABLE, "is replaced all the time");
      continue;
    }
    return TrustedFile(file.release(), in(name), uint64_t(opened.st_size),
                       uint64_t(opened.st_nlink));
  }
  return status;
}

FileTrust::FileTrust(const std::vector<std::string> &folders) {
  std::error_code error;
  for (const std::string &folder : folders)
    if (auto path = std::filesystem::canonical(folder, error);
        !error && !folder.empty() && folder.front() == '/')
      folders_.push_back(path.string());
}

Result<TrustedFile> FileTrust::open(const std::string &path,
                                    std::string_view what, Links links) const {
  return TrustWalk(*this, what, path).file(links);
}

Status FileTrust::checkFolder(const std::string &path,
                              std::string_view what) const {
  return TrustWalk(*this, what, path).folder();
}

TrustedFile::TrustedFile(TrustedFile &&other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)),
      size_(other.size_), links_(other.links_) {}

TrustedFile::~TrustedFile() {
  if (fd_ >= 0)
    close(fd_);
}

Result<std::vector<uint8_t>> TrustedFile::read(uint64_t most) const {
  if (size_ > most)
    return invalidArgument("'" + path_ + "' has " + std::to_string(size_) +
                           " bytes, at most " + std::to_string(most) +
                           " are read");
  std::vector<uint8_t> bytes(size_);
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got =
        pread(fd_, bytes.data() + done, bytes.size() - done, off_t(done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return dataLoss("'" + path_ + "' cannot be read to its end");
    done += size_t(got);
  }
  return bytes;
}

Status makePrivateFolders(const std::string &path) {
  for (size_t at = 1; at <= path.size(); ++at) {
    at = std::min(path.find('/', at), path.size());
    std::string folder = path.substr(0, at);
    struct stat info = {};
    if (mkdir(folder.c_str(), 0700) == 0 ||
        (stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode)))
      continue;
    return Status(BP_STATUS_UNAVAILABLE,
                  "cannot make folder '" + folder +
                      "': " + std::strerror(info.st_mode ? ENOTDIR : errno));
  }
  return {};
}

} // namespace backplane
