// SPDX-License-Identifier: Apache-2.0
//
// GroupOrder.h: an acyclic graph in which nodes are joined, in an order that
// respects its edges. Whether two nodes may be joined is asked of the nodes
// between them in that order only, from both sides at once, and of a bounded
// number: partitioning takes time in proportion to the ops.
#ifndef BACKPLANE_FUSION_GROUPORDER_H
#define BACKPLANE_FUSION_GROUPORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace bp {

class GroupOrder {
public:
  using Node = unsigned;

  /// Edges that one question may follow.
  static constexpr unsigned maxSteps = 1000;

  /// How two nodes can be joined.
  struct Join {
    Node first, second; ///< in order
    /// The nodes that come to stand before `first`, or after `second`, in
    /// order.
    llvm::SmallVector<Node> moved;
    bool before;
  };

  GroupOrder();
  /// A new node, the last in order, with an edge from each source.
  Node add(llvm::ArrayRef<Node> sources);
  /// None where a path leads from one to the other through a third, so that
  /// joined they would depend on themselves, or where more than maxSteps would
  /// be needed to know.
  std::optional<Join> tryJoin(Node a, Node b);
  /// Both are one node from now on; nothing else may have been joined since
  /// tryJoin.
  void join(Join found);
  /// Whether both were joined.
  bool isSame(Node a, Node b) { return find(a) == find(b); }
  /// Edges followed and places given so far: the work that was done.
  uint64_t steps() const { return steps_; }

private:
  struct Entry {
    Node joined; ///< itself unless joined to another
    Node previous, next;
    uint64_t label = 0; ///< ascends in order
    uint64_t seen = 0;  ///< the last search that found it
    llvm::SmallVector<Node, 2> sources, targets;
  };
  /// One side of a search.
  struct Side {
    Node end; ///< where a path would lead
    bool backward;
    uint64_t mark, otherMark;
    llvm::SmallVector<Node> found; ///< the start, then what was reached
    size_t current = 0, edge = 0;
  };
  enum class Progress { Goes, Ends, Meets };

  Node find(Node node);
  Progress step(Side &side, uint64_t bound);
  Progress reach(Side &side, Node to, uint64_t bound);
  void unlink(Node node);
  void insertAfter(Node place, Node node);
  void makeRoom(Node place);
  void takePlace(Node node, Node of);

  std::vector<Entry> entries_; ///< the first one stands before all nodes
  Node last_ = 0;
  uint64_t searches_ = 0, steps_ = 0;
};

} // namespace bp

#endif // BACKPLANE_FUSION_GROUPORDER_H
