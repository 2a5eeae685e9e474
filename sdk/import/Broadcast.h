// SPDX-License-Identifier: Apache-2.0
//
// Broadcast.h: the size of two axes that broadcast, where neither is 1 and the
// two are not the same expression.
#ifndef BACKPLANE_IMPORT_BROADCAST_H
#define BACKPLANE_IMPORT_BROADCAST_H

#include "sdk/graph/Dim.h"

namespace backplane::frontend {

/// Whether the call decides which of two axes is repeated: some sizes make one
/// of them 1, and none from 2 on makes them equal. Sizes that could be either
/// are taken to be equal unless `apart`, which is for those that the model
/// itself tells apart.
bool meetsInCall(const Dim &a, const Dim &b, bool apart);
/// The size of the result then.
Dim sizeInCall(const Dim &a, const Dim &b);
/// Whether `own` is `size` or 1, as two dims that are equal when it is.
std::pair<Dim, Dim> fitsInCall(const Dim &own, const Dim &size);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_BROADCAST_H
