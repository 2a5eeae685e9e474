// SPDX-License-Identifier: Apache-2.0
//
// PatternData.h: data sets whose elements form a pattern (Data.h describes
// them), and the cases that run them.
#ifndef BACKPLANE_CONFORMANCE_CASES_PATTERNDATA_H
#define BACKPLANE_CONFORMANCE_CASES_PATTERNDATA_H

#include "DataSets.h"

namespace backplane::conformance {

/// The data set of this name; null when it is none of these.
DataSet findPatternData(std::string_view name);

/// Adds cases with these data to a unit of values at these sizes: with each
/// pattern where sums of f32 run over elements, with drawn ones elsewhere.
/// Matrices that are to be symmetric are square where the unit can be.
void addPatternCases(const Selection &selection, Unit &unit,
                     const SymbolValues &symbols, bool isComputedAlone);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_PATTERNDATA_H
