// SPDX-License-Identifier: Apache-2.0
//
// RealModels.h: the known models (Known.h) whose files a run is given, as units
// of layer 5. Which cases there are follows from the names of the files alone,
// so that a verifier plans them without having the files.
#ifndef BACKPLANE_CONFORMANCE_MODELS_REALMODELS_H
#define BACKPLANE_CONFORMANCE_MODELS_REALMODELS_H

#include "Known.h"

namespace backplane::conformance {

/// The op of their units.
inline constexpr std::string_view realModelOp = "real-models";

/// Names of known files with their SHA-256, sorted: what a run says of the
/// models that took part.
using ModelFiles = std::vector<std::pair<std::string, std::string>>;

/// Known files below a folder, each at its name or where its package has it;
/// absent ones are left out. Fails on a file with other contents, and when
/// there is none at all.
struct FoundModels {
  ModelFiles files;
  std::map<std::string, std::string, std::less<>> paths; ///< by name
};
Result<FoundModels> findModels(const std::string &folder);

/// The units of the cases all of whose files are there, without graphs. Fails
/// on a file that is not known or has another SHA-256.
Result<std::vector<Unit>> plannedModels(const ModelFiles &files);

using Importer = std::function<Result<Model>(const std::string &path)>;

/// Gives a planned unit its graph, weights, inputs and stored answers. Fails
/// when a file cannot be read or does not fit the others.
Status loadModel(const FoundModels &found, const Importer &importer,
                 Unit &unit);

/// What another system stored, each element with a limit: `bound` times the
/// largest magnitude of the tensor. Integers must be equal.
Expected expectedWithin(const Tensor &stored, double bound);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_MODELS_REALMODELS_H
