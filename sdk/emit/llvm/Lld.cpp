// SPDX-License-Identifier: Apache-2.0
//
// lld takes paths only: objects are files in memory, the image comes through a
// pipe, to which lld writes plainly as it is no regular file.
#include "sdk/emit/llvm/Lld.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <system_error>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace backplane {
namespace {

Status exhausted(const std::string &what) {
  return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                what + ": " + std::strerror(errno));
}

class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (fd_ >= 0)
      ::close(std::exchange(fd_, -1));
  }
  int get() const { return fd_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
  int fd_ = -1;
};

Result<Descriptor> memoryFile(std::span<const uint8_t> bytes) {
  Descriptor file(memfd_create("bp-object", MFD_CLOEXEC));
  if (file.get() < 0)
    return exhausted("cannot make a file in memory for the linker");
  while (!bytes.empty()) {
    ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return exhausted("cannot write to a file in memory for the linker");
    bytes = bytes.subspan(size_t(written));
  }
  return file;
}

/// Reads a pipe to its end, beside what writes to it.
class Drain {
public:
  Status start() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
      return exhausted("cannot make a pipe for the linker");
    read_ = Descriptor(fds[0]);
    write_ = Descriptor(fds[1]);
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error &) {
      return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                    "cannot start a thread for the linker");
    }
    return {};
  }
  std::string path() const { return write_.path(); }
  /// What was written; none where that did not fit into memory.
  std::optional<std::vector<uint8_t>> finish() {
    end();
    return complete_ ? std::optional(std::move(bytes_)) : std::nullopt;
  }
  ~Drain() { end(); }

private:
  void end() {
    write_.close();
    if (thread_.joinable())
      thread_.join();
  }
  void run() {
    std::vector<uint8_t> part(1 << 16);
    for (;;) {
      ssize_t count = ::read(read_.get(), part.data(), part.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return;
      keep({part.data(), size_t(count)});
    }
  }
  /// Goes on after a failure, so that the writer does not wait for ever.
  void keep(std::span<const uint8_t> part) {
    try {
      bytes_.insert(bytes_.end(), part.begin(), part.end());
    } catch (const std::bad_alloc &) {
      complete_ = false;
    }
  }

  Descriptor read_, write_;
  std::thread thread_;
  std::vector<uint8_t> bytes_;
  bool complete_ = true;
};

struct Outcome {
  bool linked = false, usable = false;
};

Outcome callLld(const std::vector<std::string> &words, std::string &text) {
  std::vector<const char *> pointers;
  for (const std::string &word : words)
    pointers.push_back(word.c_str());
  llvm::raw_string_ostream out(text);
  try {
    lld::Result result =
        lld::lldMain(pointers, out, out, {{lld::Gnu, &lld::elf::link}});
    return {result.retCode == 0, result.canRunAgain};
  } catch (const std::exception &failure) {
    text += failure.what();
    return {};
  }
}

} // namespace

Result<std::vector<uint8_t>>
runLld(const std::vector<std::string> &arguments,
       std::span<const std::span<const uint8_t>> objects) {
  static std::mutex mutex;
  static bool usable = true;
  std::lock_guard<std::mutex> lock(mutex);
  if (!usable)
    return internalError("the linker failed before in this process, which "
                         "links no more; start it again");
  Drain drain;
  if (Status s = drain.start(); !s.ok())
    return s;
  std::vector<std::string> words = {"ld.lld", "--threads=1", "-o",
                                    drain.path()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<Descriptor> files;
  for (std::span<const uint8_t> object : objects) {
    Result<Descriptor> file = memoryFile(object);
    if (!file)
      return file.status();
    words.push_back(file->path());
    files.push_back(std::move(*file));
  }
  std::string text;
  Outcome outcome = callLld(words, text);
  usable = outcome.usable;
  if (!outcome.linked)
    return internalError("linking failed: " + text);
  std::optional<std::vector<uint8_t>> image = drain.finish();
  if (!image)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "the linked image does not fit into memory");
  return std::move(*image);
}

} // namespace backplane
