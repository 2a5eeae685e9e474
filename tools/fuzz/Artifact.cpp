// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as an artifact, from a file and from memory; mostly with sizes and
// hash of the metadata put right so that the checks behind them are reached.
#include "sdk/package/Artifact.h"
#include "File.h"
#include "sdk/package/Layout.h"

#include <cstdlib>
#include <cstring>

using namespace backplane;

/// Makes the header fit what follows it, where that is possible.
static void fixHeader(Bytes &bytes) {
  layout::Header header;
  if (bytes.size() < sizeof(header))
    return;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.fileBytes = bytes.size();
  if (header.metadataBytes <= bytes.size() - sizeof(header)) {
    Hash128 hash =
        hash128(std::span(bytes).subspan(sizeof(header), header.metadataBytes));
    header.hashLow = hash.low;
    header.hashHigh = hash.high;
  }
  std::memcpy(bytes.data(), &header, sizeof(header));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::File file;
  Bytes bytes(data, data + size);
  if (size % 8 != 7)
    fixHeader(bytes);
  const std::string &path = file.with(bytes.data(), bytes.size());
  auto copied = ArtifactFile::open(path);
  auto mapped = ArtifactFile::open(path, ArtifactFile::Hold::Map);
  auto given = ArtifactFile::fromBytes(bytes, path);
  if (copied.ok() != mapped.ok() || copied.ok() != given.ok())
    std::abort();
  return 0;
}
