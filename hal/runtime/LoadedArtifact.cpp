// SPDX-License-Identifier: Apache-2.0
#include "LoadedArtifact.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace backplane::rt {

Result<std::shared_ptr<const LoadedArtifact>>
LoadedArtifact::open(std::shared_ptr<Registry> registry,
                     const std::string &path) {
  TraceScope scope(registry->host().trace(), "open artifact");
  scope.add("path", std::string_view(path));
  Result<std::shared_ptr<ArtifactFile>> file = ArtifactFile::open(path);
  if (!file)
    return file.status();
  Result<Signature> signature = Signature::read((*file)->metadata());
  if (!signature)
    return signature.status().within(path);
  auto artifact = std::make_shared<LoadedArtifact>();
  artifact->registry = std::move(registry);
  artifact->file = std::move(*file);
  artifact->signature = std::move(*signature);
  return std::shared_ptr<const LoadedArtifact>(std::move(artifact));
}

namespace {

/// A file that has no name, so that the one way of opening serves bytes too.
class MemoryFile {
public:
  MemoryFile() : fd_(memfd_create("artifact", MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0)
      close(fd_);
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  bool write(std::span<const uint8_t> bytes) const {
    while (!bytes.empty()) {
      ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return false;
      bytes = bytes.subspan(size_t(written));
    }
    return fd_ >= 0;
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
  int fd_;
};

} // namespace

Result<std::shared_ptr<const LoadedArtifact>>
LoadedArtifact::openBytes(std::shared_ptr<Registry> registry,
                          std::span<const uint8_t> bytes) {
  MemoryFile file;
  if (!file.write(bytes))
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  std::string("cannot copy an artifact to memory: ") +
                      strerror(errno));
  return open(std::move(registry), file.path());
}

} // namespace backplane::rt
