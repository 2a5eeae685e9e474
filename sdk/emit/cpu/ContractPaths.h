// SPDX-License-Identifier: Apache-2.0
//
// ContractPaths.h: the code paths that a planned contraction takes. Private to
// this folder.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTPATHS_H
#define BACKPLANE_EMIT_CPU_CONTRACTPATHS_H

#include "sdk/emit/cpu/ContractScope.h"

namespace backplane {

/// Tells them (CodePaths.h) at the location of the contraction.
void tellPaths(const ContractProblem &problem);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTPATHS_H
