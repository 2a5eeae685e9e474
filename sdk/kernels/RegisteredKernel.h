// SPDX-License-Identifier: Apache-2.0
//
// RegisteredKernel.h: a kernel that a plug-in registered by the graph that it
// equals. Free of LLVM. docs/reference/kernels.md has the text form.
#ifndef BACKPLANE_KERNELS_REGISTEREDKERNEL_H
#define BACKPLANE_KERNELS_REGISTEREDKERNEL_H

#include "sdk/graph/Graph.h"
#include "sdk/package/KernelPack.h"

namespace backplane {

/// In the cost of a kernel: the estimated ns of generated code.
inline constexpr std::string_view generatedSymbol = "generated";

/// A condition on the symbols of a kernel: `holds` is not 0.
struct KernelPredicate {
  Dim holds;
  std::string text; ///< "d mod 16 == 0", for messages
};

/// A graph that a kernel equals: its text with one choice of dtypes and of
/// optional parts. Its symbols are those of the text.
struct KernelGraph {
  Graph graph;
  std::string choice; ///< "T = f16, without bias"; empty: there is one only
  std::vector<DType> dtypes; ///< of each of the text's variables for one
  /// Which value each of the text's variables of values has, from 0.
  std::vector<int64_t> choices;
  /// For each binding of the text, inputs before outputs, the number of the
  /// input or output of `graph`; -1: absent in this choice.
  std::vector<int32_t> bindings;
};

/// What the text of a kernel says.
struct KernelText {
  std::string name; ///< "attention"
  uint32_t version = 1;
  std::vector<Symbol> symbols;        ///< in the order of a call's sizes
  std::vector<std::string> bindings;  ///< names: inputs, then outputs
  uint32_t inputCount = 0;            ///< of them
  std::vector<bool> isOptional;       ///< whether each input is
  std::vector<std::string> dtypes;    ///< names of variables of dtypes
  std::vector<std::string> variables; ///< names of those of values
  std::vector<KernelPredicate> where; ///< all of them hold
  std::vector<KernelGraph> graphs;    ///< at least one, at most 64
};

/// Reads the text form. A failure names line and column, what was found and
/// what was expected.
Result<KernelText> parseKernelText(std::string_view text);

/// "has_bias": in expressions of a kernel 1 where the input is present, else 0.
std::string presenceSymbol(const std::string &input);

/// What expressions of a kernel may use: the symbols and variables of its text
/// and has_NAME of each input.
std::set<std::string> symbolNames(const KernelText &text);

/// Whether an expression of a kernel can be read and uses no name but these;
/// an empty one does.
Status checkExpression(const std::string &expression,
                       const std::set<std::string> &names);

/// The same of a cost, which may use `generated`; no symbol of the text may
/// have that name.
Status checkCost(const KernelText &text, const std::string &cost);

/// A kernel with its body: code of the target's format, a function that the
/// plug-in resolves where it runs, or IR.
struct RegisteredKernel {
  std::string plugin; ///< that registered it
  std::string target; ///< glob over target names
  KernelText text;
  /// Estimated ns over the text's symbols and variables, has_NAME and
  /// `generated`; empty: it is preferred to generated code.
  std::string cost;
  /// Launches over the bindings and symbols of the text; none: `ir`.
  std::optional<Kernel> code;
  std::string ir; ///< MLIR as `lower` leaves it, as bp_kernel_t has it

  /// "onednn.matmul"
  std::string fullName() const { return plugin + "." + text.name; }
};

} // namespace backplane

#endif // BACKPLANE_KERNELS_REGISTEREDKERNEL_H
