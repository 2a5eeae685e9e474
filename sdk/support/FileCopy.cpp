// SPDX-License-Identifier: Apache-2.0
#include "FileCopy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace backplane {

static Status failure(const char *what) {
  return Status(BP_STATUS_UNAVAILABLE,
                std::string("cannot ") + what + ": " + std::strerror(errno));
}

Result<uint64_t> regularFileSize(int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0)
    return failure("read its size");
  if (!S_ISREG(info.st_mode))
    return invalidArgument("is not a regular file");
  return uint64_t(info.st_size);
}

Status readFromStart(int fd, void *to, uint64_t size) {
  constexpr uint64_t maxAtOnce = 1u << 30;
  auto *bytes = static_cast<uint8_t *>(to);
  for (uint64_t done = 0; done < size;) {
    ssize_t got = pread(fd, bytes + done,
                        size_t(std::min(size - done, maxAtOnce)), off_t(done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return failure("read it");
    if (got == 0)
      return dataLoss("was cut off while it was read; try again");
    done += uint64_t(got);
  }
  return {};
}

Result<FileCopy> FileCopy::allocate(uint64_t size) {
  if (size == 0)
    return FileCopy();
  void *memory = mmap(nullptr, size_t(size), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "has " + std::to_string(size) +
                      " bytes, for which there is no memory");
  (void)madvise(memory, size_t(size), MADV_HUGEPAGE); // fewer faults
  return FileCopy(memory, size_t(size));
}

Result<FileCopy> FileCopy::ofFile(int fd, uint64_t size) {
  Result<FileCopy> copy = allocate(size);
  if (!copy || !size)
    return copy;
  if (Status s = readFromStart(fd, copy->memory_, size); !s.ok())
    return s;
  (void)mprotect(copy->memory_, copy->size_, PROT_READ);
  return copy;
}

Result<FileCopy> FileCopy::ofBytes(std::span<const uint8_t> bytes) {
  Result<FileCopy> copy = allocate(bytes.size());
  if (!copy || bytes.empty())
    return copy;
  std::memcpy(copy->memory_, bytes.data(), bytes.size());
  (void)mprotect(copy->memory_, copy->size_, PROT_READ);
  return copy;
}

Result<FileCopy> FileCopy::mapping(int fd, uint64_t size) {
  void *memory = mmap(nullptr, size_t(size), PROT_READ, MAP_PRIVATE, fd, 0);
  if (memory == MAP_FAILED)
    return failure("map it");
  return FileCopy(memory, size_t(size));
}

FileCopy::FileCopy(FileCopy &&other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

FileCopy &FileCopy::operator=(FileCopy &&other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  return *this;
}

FileCopy::~FileCopy() {
  if (memory_)
    munmap(memory_, size_);
}

} // namespace backplane
