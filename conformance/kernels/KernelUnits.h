// SPDX-License-Identifier: Apache-2.0
//
// KernelUnits.h: layer 8: every registered kernel against the graph of its own
// text, for each choice of dtypes and optional inputs.
#ifndef BACKPLANE_CONFORMANCE_KERNELS_KERNELUNITS_H
#define BACKPLANE_CONFORMANCE_KERNELS_KERNELUNITS_H

#include "conformance/cases/Case.h"
#include "conformance/report/Facts.h"

namespace backplane::conformance {

/// The units of a kernel: "L8/SET.KERNEL/DTYPE/CHOICE", behind that the sizes
/// that are numbers in their graphs. A function of the kernel's text and the
/// selection. Fails when the text cannot be read, or when no sizes are found
/// that meet its conditions.
Result<std::vector<Unit>> kernelUnits(const JudgedKernel &kernel,
                                      const Selection &selection);

/// The units of several kernels. A failure names the set.
Result<std::vector<Unit>> kernelUnits(const std::vector<JudgedKernel> &kernels,
                                      const Selection &selection);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_KERNELS_KERNELUNITS_H
