// SPDX-License-Identifier: Apache-2.0
//
// Load.h: the folder of a node test as a unit with its tensors.
#ifndef BACKPLANE_CONFORMANCE_ONNXNODES_LOAD_H
#define BACKPLANE_CONFORMANCE_ONNXNODES_LOAD_H

#include "NodeTest.h"

namespace backplane::conformance {

struct LoadedTest {
  Unit unit;
  std::vector<Tensor> inputs, stored;
};

/// The unit without tensors. Fails with the importer's reason.
Result<Unit> importTest(const NodeTest &test);
/// Reads inputs and stored outputs by the dtypes of the unit's graph. Fails on
/// missing files and wrong dtypes.
Result<LoadedTest> loadTensors(const NodeTest &test, Unit unit);

/// A limit from a stored output, for where the oracle has no answer: 2^-14 of
/// the element's magnitude or 16 units in its last place, whatever is more, and
/// 2^-19; integers and bools are exact.
Expected expectedFrom(const Tensor &stored);
/// A limit of `units` in the last place of each element, and of 2^-16 of the
/// largest magnitude, which is what f32 inside leaves of a difference.
Expected expectedWithin(const Tensor &stored, double units);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ONNXNODES_LOAD_H
