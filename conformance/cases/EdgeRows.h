// SPDX-License-Identifier: Apache-2.0
//
// EdgeRows.h: the rows of Edges.cpp that other files have.
#ifndef BACKPLANE_CONFORMANCE_CASES_EDGEROWS_H
#define BACKPLANE_CONFORMANCE_CASES_EDGEROWS_H

#include "Rows.h"

namespace backplane::conformance {

/// Ops that make elements: constants, variables, random bits, reads.
std::vector<EdgeRow> makingRows();
/// Ops that move them.
std::vector<EdgeRow> movingRows();
/// Reductions, and what else runs along lines.
std::vector<EdgeRow> reducingRows();
/// Products, convolutions and pooling.
std::vector<EdgeRow> contractingRows();

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_EDGEROWS_H
