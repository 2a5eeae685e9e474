// SPDX-License-Identifier: Apache-2.0
//
// RegisteredKernels.h: kernels that plug-ins registered by the graph that they
// equal: which may run on a target, and what one is for a dispatch.
#ifndef BACKPLANE_COMPILER_REGISTEREDKERNELS_H
#define BACKPLANE_COMPILER_REGISTEREDKERNELS_H

#include "sdk/compiler/KernelSymbols.h"
#include "sdk/compiler/Target.h"
#include "sdk/kernels/Match.h"

namespace backplane {

/// Gives a target the kernels of all sets that name it; its remarks tell of
/// those that are damaged.
void addRegisteredKernels(const CompileServices &services, Target &target);

/// Leaves targets the kernels that a request asks for, as bp_compile_options_t
/// says. A failure names those that the first target has.
Status chooseKernels(const std::string &asked, std::vector<Target> &targets);

/// The launches of a registered kernel over the bindings of a dispatch and the
/// symbols that `symbols` replaces its own by.
Result<Kernel> kernelFor(const bp::KernelMatch &match,
                         const Substitution &symbols);

} // namespace backplane

#endif // BACKPLANE_COMPILER_REGISTEREDKERNELS_H
