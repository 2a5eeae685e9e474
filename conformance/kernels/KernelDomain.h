// SPDX-License-Identifier: Apache-2.0
//
// KernelDomain.h: which sizes a registered kernel is judged at: those that its
// conditions allow, at their edges first.
#ifndef BACKPLANE_CONFORMANCE_KERNELS_KERNELDOMAIN_H
#define BACKPLANE_CONFORMANCE_KERNELS_KERNELDOMAIN_H

#include "conformance/cases/Sizes.h"
#include "sdk/kernels/RegisteredKernel.h"

#include <set>

namespace backplane::conformance {

/// The symbols that have to be numbers in a graph for the kernel to be used, or
/// to be compiled for: those of conditions that ranges do not prove, the one
/// whose value ops compute with, and sizes of weights.
std::set<std::string> fixedSymbols(const KernelText &text,
                                   const KernelGraph &graph,
                                   const std::set<uint32_t> &weights);

/// Whether a kernel of this text may be called with these sizes for this graph.
bool isAllowed(const KernelText &text, const Graph &graph,
               const SymbolValues &sizes);

/// What a choice of the text is judged at.
struct DomainOptions {
  Limits edges; ///< of a case at the edge of one symbol
  Limits joint; ///< of one in which all sizes may be large
  Limits large; ///< of one with one or two sizes as large as these allow
  size_t maxSizes = 200; ///< edges and joint tuples
  size_t maxFixed = 24;  ///< different values of all fixed symbols, of those
  uint64_t seed = 0;
};

/// Sizes within the conditions and the limits, each once. Of every symbol: the
/// least and the greatest value and their neighbours, 0 to 3, primes, powers of
/// two and their neighbours, while others are small; random tuples; tuples that
/// differ in one symbol; and a few in which one symbol, or two that the text
/// declares in a row, are as large as the limits allow, where kernels divide
/// their work. The first ones are those of which a kernel is most often wrong.
/// Empty: the search has found none.
std::vector<SymbolValues> drawDomain(const KernelText &text, const Graph &graph,
                                     const std::set<std::string> &fixed,
                                     const DomainOptions &options);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_KERNELS_KERNELDOMAIN_H
