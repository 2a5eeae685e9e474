// SPDX-License-Identifier: Apache-2.0
#include "LoadedArtifact.h"

#include <functional>

namespace backplane::rt {

using Loaded = Result<std::shared_ptr<const LoadedArtifact>>;
using Opened = Result<std::shared_ptr<ArtifactFile>>;

static Loaded load(std::shared_ptr<Registry> registry, const std::string &path,
                   const std::function<Opened()> &open) {
  TraceScope scope(registry->host().trace(), "open artifact");
  scope.add("path", std::string_view(path));
  Opened file = open();
  if (!file)
    return file.status();
  auto artifact = std::make_shared<LoadedArtifact>();
  artifact->registry = std::move(registry);
  artifact->file = std::move(*file);
  artifact->signature = Signature::read(artifact->file->metadata());
  return std::shared_ptr<const LoadedArtifact>(std::move(artifact));
}

static ArtifactFile::Hold holdOf(const Registry &registry) {
  return registry.host().mapArtifacts() ? ArtifactFile::Hold::Map
                                        : ArtifactFile::Hold::Copy;
}

Loaded LoadedArtifact::open(std::shared_ptr<Registry> registry,
                            const std::string &path) {
  ArtifactFile::Hold hold = holdOf(*registry);
  return load(std::move(registry), path,
              [&] { return ArtifactFile::open(path, hold); });
}

Loaded LoadedArtifact::open(std::shared_ptr<Registry> registry,
                            const TrustedFile &file) {
  ArtifactFile::Hold hold = holdOf(*registry);
  return load(std::move(registry), file.path(),
              [&] { return ArtifactFile::read(file.fd(), file.path(), hold); });
}

Loaded LoadedArtifact::openBytes(std::shared_ptr<Registry> registry,
                                 std::span<const uint8_t> bytes) {
  const std::string name = "the artifact";
  return load(std::move(registry), name,
              [&] { return ArtifactFile::fromBytes(bytes, name); });
}

} // namespace backplane::rt
