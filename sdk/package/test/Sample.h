// SPDX-License-Identifier: Apache-2.0
//
// Sample.h: hand-made artifacts for tests, and short ways to write their parts.
#ifndef BACKPLANE_PACKAGE_TEST_SAMPLE_H
#define BACKPLANE_PACKAGE_TEST_SAMPLE_H

#include "artifact_generated.h"
#include "sdk/package/Artifact.h"

namespace backplane::sample {

std::unique_ptr<fb::TensorInfoT> tensor(std::string name, DType type,
                                        std::vector<std::string> dims);
std::unique_ptr<fb::SlotT> slot(fb::SlotKind kind, uint32_t index,
                                std::string bytes = "");
std::unique_ptr<fb::SlotT> transient(std::string bytes, uint32_t first,
                                     uint32_t last, int64_t offset = -1,
                                     int32_t reuse = -1);
std::unique_ptr<fb::BindingT> binding(uint32_t slot, std::string offset = "",
                                      std::string length = "");
/// A dispatch of entry 0 of `executable` with whole slots as bindings.
std::unique_ptr<fb::CommandT> dispatch(uint32_t executable,
                                       std::vector<std::string> grid,
                                       std::vector<std::string> constants,
                                       std::vector<uint32_t> slots);
std::unique_ptr<fb::CommandT> copy(uint32_t source, uint32_t target);
std::unique_ptr<fb::CommandT> fill(uint32_t target, uint32_t pattern);
std::unique_ptr<fb::CommandT> barrier();
/// An executable with one entry.
std::unique_ptr<fb::ExecutableT> executable(std::string format, Bytes blob,
                                            std::string entry,
                                            std::vector<uint8_t> access,
                                            uint32_t constants);
/// writeArtifact for what this header makes, which may be wrong.
Status write(const std::string &path, const fb::ArtifactT &artifact,
             const WeightPool &weights);
/// Adds a weight of bytes to the pool and lists it; gives its index.
uint32_t addWeight(fb::ArtifactT &artifact, WeightPool &pool, Bytes bytes);

/// An artifact that uses every feature: a symbol, a check, weights, a variable,
/// an init program, regions, transients with and without places, every
/// command.
void fullArtifact(fb::ArtifactT &artifact, WeightPool &pool);

/// Gives it all that a launch may have: bytes for the driver, a subgroup size,
/// parameters, dynamic shared memory, clusters.
void extendLaunches(fb::ArtifactT &artifact);

/// Appends a read of a symbol "k", at most n, and an output "z" of its size.
void addRead(fb::ArtifactT &artifact);

/// Splits it: what `init` and the regions use stays on device 0, the second
/// dispatch runs on device 1, with a transfer to it and back.
void split(fb::ArtifactT &artifact);

} // namespace backplane::sample

#endif // BACKPLANE_PACKAGE_TEST_SAMPLE_H
