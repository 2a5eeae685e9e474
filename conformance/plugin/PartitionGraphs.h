// SPDX-License-Identifier: Apache-2.0
//
// PartitionGraphs.h: the graphs that checks of partitions ask for, and the
// dispatch that a partition becomes.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_PARTITIONGRAPHS_H
#define BACKPLANE_CONFORMANCE_PLUGIN_PARTITIONGRAPHS_H

#include "backplane/compiler.h"
#include "hal/worker/GuardedMemory.h"
#include "sdk/graph/Model.h"

#include <deque>
#include <optional>

namespace backplane::checks {

struct OddGraph {
  std::string name;
  Graph graph;
  WeightPool weights;
};

inline constexpr const char *oddGraphNames[] = {
    "chain",       "layers",  "bypass", "empty",   "scalar", "rank-16",
    "no-elements", "symbols", "dtypes", "outputs", "long"};

/// Of these names, in this order.
const std::vector<OddGraph> &oddGraphs();

/// An op outside of a set on a path that leaves it and comes back; none: there
/// is no such path. Weights, constants, broadcasts and reshapes are on none:
/// they come with who uses them.
std::optional<uint32_t> pathBack(const Graph &graph,
                                 const std::vector<uint32_t> &set);

/// A partition as `compile` gets it: weights are inputs.
struct Dispatch {
  Graph graph;
  std::vector<const Weight *> weights; ///< of each input; null: it is none
  std::vector<WeightId> ids;           ///< likewise
};

/// None: the set computes nothing that is used.
std::optional<Dispatch> dispatchOf(const OddGraph &odd,
                                   const std::vector<uint32_t> &set);

/// Gives the weights of a dispatch in memory that ends where nobody may read,
/// and notes what is asked that there is not.
class GuardedWeights {
public:
  explicit GuardedWeights(const Dispatch &dispatch);
  GuardedWeights(const GuardedWeights &) = delete;
  GuardedWeights &operator=(const GuardedWeights &) = delete;

  bp_weight_reader_t c();
  /// Empty: nothing.
  std::string complaint() const;

private:
  bp_status_t read(uint32_t input, bp_string_t *id, bp_bytes_t *values);

  const Dispatch &dispatch_;
  std::vector<std::optional<worker::GuardedMemory>> memory_;
  std::string complaint_;
};

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_PARTITIONGRAPHS_H
