// SPDX-License-Identifier: Apache-2.0
//
// Control.h: the ops with regions. The program runs them, never a backend, so
// they stand apart from the op table. docs/reference/control.md describes them.
//
//   if     condition: [] or [dim]    operands: [predicate,] values…
//          Regions `then` and `else` take the values and give the results. The
//          predicate, or a dim that is not 0, chooses `then`.
//   while  carried, conditional, limit: [] or [dim], iteration
//          operands: [predicate,] carried…, values…
//          The region takes carried and values; it gives [predicate,] carried…,
//          stacked…. Results: the last carried values, and what each iteration
//          gave for the others, stacked along a new first axis.
//
// A region is a graph of its own: it sees its inputs and the symbols around it,
// and declares no symbol but the one that counts the iterations.
#ifndef BACKPLANE_GRAPH_CONTROL_H
#define BACKPLANE_GRAPH_CONTROL_H

#include "Graph.h"

namespace backplane {

/// Regions within regions, at most.
inline constexpr size_t maxRegionDepth = 16;

/// Whether an op of this name has regions.
bool isControl(std::string_view name);

/// What a `while` says about itself.
struct WhileInfo {
  bool conditional = false; ///< runs while a predicate holds
  size_t carried = 0;       ///< values from one iteration to the next
  /// Iterations: as many without a predicate and when results are stacked, else
  /// at most.
  std::optional<Dim> limit;
  std::string iteration; ///< symbol of the region that counts them, or empty
  size_t firstOperand() const { return conditional ? 1 : 0; }
};
/// Reads the attributes; fails when one is missing, unknown or of the wrong
/// kind.
Result<WhileInfo> whileInfo(const Op &op);
/// The dim that decides an `if` instead of a predicate, where it has one.
Result<std::optional<Dim>> ifCondition(const Op &op);

/// The result types of an op whose regions are verified, or the constraint that
/// it breaks. Operands are in range.
Result<std::vector<TensorType>> controlTypes(const Graph &graph, const Op &op);

/// The symbols that are seen in a region: those of `around`, which has its own
/// and those around it, and what the region declares.
std::vector<Symbol> symbolsInside(std::span<const Symbol> around,
                                  const Graph &region);

} // namespace backplane

#endif // BACKPLANE_GRAPH_CONTROL_H
