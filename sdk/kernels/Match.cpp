// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/Match.h"

using namespace mlir;
using namespace bp;

static size_t numberOf(DictionaryAttr mark, StringRef key) {
  return size_t(mark.getAs<IntegerAttr>(key).getInt());
}

std::optional<KernelMatch> bp::kernelMatchOf(func::FuncOp dispatch,
                                             RegisteredKernels kernels) {
  auto mark = dispatch->getAttrOfType<DictionaryAttr>(kernelAttr);
  if (!mark || !mark.contains("number")) // that of a partition has none
    return std::nullopt;
  KernelMatch match;
  match.kernel = kernels[numberOf(mark, "number")].get();
  match.graph = numberOf(mark, "graph");
  std::vector<backplane::Dim> dims = mark.getAs<DimsAttr>("symbols").getDims();
  for (auto [symbol, dim] : llvm::zip_equal(match.kernel->text.symbols, dims))
    match.symbols.emplace(symbol.name, dim);
  ArrayRef<int32_t> bindings =
      mark.getAs<DenseI32ArrayAttr>("bindings").asArrayRef();
  match.bindings.assign(bindings.begin(), bindings.end());
  return match;
}
