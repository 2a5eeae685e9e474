// SPDX-License-Identifier: Apache-2.0
//
// GraphHandle.h: what a bp_graph_t is; private to the C view.
#ifndef BACKPLANE_GRAPH_GRAPHHANDLE_H
#define BACKPLANE_GRAPH_GRAPHHANDLE_H

#include "GraphTable.h"
#include "sdk/support/Error.h"

#include <new>

/// A graph with everything that accessors point into, made at once so that
/// reading needs no lock.
struct bp_graph_t {
  using Texts = std::vector<std::string>;
  /// A dims attribute in text form.
  struct DimTexts {
    Texts texts;
    std::vector<bp_string_t> views;
  };
  struct OpTexts {
    std::map<std::string, DimTexts, std::less<>> dims;
    std::vector<std::unique_ptr<bp_graph_t>> regions;
  };
  struct Origin {
    uint32_t producer = BP_NONE;
    uint32_t result = 0;
  };

  explicit bp_graph_t(backplane::Graph owned);
  explicit bp_graph_t(const backplane::Graph *view);

  const backplane::Op *op(uint32_t index) const;
  const backplane::Value *value(uint32_t index) const;
  /// Symbol values by name, for evaluate.
  backplane::SymbolValues bind(const int64_t *symbols) const;

  std::unique_ptr<backplane::Graph> owned;
  const backplane::Graph *graph;
  std::vector<Origin> origins;  ///< per value
  std::vector<Texts> dimTexts;  ///< per value
  std::vector<OpTexts> opTexts; ///< per op
};

namespace backplane {

/// Runs `body`, so that nothing is thrown into C.
template <typename F> bp_status_t guarded(bp_error_t *error, F body) {
  try {
    return setError(error, body());
  } catch (const std::bad_alloc &) {
    return BP_STATUS_RESOURCE_EXHAUSTED;
  } catch (...) {
    return BP_STATUS_INTERNAL;
  }
}

/// Fills the builder functions of a table (GraphBuilder.cpp).
void setBuilderFunctions(bp_graph_table_t &table);

} // namespace backplane

#endif // BACKPLANE_GRAPH_GRAPHHANDLE_H
