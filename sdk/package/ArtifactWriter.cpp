// SPDX-License-Identifier: Apache-2.0
#include "Artifact.h"
#include "AtomicFile.h"
#include "Check.h"
#include "Layout.h"

#include <cstring>

namespace backplane {
namespace {

/// Fills in offset, size and hash of each weight; gives the section's size.
Result<uint64_t> placeWeights(fb::ArtifactT &artifact,
                              const WeightPool &weights) {
  uint64_t end = 0;
  for (auto &info : artifact.weights) {
    const Weight *weight = weights.find(info->id);
    if (!weight)
      return notFound("weight '" + info->id + "' is not in the pool");
    layout::Hash hash = layout::hash(weight->data);
    info->offset = layout::alignUp(end, layout::weightAlignment);
    info->size = weight->data.size();
    info->hash_low = hash.low;
    info->hash_high = hash.high;
    end = info->offset + info->size;
  }
  return end;
}

layout::Header makeHeader(std::span<const uint8_t> metadata,
                          uint64_t weightBytes) {
  layout::Header header = {};
  std::memcpy(header.magic, layout::magic, sizeof(header.magic));
  header.version = versionOf(*fb::GetArtifact(metadata.data()));
  header.metadataOffset = sizeof(header);
  header.metadataBytes = metadata.size();
  header.weightsOffset =
      layout::alignUp(sizeof(header) + metadata.size(), layout::pageBytes);
  header.weightsBytes = weightBytes;
  header.fileBytes = header.weightsOffset + weightBytes;
  layout::Hash hash = layout::hash(metadata);
  header.hashLow = hash.low;
  header.hashHigh = hash.high;
  return header;
}

Status writeAll(AtomicFile &file, const layout::Header &header,
                std::span<const uint8_t> metadata,
                const fb::ArtifactT &artifact, const WeightPool &weights) {
  if (Status s = file.write(&header, sizeof(header)); !s.ok())
    return s;
  if (Status s = file.write(metadata.data(), metadata.size()); !s.ok())
    return s;
  if (Status s = file.padTo(header.weightsOffset); !s.ok())
    return s;
  for (const auto &info : artifact.weights) {
    if (Status s = file.padTo(header.weightsOffset + info->offset); !s.ok())
      return s;
    const Weight *weight = weights.find(info->id);
    if (Status s = file.write(weight->data.data(), weight->data.size());
        !s.ok())
      return s;
  }
  return {};
}

} // namespace

Status writeArtifact(const std::string &path, fb::ArtifactT &artifact,
                     const WeightPool &weights) {
  Result<uint64_t> weightBytes = placeWeights(artifact, weights);
  if (!weightBytes)
    return weightBytes.status().within(path);
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishArtifactBuffer(builder, fb::Artifact::Pack(builder, &artifact));
  std::span<const uint8_t> metadata(builder.GetBufferPointer(),
                                    builder.GetSize());
  if (Status s = checkArtifact(*fb::GetArtifact(metadata.data()), *weightBytes);
      !s.ok())
    return s.within(path + ": refused to write an artifact that no reader "
                           "would take");
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  if (Status s = writeAll(*file, makeHeader(metadata, *weightBytes), metadata,
                          artifact, weights);
      !s.ok())
    return s;
  return file->commit();
}

} // namespace backplane
