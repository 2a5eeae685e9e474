// SPDX-License-Identifier: Apache-2.0
//
// The order is a linked list with ascending labels (Dietz and Sleator, "Two
// algorithms for maintaining order in a list"); the search is the one of
// incremental topological ordering from both sides (Bender, Fineman, Gilbert
// and Tarjan, "A new approach to incremental cycle detection").
#include "sdk/fusion/GroupOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace bp;

static constexpr uint64_t stride = uint64_t(1) << 24;
static constexpr GroupOrder::Node none =
    std::numeric_limits<GroupOrder::Node>::max();

GroupOrder::GroupOrder() {
  entries_.push_back({.joined = 0, .previous = none, .next = none});
}

GroupOrder::Node GroupOrder::find(Node node) {
  while (entries_[node].joined != node) {
    Entry &entry = entries_[node];
    entry.joined = entries_[entry.joined].joined;
    node = entry.joined;
  }
  return node;
}

GroupOrder::Node GroupOrder::add(llvm::ArrayRef<Node> sources) {
  Node node = Node(entries_.size());
  entries_.push_back({.joined = node,
                      .previous = last_,
                      .next = none,
                      .label = entries_[last_].label + stride});
  entries_[last_].next = node;
  last_ = node;
  for (Node source : sources) {
    entries_[node].sources.push_back(find(source));
    entries_[find(source)].targets.push_back(node);
    ++steps_;
  }
  return node;
}

/// Follows one edge. `bound` is the label of the place where the side ends.
GroupOrder::Progress GroupOrder::reach(Side &side, Node to, uint64_t bound) {
  if (to == side.end)
    return side.current == 0 ? Progress::Goes : Progress::Meets;
  Entry &entry = entries_[to];
  if (side.backward ? entry.label < bound : entry.label > bound)
    return Progress::Goes;
  if (entry.seen == side.otherMark)
    return Progress::Meets;
  if (entry.seen != side.mark) {
    entry.seen = side.mark;
    side.found.push_back(to);
  }
  return Progress::Goes;
}

GroupOrder::Progress GroupOrder::step(Side &side, uint64_t bound) {
  ++steps_;
  if (side.current == side.found.size())
    return Progress::Ends;
  Node from = side.found[side.current];
  auto &edges = side.backward ? entries_[from].sources : entries_[from].targets;
  if (side.edge == edges.size()) {
    ++side.current;
    side.edge = 0;
    return Progress::Goes;
  }
  Node to = find(edges[side.edge]);
  if (to == from) { // both ends were joined
    edges[side.edge] = edges.back();
    edges.pop_back();
    return Progress::Goes;
  }
  ++side.edge;
  return reach(side, to, bound);
}

std::optional<GroupOrder::Join> GroupOrder::tryJoin(Node a, Node b) {
  a = find(a);
  b = find(b);
  if (entries_[a].label > entries_[b].label)
    std::swap(a, b);
  uint64_t mark = 2 * ++searches_;
  Side sides[] = {{a, true, mark, mark + 1, {b}},
                  {b, false, mark + 1, mark, {a}}};
  uint64_t bounds[] = {entries_[a].label, entries_[b].label};
  for (unsigned i = 0; i < maxSteps; ++i) {
    Side &side = sides[i % 2];
    Progress progress = step(side, bounds[i % 2]);
    if (progress == Progress::Meets)
      return std::nullopt;
    if (progress == Progress::Goes)
      continue;
    side.found.erase(side.found.begin());
    llvm::sort(side.found, [&](Node x, Node y) {
      return entries_[x].label < entries_[y].label;
    });
    return Join{a, b, std::move(side.found), side.backward};
  }
  return std::nullopt;
}

void GroupOrder::unlink(Node node) {
  Entry &entry = entries_[node];
  entries_[entry.previous].next = entry.next;
  if (entry.next == none)
    last_ = entry.previous;
  else
    entries_[entry.next].previous = entry.previous;
}

/// Spreads the labels behind a place that has none left: as many as are needed
/// for their distances to be wide again.
void GroupOrder::makeRoom(Node place) {
  uint64_t start = entries_[place].label, count = 1;
  Node end = entries_[place].next;
  while (end != none && entries_[end].label - start <= count * count) {
    end = entries_[end].next;
    ++count;
  }
  uint64_t distance =
      end == none ? stride : (entries_[end].label - start) / count;
  Node node = entries_[place].next;
  for (uint64_t i = 1; i < count; ++i, node = entries_[node].next)
    entries_[node].label = start + i * distance;
  steps_ += count;
}

void GroupOrder::insertAfter(Node place, Node node) {
  ++steps_;
  Node next = entries_[place].next;
  if (next != none && entries_[next].label - entries_[place].label < 2)
    makeRoom(place);
  uint64_t label = entries_[place].label;
  entries_[node].label = next == none
                             ? label + stride
                             : label + (entries_[next].label - label) / 2;
  entries_[node].previous = place;
  entries_[node].next = next;
  entries_[place].next = node;
  if (next == none)
    last_ = node;
  else
    entries_[next].previous = node;
}

void GroupOrder::takePlace(Node node, Node of) {
  Node previous = entries_[of].previous;
  unlink(of);
  insertAfter(previous, node);
}

void GroupOrder::join(Join found) {
  Node kept = found.before ? found.first : found.second;
  Node place = found.before ? entries_[found.first].previous : found.second;
  for (Node node : found.moved) {
    unlink(node);
    insertAfter(place, node);
    place = node;
  }
  Node gone = found.before ? found.second : found.first;
  unlink(gone);
  auto degree = [&](Node node) {
    return entries_[node].sources.size() + entries_[node].targets.size();
  };
  // The fewer edges are copied.
  if (degree(gone) > degree(kept)) {
    takePlace(gone, kept);
    std::swap(gone, kept);
  }
  llvm::append_range(entries_[kept].sources, entries_[gone].sources);
  llvm::append_range(entries_[kept].targets, entries_[gone].targets);
  steps_ += degree(gone);
  entries_[gone].sources.clear();
  entries_[gone].targets.clear();
  entries_[gone].joined = kept;
}
