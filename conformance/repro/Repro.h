// SPDX-License-Identifier: Apache-2.0
//
// Repro.h: a graph with one set of inputs, parts of it, and how a device
// does on it.
#ifndef BACKPLANE_CONFORMANCE_REPRO_REPRO_H
#define BACKPLANE_CONFORMANCE_REPRO_REPRO_H

#include "conformance/runner/Job.h"

namespace backplane::conformance {

struct Repro {
  Graph graph;
  WeightPool weights;
  std::vector<Tensor> inputs; ///< in the order of the graph's inputs
};

/// The values of a graph, by number; empty where none is known.
using ValueTable = std::vector<std::optional<Tensor>>;

/// Whether an op makes its result from nothing but attributes.
bool isSource(const Op &op);

/// What the oracle computes for every value, rounded to its dtype.
Result<ValueTable> valuesByOracle(const Repro &repro);

/// The part of a repro that the outputs need, from the ops that `kept` has
/// (by index) and sources. Other operands become inputs with the tensors of
/// `values`. Fails when such a tensor is missing or a symbol that is left is
/// not the size of an axis of an input.
Result<Repro> carve(const Repro &from, const std::vector<bool> &kept,
                    const std::vector<ValueId> &outputs,
                    const ValueTable &values);

/// A dim for another one, which is that of an axis of an input, or is in an
/// attribute.
using ReplaceDim =
    std::function<Dim(const Dim &dim, std::optional<size_t> axis)>;

/// The graph with each dim replaced, its types inferred anew. Fails where an op
/// does not take the new dims.
Result<Graph> withDims(const Graph &graph, const ReplaceDim &replaced);

/// The symbols as the inputs bind them.
SymbolValues symbolsOf(const Repro &repro);

/// Weights as constants where they are small, else as inputs, so that a .bpg
/// file holds or takes all that the graph needs.
Result<Repro> withoutWeights(const Repro &repro);

/// What a device gave for a repro.
struct Examination {
  CaseStatus status = CaseStatus::Pass;
  std::string reason;
  std::vector<Tensor> outputs;
  std::vector<Expected> expected;
};

/// Runs repros on one device and judges them as units of graphs are.
class Examiner {
public:
  /// The judgement of `options` is not looked at. `takesKernels`: registered
  /// kernels may compute parts of a repro.
  explicit Examiner(JobOptions options, bool takesKernels = false);
  /// Fails when no worker can be started.
  Result<Examination> examine(const Repro &repro);
  /// Runs it and judges nothing: without `expected`, and what is not a failure
  /// to run is a pass.
  Result<Examination> observe(const Repro &repro);

private:
  bool judges_ = true, takesKernels_;
  const Repro *repro_ = nullptr;
  Examination seen_;
  Job job_;
};

/// Writes a tensor as .npy; 4-bit elements take a byte each, as NumPy has none.
Status saveTensor(const std::string &path, const Tensor &tensor);

/// Writes graph.bpg, inputN.npy, expectedN.npy, outputN.npy and README.md into
/// a folder, which is made. `device` is its URI, `title` the first line.
Status saveRepro(const std::string &folder, const Repro &repro,
                 const Examination &found, const std::string &device,
                 const std::string &title);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPRO_REPRO_H
