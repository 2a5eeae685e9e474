// SPDX-License-Identifier: Apache-2.0
//
// Artifact.h: writing and reading .bpx files.
//
// Layout: a 64-byte header (magic "BPX\n", format version, sizes, hash of the
// metadata), the metadata (FlatBuffers, artifact.fbs), then the weights, from
// an offset that is a multiple of 4096, each 64-aligned.
#ifndef BACKPLANE_PACKAGE_ARTIFACT_H
#define BACKPLANE_PACKAGE_ARTIFACT_H

#include "sdk/graph/Model.h"
#include "sdk/program/Variant.h"
#include "sdk/support/FileCopy.h"

namespace backplane {

inline constexpr uint32_t artifactVersion = 2;
/// Of a file with a variant that is split over devices, which a reader must
/// know about.
inline constexpr uint32_t splitArtifactVersion = 3;

/// Writes `artifact` and the weights that it lists (`artifact.weights` needs
/// ids only; offsets, sizes and hashes are filled in) to `path`: a temporary
/// file in the same folder, renamed when it is complete and on disk.
Status writeArtifact(const std::string &path, ArtifactInfo &artifact,
                     const WeightPool &weights);

/// A verified file in memory.
class ArtifactFile {
public:
  /// How the file is held. A copy stays what was verified, whatever becomes of
  /// the file. A mapping shares its memory with other processes; who changes or
  /// shortens the file meanwhile ends all of them.
  enum class Hold { Copy, Map };

  /// Checks magic, version, sizes, the hash of the metadata, the FlatBuffers
  /// structure, every index and expression that the runtime will use, and the
  /// hashes of the weights. Refuses with one line that names the file.
  static Result<std::shared_ptr<ArtifactFile>> open(const std::string &path,
                                                    Hold hold = Hold::Copy);
  /// The same for an open file; messages call it `path`.
  static Result<std::shared_ptr<ArtifactFile>>
  read(int fd, const std::string &path, Hold hold = Hold::Copy);
  /// The same for the bytes of a file, which are copied.
  static Result<std::shared_ptr<ArtifactFile>>
  fromBytes(std::span<const uint8_t> bytes, const std::string &name);
  ArtifactFile(const ArtifactFile &) = delete;
  ArtifactFile &operator=(const ArtifactFile &) = delete;

  const ArtifactInfo &metadata() const { return metadata_; }
  /// The whole weight section.
  std::span<const uint8_t> weights() const { return weights_; }
  /// The whole file.
  std::span<const uint8_t> bytes() const { return contents_.bytes(); }
  const std::string &path() const { return path_; }

private:
  ArtifactFile() = default;
  static Result<std::shared_ptr<ArtifactFile>> make(Result<FileCopy> contents,
                                                    const std::string &path);
  Status load();

  std::string path_;
  FileCopy contents_;
  ArtifactInfo metadata_; ///< its blobs are parts of `contents_`
  std::span<const uint8_t> weights_;
};

} // namespace backplane

#endif // BACKPLANE_PACKAGE_ARTIFACT_H
