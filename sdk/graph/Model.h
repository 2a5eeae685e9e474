// SPDX-License-Identifier: Apache-2.0
//
// Model.h: a graph together with the bytes of its weights.
//
// Weights never stand in a graph: a `weight` op names an id, which is the hash
// of dtype, dims and contents. The pool keeps the bytes alive, most often by
// keeping a file mapped.
#ifndef BACKPLANE_GRAPH_MODEL_H
#define BACKPLANE_GRAPH_MODEL_H

#include "Graph.h"

namespace backplane {

/// 32 hexadecimal digits: XXH3-128 of dtype, dims and contents.
using WeightId = std::string;

struct Weight {
  TensorType type; ///< static
  std::span<const uint8_t> data;
  std::shared_ptr<const void> owner; ///< keeps `data` valid
};

class WeightPool {
public:
  /// Adds bytes that `owner` keeps alive; equal contents are kept once. The
  /// size must fit the type.
  Result<WeightId> add(const TensorType &type, std::span<const uint8_t> data,
                       std::shared_ptr<const void> owner);
  /// Adds bytes that the pool then owns.
  Result<WeightId> add(const TensorType &type, Bytes data);
  const Weight *find(std::string_view id) const;
  const std::map<WeightId, Weight, std::less<>> &all() const {
    return weights_;
  }

private:
  std::map<WeightId, Weight, std::less<>> weights_;
};

struct Model {
  Graph graph;
  WeightPool weights;
  /// Files beside the model that the import read, relative to its folder:
  /// external data. The compile cache keys on their contents.
  std::vector<std::string> externalFiles;
};

/// The weights that a graph names, those of its regions and the initial values
/// of its variables included.
std::map<WeightId, TensorType> weightsOf(const Graph &graph);

} // namespace backplane

#endif // BACKPLANE_GRAPH_MODEL_H
