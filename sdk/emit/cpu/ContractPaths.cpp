// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractPaths.h"

#include "sdk/emit/common/CodePaths.h"

using namespace mlir;

namespace backplane {

static const CodePath &pathOf(const ContractPlan &plan, const Contraction &c,
                              bool hasImage) {
  if (plan.dots)
    return path::fewColumns;
  if (plan.gemv)
    return path::fewRows;
  if (plan.transposed)
    return path::fewPixels;
  if (hasImage)
    return path::image;
  if (c.blockOfB)
    return path::columnBlocks;
  return plan.packB ? path::panels : path::storedB;
}

void tellPaths(const ContractProblem &problem) {
  Location loc = problem.c.op->getLoc();
  const ContractPlan &plan = problem.plan;
  tellPath(loc, pathOf(plan, problem.c, problem.image.has_value()));
  if (problem.c.blockOfA)
    tellPath(loc, path::rowBlocks);
  if (plan.packsInTile)
    tellPath(loc, path::packingTile);
  if (plan.fetchesRows)
    tellPath(loc, path::fetchedRows);
  const VnniPlan &vnni = problem.vnni;
  if (vnni.narrow && (!plan.gemv || multipliesPairs(vnni)))
    tellPath(loc, vnni.block > 1      ? path::squares
                  : vnni.tiles        ? path::tiles
                  : vnni.perLane == 4 ? path::bytes
                                      : path::pairs);
}

} // namespace backplane
