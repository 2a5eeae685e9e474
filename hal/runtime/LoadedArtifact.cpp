// SPDX-License-Identifier: Apache-2.0
#include "LoadedArtifact.h"

namespace backplane::rt {

Result<std::shared_ptr<const LoadedArtifact>>
LoadedArtifact::open(std::shared_ptr<Registry> registry,
                     const std::string &path) {
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

} // namespace backplane::rt
