// SPDX-License-Identifier: Apache-2.0
//
// Artifact.h: writing and reading .bpx files.
//
// Layout: a 64-byte header (magic "BPX\n", format version, sizes, hash of the
// metadata), the metadata (FlatBuffers, artifact.fbs), then the weights, from
// an offset that is a multiple of 4096, each 64-aligned.
#ifndef BACKPLANE_PACKAGE_ARTIFACT_H
#define BACKPLANE_PACKAGE_ARTIFACT_H

#include "artifact_generated.h"
#include "sdk/graph/Model.h"

namespace backplane {

inline constexpr uint32_t artifactVersion = 2;
/// Of a file with a variant that is split over devices, which a reader must
/// know about.
inline constexpr uint32_t splitArtifactVersion = 3;

/// Writes `artifact` and the weights that it lists (`artifact.weights` needs
/// ids only; offsets, sizes and hashes are filled in) to `path`: a temporary
/// file in the same folder, renamed when it is complete and on disk.
Status writeArtifact(const std::string &path, fb::ArtifactT &artifact,
                     const WeightPool &weights);

/// A mapped and verified file.
class ArtifactFile {
public:
  /// Checks magic, version, sizes, the hash of the metadata, the FlatBuffers
  /// structure, every index and expression that the runtime will use, and the
  /// hashes of the weights. Refuses with one line that names the file.
  static Result<std::shared_ptr<ArtifactFile>> open(const std::string &path);
  ~ArtifactFile();
  ArtifactFile(const ArtifactFile &) = delete;
  ArtifactFile &operator=(const ArtifactFile &) = delete;

  const fb::Artifact &metadata() const { return *metadata_; }
  /// The whole weight section.
  std::span<const uint8_t> weights() const { return weights_; }
  /// The whole file.
  std::span<const uint8_t> bytes() const {
    return {static_cast<const uint8_t *>(mapping_), size_};
  }
  const std::string &path() const { return path_; }

private:
  ArtifactFile() = default;
  Status load();

  std::string path_;
  void *mapping_ = nullptr;
  size_t size_ = 0;
  const fb::Artifact *metadata_ = nullptr;
  std::span<const uint8_t> weights_;
};

} // namespace backplane

#endif // BACKPLANE_PACKAGE_ARTIFACT_H
