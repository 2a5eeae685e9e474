// SPDX-License-Identifier: Apache-2.0
//
// Npz.h: arrays of NumPy .npz files as numpy.savez writes them: a zip archive
// of .npy files that are not compressed.
#ifndef BACKPLANE_CONFORMANCE_MODELS_NPZ_H
#define BACKPLANE_CONFORMANCE_MODELS_NPZ_H

#include "conformance/oracle/Tensor.h"

#include <map>

namespace backplane::conformance {

/// All arrays by name, without ".npy". Takes any bytes; fails on compressed
/// members and on damage.
Result<std::map<std::string, Tensor>> readNpz(const std::string &path);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_MODELS_NPZ_H
