// SPDX-License-Identifier: Apache-2.0
//
// OnnxTranspose.cpp: ops that change the order of axes.
#include "OnnxHandlers.h"

#include <algorithm>
#include <numeric>

namespace backplane::frontend {

void onnxTranspose(Node &node) {
  const Dims own = node.inputType(0).dims;
  std::vector<int64_t> permutation = node.i64s("perm");
  if (!node.hasAttribute("perm")) {
    permutation.resize(own.size());
    std::iota(permutation.rbegin(), permutation.rend(), 0);
  }
  std::vector<int64_t> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool right = sorted.size() == own.size();
  for (size_t i = 0; right && i < sorted.size(); ++i)
    right = sorted[i] == static_cast<int64_t>(i);
  if (!right)
    node.reject("attribute 'perm' is not a permutation of the axes of " +
                node.inputType(0).str());
  if (!node.ok())
    return;
  const Known *known = node.known(0);
  if (!known)
    return node.out(0, node.transpose(node.value(0), permutation));
  std::vector<int64_t> dims;
  for (int64_t axis : permutation)
    dims.push_back(known->dims[axis]);
  std::vector<size_t> positions;
  Odometer at(dims);
  std::vector<int64_t> source(dims.size());
  for (size_t i = 0; i < known->elements.size(); ++i, at.step()) {
    for (size_t axis = 0; axis < dims.size(); ++axis)
      source[permutation[axis]] = at.index()[axis];
    positions.push_back(positionOf(known->dims, source));
  }
  node.out(0, *pick(*known, dims, positions));
}

// ---- DepthToSpace, SpaceToDepth ----

namespace {

/// The block size, for an input of rank 4.
int64_t blockOf(Node &node) {
  int64_t block = node.i64("blocksize", 0);
  if (block < 1 || block > (1 << 20))
    node.reject("attribute 'blocksize' is " + std::to_string(block));
  if (node.ok() && node.inputType(0).rank() != 4)
    node.reject("the input " + node.inputType(0).str() + " needs rank 4");
  return block;
}

/// Whether the block's axes come before the channels.
bool blockFirst(Node &node) {
  std::string mode = node.string("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    node.reject("attribute 'mode' is '" + mode + "'");
  return mode == "DCR";
}

/// dim / by, which must divide it.
Dim part(Node &node, const Dim &dim, int64_t by) {
  Dim result = floorDiv(dim, Dim(by));
  node.require(result * Dim(by), dim, "the block size must divide the size");
  return result;
}

} // namespace

void onnxDepthToSpace(Node &node) {
  int64_t block = blockOf(node);
  bool first = blockFirst(node);
  if (!node.ok())
    return;
  const Dims d = node.inputType(0).dims;
  Dim b(block), depth = part(node, d[1], block * block);
  Dims split = first ? Dims{d[0], b, b, depth, d[2], d[3]}
                     : Dims{d[0], depth, b, b, d[2], d[3]};
  std::vector<int64_t> order = first ? std::vector<int64_t>{0, 3, 4, 1, 5, 2}
                                     : std::vector<int64_t>{0, 1, 4, 2, 5, 3};
  ValueId parts = node.reshape(node.value(0), split);
  node.out(0, node.reshape(node.transpose(parts, order),
                           {d[0], depth, d[2] * b, d[3] * b}));
}

void onnxSpaceToDepth(Node &node) {
  int64_t block = blockOf(node);
  std::vector<int64_t> order = blockFirst(node)
                                   ? std::vector<int64_t>{0, 3, 5, 1, 2, 4}
                                   : std::vector<int64_t>{0, 1, 3, 5, 2, 4};
  if (!node.ok())
    return;
  const Dims d = node.inputType(0).dims;
  Dim b(block), h = part(node, d[2], block), w = part(node, d[3], block);
  ValueId parts = node.reshape(node.value(0), {d[0], d[1], h, b, w, b});
  node.out(0, node.reshape(node.transpose(parts, order),
                           {d[0], d[1] * b * b, h, w}));
}

} // namespace backplane::frontend
