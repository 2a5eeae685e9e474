// SPDX-License-Identifier: Apache-2.0
#include "Artifact.h"
#include "Check.h"
#include "Layout.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace backplane {

layout::Hash layout::hash(std::span<const uint8_t> data) {
  XXH128_hash_t hash = XXH3_128bits(data.data(), data.size());
  return {hash.low64, hash.high64};
}

namespace {

/// FlatBuffers cannot address more, and no honest file comes near.
constexpr uint64_t maxMetadata = (uint64_t(1) << 31) - 1;
constexpr unsigned maxDepth = 32, maxTables = 8'000'000;

struct Mapping {
  void *data = nullptr;
  uint64_t size = 0;
};

Status systemFailure(const char *what) {
  return Status(errno == ENOENT ? BP_STATUS_NOT_FOUND : BP_STATUS_UNAVAILABLE,
                std::string("cannot ") + what + ": " + strerror(errno));
}

Result<Mapping> mapDescriptor(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0)
    return systemFailure("read its size");
  if (!S_ISREG(info.st_mode))
    return invalidArgument("is not a regular file");
  if (uint64_t(info.st_size) < sizeof(layout::Header))
    return dataLoss("has " + std::to_string(info.st_size) +
                    " bytes, too few for an artifact; it is truncated or "
                    "not a .bpx file");
  void *data =
      mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED)
    return systemFailure("map it");
  return Mapping{data, uint64_t(info.st_size)};
}

Result<Mapping> mapFile(const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return systemFailure("open it");
  Result<Mapping> mapping = mapDescriptor(fd);
  close(fd);
  return mapping;
}

/// Every field of the header has one value that fits the file, so a damaged
/// one shows.
Status checkHeader(const layout::Header &h, uint64_t fileBytes) {
  if (std::memcmp(h.magic, layout::magic, sizeof(h.magic)) != 0)
    return invalidArgument("is not a .bpx file");
  if (h.version != artifactVersion && h.version != splitArtifactVersion)
    return Status(BP_STATUS_UNIMPLEMENTED,
                  "has artifact version " + std::to_string(h.version) +
                      ", this build reads versions " +
                      std::to_string(artifactVersion) + " and " +
                      std::to_string(splitArtifactVersion) +
                      "; compile the model again or update Backplane");
  if (h.fileBytes != fileBytes)
    return dataLoss("has " + std::to_string(fileBytes) + " bytes, its header " +
                    "says " + std::to_string(h.fileBytes) +
                    "; it is truncated or damaged");
  bool fits = h.metadataOffset == sizeof(h) && h.metadataBytes <= maxMetadata &&
              h.weightsOffset == layout::alignUp(sizeof(h) + h.metadataBytes,
                                                 layout::pageBytes) &&
              h.weightsOffset <= fileBytes &&
              h.weightsBytes == fileBytes - h.weightsOffset;
  return fits ? Status() : dataLoss("has a damaged header");
}

bool isZero(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](uint8_t byte) { return byte == 0; });
}

Status checkWeightBytes(const fb::Artifact &artifact,
                        std::span<const uint8_t> section) {
  uint64_t end = 0;
  if (!artifact.weights())
    return {};
  for (const fb::WeightInfo *info : *artifact.weights()) {
    if (!isZero(section.subspan(end, info->offset() - end)))
      return dataLoss("has damaged padding between weights");
    layout::Hash hash =
        layout::hash(section.subspan(info->offset(), info->size()));
    if (hash != layout::Hash{info->hash_low(), info->hash_high()})
      return dataLoss("has a damaged weight, '" + info->id()->str() +
                      "'; copy or compile it again");
    end = info->offset() + info->size();
  }
  return {};
}

} // namespace

Status ArtifactFile::load() {
  layout::Header header;
  std::memcpy(&header, mapping_, sizeof(header));
  if (Status s = checkHeader(header, size_); !s.ok())
    return s;
  std::span<const uint8_t> file(static_cast<const uint8_t *>(mapping_), size_);
  auto metadata = file.subspan(sizeof(header), header.metadataBytes);
  if (layout::hash(metadata) != layout::Hash{header.hashLow, header.hashHigh})
    return dataLoss("has damaged metadata; copy or compile it again");
  flatbuffers::Verifier verifier(metadata.data(), metadata.size(), maxDepth,
                                 maxTables);
  if (!fb::VerifyArtifactBuffer(verifier))
    return dataLoss("has malformed metadata");
  metadata_ = fb::GetArtifact(metadata.data());
  weights_ = file.subspan(header.weightsOffset, header.weightsBytes);
  if (Status s = checkArtifact(*metadata_, header.weightsBytes); !s.ok())
    return s.within("is not a valid artifact");
  if (header.version != versionOf(*metadata_))
    return dataLoss("has artifact version " + std::to_string(header.version) +
                    ", what it holds needs version " +
                    std::to_string(versionOf(*metadata_)));
  uint64_t metadataEnd = sizeof(header) + header.metadataBytes;
  if (!isZero(file.subspan(metadataEnd, header.weightsOffset - metadataEnd)))
    return dataLoss("has damaged padding after the metadata");
  return checkWeightBytes(*metadata_, weights_);
}

Result<std::shared_ptr<ArtifactFile>>
ArtifactFile::open(const std::string &path) {
  Result<Mapping> mapping = mapFile(path);
  if (!mapping)
    return mapping.status().within(path);
  std::shared_ptr<ArtifactFile> file(new ArtifactFile());
  file->path_ = path;
  file->mapping_ = mapping->data;
  file->size_ = mapping->size;
  if (Status s = file->load(); !s.ok())
    return s.within(path);
  return file;
}

ArtifactFile::~ArtifactFile() {
  if (mapping_)
    munmap(mapping_, size_);
}

} // namespace backplane
