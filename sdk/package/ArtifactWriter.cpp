// SPDX-License-Identifier: Apache-2.0
#include "Artifact.h"
#include "Check.h"
#include "Layout.h"
#include "Metadata.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/Hash.h"

#include <cstring>

namespace backplane {
namespace {

/// Fills in offset, size and hash of each weight; gives the section's size.
Result<uint64_t> placeWeights(ArtifactInfo &artifact,
                              const WeightPool &weights) {
  uint64_t end = 0;
  for (WeightInfo &info : artifact.weights) {
    const Weight *weight = weights.find(info.id);
    if (!weight)
      return notFound("weight '" + info.id + "' is not in the pool");
    info.hash = hash128(weight->data);
    info.offset = layout::alignUp(end, layout::weightAlignment);
    info.size = weight->data.size();
    end = info.offset + info.size;
  }
  return end;
}

layout::Header makeHeader(std::span<const uint8_t> metadata,
                          uint64_t weightBytes, uint32_t version) {
  layout::Header header = {};
  std::memcpy(header.magic, layout::magic, sizeof(header.magic));
  header.version = version;
  header.metadataOffset = sizeof(header);
  header.metadataBytes = metadata.size();
  header.weightsOffset =
      layout::alignUp(sizeof(header) + metadata.size(), layout::pageBytes);
  header.weightsBytes = weightBytes;
  header.fileBytes = header.weightsOffset + weightBytes;
  Hash128 hash = hash128(metadata);
  header.hashLow = hash.low;
  header.hashHigh = hash.high;
  return header;
}

Status writeAll(AtomicFile &file, const layout::Header &header,
                std::span<const uint8_t> metadata, const ArtifactInfo &artifact,
                const WeightPool &weights) {
  if (Status s = file.write(&header, sizeof(header)); !s.ok())
    return s;
  if (Status s = file.write(metadata.data(), metadata.size()); !s.ok())
    return s;
  if (Status s = file.padTo(header.weightsOffset); !s.ok())
    return s;
  for (const WeightInfo &info : artifact.weights) {
    if (Status s = file.padTo(header.weightsOffset + info.offset); !s.ok())
      return s;
    const Weight *weight = weights.find(info.id);
    if (Status s = file.write(weight->data.data(), weight->data.size());
        !s.ok())
      return s;
  }
  return {};
}

} // namespace

Status writeArtifact(const std::string &path, ArtifactInfo &artifact,
                     const WeightPool &weights) {
  Result<uint64_t> weightBytes = placeWeights(artifact, weights);
  if (!weightBytes)
    return weightBytes.status().within(path);
  if (Status s = checkArtifact(artifact, *weightBytes); !s.ok())
    return s.within(path + ": refused to write an artifact that no reader "
                           "would take");
  Bytes metadata = encodeMetadata(artifact);
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  if (Status s = writeAll(
          *file, makeHeader(metadata, *weightBytes, versionOf(artifact)),
          metadata, artifact, weights);
      !s.ok())
    return s;
  return file->commit();
}

} // namespace backplane
