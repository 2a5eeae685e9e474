// SPDX-License-Identifier: Apache-2.0
//
// PlaceSlots.h: where the slots of a program lie in one call.
#ifndef BACKPLANE_RUNTIME_PLACESLOTS_H
#define BACKPLANE_RUNTIME_PLACESLOTS_H

#include "Resolve.h"

namespace backplane::rt {

/// The value of an expression; fails unless it is from 0 to `max`.
Result<uint64_t> evaluateWithin(const Evaluator &evaluate, const Dim &dim,
                                uint64_t max);

/// Fills in the places of all slots and the bytes of the arenas. Transients lie
/// where the artifact has planned them for these devices, else they are planned
/// here.
Status placeSlots(const Program &program, const Evaluator &evaluate,
                  const ResolveContext &context, Resolved &resolved);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_PLACESLOTS_H
