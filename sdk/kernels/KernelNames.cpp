// SPDX-License-Identifier: Apache-2.0
//
// KernelNames.cpp: the names that expressions of a kernel may use.
#include "sdk/kernels/RegisteredKernel.h"

namespace backplane {

std::string presenceSymbol(const std::string &input) { return "has_" + input; }

std::set<std::string> symbolNames(const KernelText &text) {
  std::set<std::string> names(text.variables.begin(), text.variables.end());
  for (const Symbol &symbol : text.symbols)
    names.insert(symbol.name);
  for (uint32_t i = 0; i < text.inputCount; ++i)
    names.insert(presenceSymbol(text.bindings[i]));
  return names;
}

Status checkExpression(const std::string &expression,
                       const std::set<std::string> &names) {
  if (expression.empty())
    return {};
  auto dim = Dim::parse(expression);
  if (!dim)
    return dim.status();
  std::set<std::string> used;
  dim->collectSymbols(used);
  for (const std::string &name : used)
    if (!names.contains(name))
      return invalidArgument("'" + expression + "' uses symbol '" + name +
                             "', which the text does not have");
  return {};
}

Status checkCost(const KernelText &text, const std::string &cost) {
  if (cost.empty())
    return {};
  std::set<std::string> names = symbolNames(text);
  const std::string generated(generatedSymbol);
  if (!names.insert(generated).second)
    return invalidArgument("the text has a symbol '" + generated +
                           "', which is the estimate of generated code; give "
                           "it another name")
        .within("cost");
  return checkExpression(cost, names).within("cost");
}

} // namespace backplane
