// SPDX-License-Identifier: Apache-2.0
//
// ValueData.h: data sets with the values that models have (Data.h describes
// them), and the cases that run them.
//
// Where a data set has a magnitude of its own, that is drawn from the seed of
// the case, so that a run with another seed has others.
#ifndef BACKPLANE_CONFORMANCE_CASES_VALUEDATA_H
#define BACKPLANE_CONFORMANCE_CASES_VALUEDATA_H

#include "DataSets.h"

namespace backplane::conformance {

/// The data set of this name; null when it is none of these.
DataSet findValueData(std::string_view name);

/// Adds cases with these data to a unit, at sizes that one of its cases has:
/// one of all kinds where each element is computed alone, one of each kind
/// elsewhere. None for units that are probes or checks, that have stored data
/// or variables, or whose number of steps depends on values.
void addValueCases(const Selection &selection, Unit &unit);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_VALUEDATA_H
