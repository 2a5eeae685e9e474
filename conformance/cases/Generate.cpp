// SPDX-License-Identifier: Apache-2.0
#include "Maker.h"

#include "conformance/graphs/Graphs.h"

namespace backplane::conformance {

void generateUnits(const Selection &selection,
                   const std::function<bool(Unit)> &put) {
  for (auto *family :
       {makeElementwise, makeSums,           makeConvolutions, makePooling,
        makeProducts,    makeNormalisations, makeAttentions,   makeActivations,
        makeMovement,    makeConstants,      makeShapes,       makeBoxes,
        makeIndexed,     makeOrdered,        makeRanks,        makeControl,
        makeFusions,     makeLayouts,        makeSharing,      makeFolding,
        makeProbes,      makeModels,         makeCorners,      makeEdges,
        makeFuzz,        makePrecision,      makeReach,        makeModelSizes})
    if (!family(selection, put))
      return;
}

} // namespace backplane::conformance
