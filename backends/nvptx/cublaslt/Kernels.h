// SPDX-License-Identifier: Apache-2.0
//
// Kernels.h: the texts of the kernels.
#ifndef BACKPLANE_CUBLASLT_KERNELS_H
#define BACKPLANE_CUBLASLT_KERNELS_H

#include "backplane/cpp/Compiler.h"

namespace backplane::cublaslt {

/// The entry of all kernels.
inline constexpr const char *productEntry = "product";

/// Gives each kernel to the compiler, with all sizes that it can compute.
Status describe(plugin::KernelSink sink);

} // namespace backplane::cublaslt

#endif // BACKPLANE_CUBLASLT_KERNELS_H
