// SPDX-License-Identifier: Apache-2.0
#include "Artifact.h"
#include "Check.h"
#include "Layout.h"
#include "Metadata.h"
#include "sdk/support/Hash.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace backplane {

namespace {

/// FlatBuffers cannot address more, and no honest file comes near.
constexpr uint64_t maxMetadata = (uint64_t(1) << 31) - 1;

Status cannotOpen() {
  return Status(errno == ENOENT ? BP_STATUS_NOT_FOUND : BP_STATUS_UNAVAILABLE,
                std::string("cannot open it: ") + strerror(errno));
}

Status tooShort(uint64_t size) {
  return dataLoss("has " + std::to_string(size) +
                  " bytes, too few for an artifact; it is truncated or not a "
                  ".bpx file");
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

/// The size of a file that may be an artifact by its first bytes, before memory
/// is taken for the rest.
Result<uint64_t> checkFile(int fd) {
  layout::Header header;
  Result<uint64_t> size = regularFileSize(fd);
  if (size && *size < sizeof(header))
    return tooShort(*size);
  Status status =
      size ? readFromStart(fd, &header, sizeof(header)) : size.status();
  if (status.ok())
    status = checkHeader(header, *size);
  return status.ok() ? size : Result<uint64_t>(status);
}

bool isZero(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](uint8_t byte) { return byte == 0; });
}

Status checkWeightBytes(const ArtifactInfo &artifact,
                        std::span<const uint8_t> section) {
  uint64_t end = 0;
  for (const WeightInfo &info : artifact.weights) {
    if (!isZero(section.subspan(end, info.offset - end)))
      return dataLoss("has damaged padding between weights");
    if (hash128(section.subspan(info.offset, info.size)) != info.hash)
      return dataLoss("has a damaged weight, '" + info.id +
                      "'; copy or compile it again");
    end = info.offset + info.size;
  }
  return {};
}

} // namespace

Status ArtifactFile::load() {
  layout::Header header;
  std::span<const uint8_t> file = bytes();
  std::memcpy(&header, file.data(), sizeof(header));
  if (Status s = checkHeader(header, file.size()); !s.ok())
    return s;
  auto metadata = file.subspan(sizeof(header), header.metadataBytes);
  if (hash128(metadata) != Hash128{header.hashLow, header.hashHigh})
    return dataLoss("has damaged metadata; copy or compile it again");
  Result<ArtifactInfo> decoded = decodeMetadata(metadata);
  if (!decoded)
    return decoded.status().within("is not a valid artifact");
  metadata_ = std::move(*decoded);
  weights_ = file.subspan(header.weightsOffset, header.weightsBytes);
  if (Status s = checkArtifact(metadata_, header.weightsBytes); !s.ok())
    return s.within("is not a valid artifact");
  if (header.version != versionOf(metadata_))
    return dataLoss("has artifact version " + std::to_string(header.version) +
                    ", what it holds needs version " +
                    std::to_string(versionOf(metadata_)));
  uint64_t metadataEnd = sizeof(header) + header.metadataBytes;
  if (!isZero(file.subspan(metadataEnd, header.weightsOffset - metadataEnd)))
    return dataLoss("has damaged padding after the metadata");
  return checkWeightBytes(metadata_, weights_);
}

Result<std::shared_ptr<ArtifactFile>>
ArtifactFile::make(Result<FileCopy> contents, const std::string &path) {
  if (!contents)
    return contents.status().within(path);
  std::shared_ptr<ArtifactFile> file(new ArtifactFile());
  file->path_ = path;
  file->contents_ = std::move(*contents);
  if (Status s = file->load(); !s.ok())
    return s.within(path);
  return file;
}

Result<std::shared_ptr<ArtifactFile>>
ArtifactFile::read(int fd, const std::string &path, Hold hold) {
  Result<uint64_t> size = checkFile(fd);
  if (!size)
    return size.status().within(path);
  return make(hold == Hold::Map ? FileCopy::mapping(fd, *size)
                                : FileCopy::ofFile(fd, *size),
              path);
}

Result<std::shared_ptr<ArtifactFile>>
ArtifactFile::fromBytes(std::span<const uint8_t> bytes,
                        const std::string &name) {
  if (bytes.size() < sizeof(layout::Header))
    return tooShort(bytes.size()).within(name);
  return make(FileCopy::ofBytes(bytes), name);
}

Result<std::shared_ptr<ArtifactFile>>
ArtifactFile::open(const std::string &path, Hold hold) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return cannotOpen().within(path);
  auto file = read(fd, path, hold);
  close(fd);
  return file;
}

} // namespace backplane
