// SPDX-License-Identifier: Apache-2.0
//
// KernelSymbols.h: a kernel knows symbols by position, so that dispatches that
// differ in names only share it. Free of MLIR.
#ifndef BACKPLANE_COMPILER_KERNELSYMBOLS_H
#define BACKPLANE_COMPILER_KERNELSYMBOLS_H

#include "sdk/package/KernelPack.h"

namespace backplane {

/// Symbols by other dims.
using Substitution = std::map<std::string, Dim, std::less<>>;

/// From the names of a dispatch's symbols, in its order, to those of kernels.
Substitution toKernelSymbols(const std::vector<std::string> &names);
/// The other way.
Substitution fromKernelSymbols(const std::vector<std::string> &names);

/// The graph of a dispatch with other symbols. Fails where a dim gets too long.
Status substituteSymbols(Graph &graph, const Substitution &values);
/// An expression with other symbols; empty stays empty.
Result<std::string> substituteSymbols(const std::string &text,
                                      const Substitution &values);

/// Reads expressions with other symbols; the first failure is kept.
class DimReader {
public:
  explicit DimReader(Substitution values) : values_(std::move(values)) {}
  const Status &status() const { return status_; }
  Dim dim(const std::string &text);
  /// None of an empty text.
  std::optional<Dim> maybe(const std::string &text) {
    return text.empty() ? std::nullopt : std::optional(dim(text));
  }

private:
  Substitution values_;
  Status status_;
};

} // namespace backplane

#endif // BACKPLANE_COMPILER_KERNELSYMBOLS_H
