// SPDX-License-Identifier: Apache-2.0
//
// KernelParser.h: the parser of texts of kernels. Private to sdk/kernels.
#ifndef BACKPLANE_KERNELS_KERNELPARSER_H
#define BACKPLANE_KERNELS_KERNELPARSER_H

#include "sdk/kernels/KernelScan.h"

namespace backplane::syntax {

inline constexpr size_t maxList = 64; ///< operands, results, choices
inline constexpr size_t maxNumbers = maxConstantBytes;

/// Recursive descent. After the first error nothing is read and every list
/// ends.
class Parser : Scanner {
public:
  explicit Parser(std::string_view text) : Scanner(text) {}
  Result<Kernel> run();

private:
  void header();
  void variable();
  void dtypeChoices(Offset at, const std::string &name);
  void valueChoices(Offset at, const std::string &name);
  Attribute choice();
  void condition();
  void item();
  void symbols();
  void input(const std::string &name, Offset at, bool isOptional);
  void op(Offset at,
          const std::vector<std::pair<std::string, Offset>> &results);
  void definition();
  void outputs();
  void attribute(Op &op);
  void value(const AttributeSpec &spec, AttributeText &attribute);
  std::optional<size_t> takeVariable();
  std::optional<Layout> layout();
  DTypeName dtype();
  Dims dims();
  Dim dim(std::string_view ends);
  std::vector<double> numbers();
  size_t define(const std::string &name, Offset at, bool isInput);
  size_t use();
  bool isNameTaken(std::string_view name);
  void checkSymbols();
  void checkUses();

  Kernel kernel_;
  std::vector<PlacedDim> dims_; ///< all, whose symbols are declared at the end
};

} // namespace backplane::syntax

#endif // BACKPLANE_KERNELS_KERNELPARSER_H
