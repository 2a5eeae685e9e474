// SPDX-License-Identifier: Apache-2.0
//
// LoadedArtifact.h: an opened artifact and the context it was opened in.
// Sessions share it.
#ifndef BACKPLANE_RUNTIME_LOADEDARTIFACT_H
#define BACKPLANE_RUNTIME_LOADEDARTIFACT_H

#include "Signature.h"
#include "hal/core/Registry.h"

namespace backplane::rt {

/// Immutable.
struct LoadedArtifact {
  std::shared_ptr<Registry> registry;
  std::shared_ptr<ArtifactFile> file;
  Signature signature;

  static Result<std::shared_ptr<const LoadedArtifact>>
  open(std::shared_ptr<Registry> registry, const std::string &path);
  static Result<std::shared_ptr<const LoadedArtifact>>
  open(std::shared_ptr<Registry> registry, const TrustedFile &file);
  /// The same with a copy of the bytes of a file.
  static Result<std::shared_ptr<const LoadedArtifact>>
  openBytes(std::shared_ptr<Registry> registry, std::span<const uint8_t> bytes);
};

/// Signature, variants with their dispatches and memory, for people.
std::string describe(const LoadedArtifact &artifact);
/// Reasons: which variant each device of this machine runs and why, and what
/// the compiler reported: fusion cuts, kernels, buffer reuse.
std::string explain(const LoadedArtifact &artifact);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_LOADEDARTIFACT_H
