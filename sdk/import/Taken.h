// SPDX-License-Identifier: Apache-2.0
//
// Taken.h: the elements that data choose.
#ifndef BACKPLANE_IMPORT_TAKEN_H
#define BACKPLANE_IMPORT_TAKEN_H

#include "Node.h"

namespace backplane::frontend {

/// The numbers of the elements of a vector of `count` bools that hold, in
/// order. How many they are is read, as a symbol after the first output.
ValueId takenPositions(Node &node, ValueId mask, const Dim &count);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_TAKEN_H
