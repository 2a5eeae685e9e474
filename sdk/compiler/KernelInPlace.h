// SPDX-License-Identifier: Apache-2.0
//
// KernelInPlace.h: which inputs a generated kernel may share with its result,
// as far as its loops decide it. sdk/schedule/InPlace.h has the graph's half.
#ifndef BACKPLANE_COMPILER_KERNELINPLACE_H
#define BACKPLANE_COMPILER_KERNELINPLACE_H

#include "sdk/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace backplane {

/// Numbers of the inputs that a dispatch after bp-lower-to-linalg reads at the
/// element that it is about to write, once, and nowhere else. That holds when
/// all of its work is one elementwise op on the destination: the passes that
/// follow tile and vectorise such an op, but never visit an element twice. None
/// for every other dispatch, where a pass may keep intermediates in the
/// destination.
std::vector<uint32_t> inPlaceInputs(mlir::func::FuncOp lowered);

/// Keeps the inputs that the graph, too, lets the result replace.
void keepReplaceable(std::vector<uint32_t> &inputs, const Graph &graph);

} // namespace backplane

#endif // BACKPLANE_COMPILER_KERNELINPLACE_H
