// SPDX-License-Identifier: Apache-2.0
#include "sdk/partition/Partition.h"

#include <algorithm>
#include <map>
#include <set>

namespace backplane {
namespace {

using Nodes = std::vector<PartitionNode>;
using Island = std::vector<uint32_t>;

class Assigner {
public:
  Assigner(const Nodes &nodes, const std::vector<std::string> &devices)
      : nodes_(nodes), devices_(devices), users_(nodes.size()),
        result_(nodes.size()) {
    for (uint32_t i = 0; i < nodes.size(); ++i)
      for (const auto &edge : nodes[i].operands)
        users_[edge.producer].push_back({i, edge.bytes});
  }

  Result<std::vector<Assignment>> run() {
    for (uint32_t i = 0; i < nodes_.size(); ++i)
      if (Status s = takeFirst(i); !s.ok())
        return s;
    // Each round has less cost than the one before; the limit is for rounding.
    for (int round = 0; round < 8 && improve(); ++round)
      ;
    return std::move(result_);
  }

private:
  Status takeFirst(uint32_t node);
  bool improve();
  std::vector<Island> islands() const;
  bool movable(uint32_t node) const;
  bool tryMove(const Island &island);
  double transfers(const Island &island, uint32_t device) const;
  double transfersOf(uint32_t producer, const std::set<uint32_t> &island,
                     uint32_t device) const;
  double gain(const Island &island, uint32_t device, bool &known) const;
  uint32_t deviceOf(uint32_t node, const std::set<uint32_t> &island,
                    uint32_t device) const {
    return island.contains(node) ? device : result_[node].device;
  }

  const Nodes &nodes_;
  const std::vector<std::string> &devices_;
  std::vector<std::vector<PartitionNode::Edge>> users_;
  std::vector<Assignment> result_;
};

Status Assigner::takeFirst(uint32_t node) {
  std::string reasons;
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    const DeviceOffer &offer = nodes_[node].offers[device];
    if (offer.supported) {
      result_[node] = {device, reasons};
      return {};
    }
    reasons += (reasons.empty() ? "" : "; ") + devices_[device] + ": " +
               (offer.reason.empty() ? "not supported" : offer.reason);
  }
  return unimplemented(nodes_[node].name +
                       " runs on none of the devices: " + reasons);
}

/// Nodes without known costs stay unless they are light.
bool Assigner::movable(uint32_t node) const {
  const PartitionNode &info = nodes_[node];
  size_t able = 0, priced = 0;
  for (const DeviceOffer &offer : info.offers) {
    able += offer.supported;
    priced += offer.supported && offer.costNs > 0;
  }
  return able > 1 && (info.light || priced == able);
}

/// Connected movable nodes of one device, then each movable node alone.
std::vector<Island> Assigner::islands() const {
  std::vector<Island> result;
  std::vector<bool> seen(nodes_.size(), false);
  for (uint32_t start = 0; start < nodes_.size(); ++start) {
    if (seen[start] || !movable(start))
      continue;
    Island island, work = {start};
    seen[start] = true;
    while (!work.empty()) {
      uint32_t node = work.back();
      work.pop_back();
      island.push_back(node);
      for (const auto *edges : {&nodes_[node].operands, &users_[node]})
        for (const auto &edge : *edges)
          if (!seen[edge.producer] && movable(edge.producer) &&
              result_[edge.producer].device == result_[start].device) {
            seen[edge.producer] = true;
            work.push_back(edge.producer);
          }
    }
    std::sort(island.begin(), island.end());
    result.push_back(std::move(island));
  }
  for (uint32_t node = 0; node < nodes_.size(); ++node)
    if (movable(node))
      result.push_back({node});
  return result;
}

/// Cost of moving what a node gives to the other devices that need it, with the
/// island on a device. A value moves to a device once.
double Assigner::transfersOf(uint32_t producer,
                             const std::set<uint32_t> &island,
                             uint32_t device) const {
  std::map<uint32_t, double> to;
  uint32_t owner = deviceOf(producer, island, device);
  for (const auto &use : users_[producer])
    if (uint32_t user = deviceOf(use.producer, island, device); user != owner)
      to[user] = std::max(to[user], use.bytes);
  double cost = 0;
  for (auto [user, bytes] : to)
    cost += transferStartNs + transferNsPerByte * bytes;
  return cost;
}

double Assigner::transfers(const Island &island, uint32_t device) const {
  std::set<uint32_t> inside(island.begin(), island.end()), producers = inside;
  for (uint32_t node : island)
    for (const auto &edge : nodes_[node].operands)
      producers.insert(edge.producer);
  double cost = 0;
  for (uint32_t producer : producers)
    cost += transfersOf(producer, inside, device);
  return cost;
}

/// What computing costs more where the island is than on the device. `known`
/// tells whether the costs were claimed.
double Assigner::gain(const Island &island, uint32_t device,
                      bool &known) const {
  double gain = 0;
  for (uint32_t node : island) {
    const auto &offers = nodes_[node].offers;
    double here = offers[result_[node].device].costNs;
    double there = offers[device].costNs;
    known |= here > 0 && there > 0;
    if (here > 0 && there > 0)
      gain += here - there;
  }
  return gain;
}

/// Moves an island to the device where it is cheapest, if that is another one.
bool Assigner::tryMove(const Island &island) {
  uint32_t owner = result_[island.front()].device;
  double best = 1; // ns that a move must save
  uint32_t target = owner;
  double before = transfers(island, owner);
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    bool able = device != owner &&
                std::all_of(island.begin(), island.end(), [&](uint32_t node) {
                  return nodes_[node].offers[device].supported;
                });
    bool known = false;
    if (!able)
      continue;
    double saved =
        before - transfers(island, device) + gain(island, device, known);
    if (saved > best) {
      best = saved;
      target = device;
    }
  }
  if (target == owner)
    return false;
  bool claimed = false;
  (void)gain(island, target, claimed);
  std::string reason =
      devices_[target] + " saves " + std::to_string(int64_t(best)) + " ns of " +
      (claimed ? "work and transfers" : "transfers") + ", with " +
      std::to_string(island.size() - 1) + " ops beside it";
  for (uint32_t node : island)
    result_[node] = {target, target == 0 ? "" : reason};
  return true;
}

bool Assigner::improve() {
  bool any = false;
  for (const Island &island : islands()) {
    uint32_t owner = result_[island.front()].device;
    bool whole = std::all_of(island.begin(), island.end(), [&](uint32_t node) {
      return result_[node].device == owner;
    });
    any |= whole && tryMove(island);
  }
  return any;
}

} // namespace

Result<std::vector<Assignment>>
assignDevices(const std::vector<PartitionNode> &nodes,
              const std::vector<std::string> &devices) {
  return Assigner(nodes, devices).run();
}

} // namespace backplane
