// SPDX-License-Identifier: Apache-2.0
#include "StoredGraph.h"
#include "sdk/graph/Wire.h"

namespace backplane::rt {

Result<Model> storedModel(const LoadedArtifact &artifact) {
  const ArtifactInfo &metadata = artifact.file->metadata();
  if (metadata.graph.bytes.empty())
    return Status(BP_STATUS_FAILED_PRECONDITION,
                  "the artifact holds no graph; compile the model with "
                  "--embed-graph");
  Result<Graph> graph = readGraph(metadata.graph.bytes);
  if (!graph)
    return graph.status().within("stored graph");
  std::map<std::string_view, std::span<const uint8_t>> stored;
  for (const WeightInfo &info : metadata.weights)
    stored[info.id] = artifact.file->weights().subspan(info.offset, info.size);
  Model model{std::move(*graph), {}, {}};
  for (const auto &[id, type] : weightsOf(model.graph)) {
    auto found = stored.find(id);
    if (found == stored.end())
      return dataLoss("stored graph: the artifact lacks weight " + id);
    Result<WeightId> added =
        model.weights.add(type, found->second, artifact.file);
    if (!added)
      return added.status().within("stored graph");
    if (*added != id)
      return dataLoss("stored graph: weight " + id +
                      " has other contents than its id says");
  }
  return model;
}

} // namespace backplane::rt
