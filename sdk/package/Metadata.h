// SPDX-License-Identifier: Apache-2.0
//
// Metadata.h: what an artifact says, to and from FlatBuffers (artifact.fbs).
#ifndef BACKPLANE_PACKAGE_METADATA_H
#define BACKPLANE_PACKAGE_METADATA_H

#include "backplane/cpp/Result.h"
#include "sdk/program/Variant.h"

namespace backplane {

Bytes encodeMetadata(const ArtifactInfo &artifact);

/// Refuses bytes that are no metadata, expressions that do not parse, values
/// that no enum has, and lists that share what an honest file has once each.
/// Blobs of the result are parts of `metadata`.
Result<ArtifactInfo> decodeMetadata(std::span<const uint8_t> metadata);

} // namespace backplane

#endif // BACKPLANE_PACKAGE_METADATA_H
