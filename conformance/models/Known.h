// SPDX-License-Identifier: Apache-2.0
//
// Known.h: the real models that layer 5 can run. Their files are not part of
// the suite: a run is given a folder of them, and takes only files with the
// SHA-256 that is here, so that a case means the same everywhere.
#ifndef BACKPLANE_CONFORMANCE_MODELS_KNOWN_H
#define BACKPLANE_CONFORMANCE_MODELS_KNOWN_H

#include "conformance/cases/Case.h"

namespace backplane::conformance {

struct KnownFile {
  std::string_view name;     ///< below the folder: "magika/model.onnx"
  std::string_view packaged; ///< where its package has it; may be empty
  std::string_view sha256;
};

/// Elements [from, to) of an axis.
struct IndexRange {
  int64_t from, to;
};

/// An element of a stored answer: the value with its limit and deviation.
struct KeptElement {
  double value, error, sigma;
};

struct KnownCase {
  std::string_view dataSet; ///< the last part of its id
  Depth depth;              ///< the least depth that has it
  /// .npz file of inputs; empty: "uniform" data, with `rule` for each input.
  std::string_view inputs;
  /// The part of every input that is taken, axis by axis; empty: all of it.
  std::vector<IndexRange> part;
  /// Where the answers come from, when not from the oracle: the outputs that
  /// another system stored (.npz), or numbers kept of an earlier run of the
  /// oracle, for the one output of a model.
  std::string_view outputs;
  std::span<const KeptElement> kept;
  /// Limit of every element of stored outputs, as a share of the largest
  /// magnitude of its output.
  double bound = 0;
  InputRule rule;
};

struct KnownModel {
  std::string_view name;             ///< of the unit: "magika"
  std::string_view model;            ///< the name of its file
  std::vector<DType> dtypes, stored; ///< as in Unit
  std::vector<KnownCase> cases;
};

/// All files, by name.
std::span<const KnownFile> knownFiles();
const std::vector<KnownModel> &knownModels();

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_MODELS_KNOWN_H
