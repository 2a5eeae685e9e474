// SPDX-License-Identifier: Apache-2.0
//
// Npy.h: tensors as NumPy .npy files (format versions 1 to 3, little-endian,
// row-major). bf16 and the f8 types, which NumPy lacks, are stored as the
// unsigned integers of their bits.
#ifndef BACKPLANE_SUPPORT_NPY_H
#define BACKPLANE_SUPPORT_NPY_H

#include "Tensor.h"

#include <istream>
#include <string>

namespace backplane {

/// Whether a file of this dtype holds numbers of another: the same, or the bits
/// of one that .npy has no name for.
bool holdsDType(bp_dtype_t stored, bp_dtype_t wanted);

Result<Tensor> readNpy(const std::string &path);
/// The same from a stream that can be sought in; messages call it `name`.
Result<Tensor> readNpy(std::istream &file, const std::string &name);
/// The file appears complete or not at all.
Status writeNpy(const std::string &path, const Tensor &tensor);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_NPY_H
