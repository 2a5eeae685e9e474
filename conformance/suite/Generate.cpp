// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/CaseBuilder.h"
#include "conformance/cases/Circumstances.h"
#include "conformance/cases/ValueData.h"

#include "conformance/graphs/Graphs.h"

namespace backplane::conformance {

void generateUnits(const Selection &selection,
                   const std::function<void(Unit)> &put) {
  CircumstanceSample sample(selection);
  auto withValues = [&](Unit unit) {
    addValueCases(selection, unit);
    sample.look(unit);
    put(std::move(unit));
  };
  for (auto *family :
       {makeElementwise, makeSums,           makeConvolutions, makePooling,
        makeProducts,    makeNormalisations, makeAttentions,   makeActivations,
        makeMovement,    makeBlocks,         makeConstants,    makeRandomBits,
        makeShapes,      makeBoxes,          makeIndexed,      makeOrdered,
        makeRanks,       makeControl,        makeFusions,      makeLayouts,
        makeSharing,     makeFolding,        makeProbes,       makeModels,
        makeCorners,     makeEdges,          makeFuzz,         makePrecision,
        makeReach})
    family({selection, withValues});
  // The sample is drawn from the others, so that its ids stay.
  makeWeights({selection, [&](Unit unit) {
                 addValueCases(selection, unit);
                 put(std::move(unit));
               }});
  makeModelSizes({selection, put});
  sample.give(put);
}

} // namespace backplane::conformance
