// SPDX-License-Identifier: Apache-2.0
//
// KernelTemplate.h: registered kernels whose body is IR. It takes the place of
// what `lower` makes of the dispatch, and goes through the stages behind that
// like any other. docs/reference/kernels.md has the form of the function.
#ifndef BACKPLANE_COMPILER_KERNELTEMPLATE_H
#define BACKPLANE_COMPILER_KERNELTEMPLATE_H

#include "sdk/compiler/KernelSymbols.h"
#include "sdk/kernels/Match.h"

#include "mlir/IR/BuiltinOps.h"

namespace backplane {

/// A template as one dispatch calls it.
struct KernelTemplate {
  std::string ir;   ///< its dtypes and values have their aliases
  std::string name; ///< of its function
  uint32_t inputCount = 0;
  /// For each binding of the text, inputs before outputs, the argument of the
  /// dispatch and the sizes that the text gives it; -1: absent.
  std::vector<int32_t> arguments;
  std::vector<Dims> dims;
  /// What follows the tensors: sizes, values of variables and has_NAME, over
  /// the symbols of the dispatch.
  std::vector<Dim> scalars;
};

/// The template of a match; `symbols` leads from those of the dispatch to those
/// of its kernel.
KernelTemplate templateFor(const bp::KernelMatch &match,
                           const Substitution &symbols);

/// Whether the IR of a kernel can be read with each choice of its text, and its
/// function has the arguments of the text.
Status checkTemplate(const RegisteredKernel &kernel);

/// Puts the template into the one function of a module as `lower` leaves it. A
/// failure is a diagnostic.
mlir::LogicalResult applyTemplate(mlir::ModuleOp module,
                                  const KernelTemplate &call);

} // namespace backplane

#endif // BACKPLANE_COMPILER_KERNELTEMPLATE_H
