// SPDX-License-Identifier: Apache-2.0
//
// NodeTest.h: one data set of an ONNX node test, on a device or as it is
// stored.
//
// A device is held to the oracle, by the rules of all graphs of the suite
// (docs/explanation/conformance.md). The outputs that the collection stores
// were computed by NumPy in the dtype itself; they are held to the oracle too,
// with twice its error and one unit in the last place.
#ifndef BACKPLANE_CONFORMANCE_ONNXNODES_NODETEST_H
#define BACKPLANE_CONFORMANCE_ONNXNODES_NODETEST_H

#include "conformance/runner/Job.h"

namespace backplane::conformance {

struct NodeTest {
  /// Has model.onnx, inN.npy and outN.npy; bf16 and f8 as unsigned bits, 4-bit
  /// integers in a byte each.
  std::string folder;
  std::string id; ///< "onnx/Softmax/test_softmax_axis_1"
  std::string op; ///< "Softmax"
};

/// Data sets of records: what the outputs were compared with.
inline constexpr const char *byOracle = "oracle";
/// The stored outputs, as the oracle has no answer; `reason` says why.
inline constexpr const char *byStored = "stored";

/// The stored outputs against the oracle. Models that are not imported are
/// NotSupported, with the reason.
Record checkStored(const NodeTest &test);

/// Runs node tests on one device. Not thread-safe.
class NodeRunner {
public:
  /// The judgement of `options` is not looked at. With `storedUnits` the
  /// stored outputs are right, within so many units in the last place; the
  /// oracle, which judges a model as it was imported, is not asked.
  explicit NodeRunner(JobOptions options, double storedUnits = 0);
  ~NodeRunner();

  /// The device's outputs against the oracle, or against the stored ones when
  /// the oracle has no answer. Models that are not imported are NotSupported,
  /// with the reason. Fails when no worker can be started.
  Result<Record> run(const NodeTest &test);

private:
  struct Loaded;
  JobOptions judged(JobOptions options);

  double storedUnits_;
  std::unique_ptr<Loaded> loaded_; ///< of the test that runs
  std::string noAnswer_;           ///< why the oracle has none
  Job job_;
};

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ONNXNODES_NODETEST_H
