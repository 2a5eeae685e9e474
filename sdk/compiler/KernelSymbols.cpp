// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/KernelSymbols.h"

#include "backplane/kernel.h"
#include "sdk/support/Error.h"

namespace backplane {

/// No longer than the name in the model, as the text of a dim has a limit: a
/// letter, unless there are more symbols than a target passes.
static std::string kernelName(size_t position) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  static_assert(letters.size() >= BP_MAX_CONSTANTS);
  return position < letters.size() ? std::string(1, letters[position])
                                   : "s" + std::to_string(position);
}

Substitution toKernelSymbols(const std::vector<std::string> &names) {
  Substitution values;
  for (size_t i = 0; i < names.size(); ++i)
    values.emplace(names[i], Dim::symbol(kernelName(i)));
  return values;
}

Substitution fromKernelSymbols(const std::vector<std::string> &names) {
  Substitution values;
  for (size_t i = 0; i < names.size(); ++i)
    values.emplace(kernelName(i), Dim::symbol(names[i]));
  return values;
}

Status substituteSymbols(Graph &graph, const Substitution &values) {
  if (values.empty())
    return {};
  bool valid = true;
  auto change = [&](Dims &dims) {
    for (Dim &dim : dims) {
      dim = dim.substitute(values);
      valid &= dim.valid();
    }
  };
  for (Symbol &symbol : graph.symbols)
    symbol.name = *values.at(symbol.name).symbolName();
  for (Value &value : graph.values)
    change(value.type.dims);
  for (Op &op : graph.ops)
    for (auto &[name, attribute] : op.attributes)
      if (auto *dims = std::get_if<Dims>(&attribute))
        change(*dims);
  return valid ? Status() : unimplemented("its sizes are too large to express");
}

Result<std::string> substituteSymbols(const std::string &text,
                                      const Substitution &values) {
  if (text.empty() || values.empty())
    return text;
  auto dim = Dim::parse(text);
  if (!dim)
    return dim.status();
  Dim changed = dim->substitute(values);
  if (!changed.valid())
    return unimplemented("a size of a kernel is too large to express: " + text);
  return changed.str();
}

Dim DimReader::dim(const std::string &text) {
  auto renamed = substituteSymbols(text, values_);
  Result<Dim> read = renamed ? Dim::parse(*renamed) : renamed.status();
  if (!read && status_.ok())
    status_ = read.status();
  return read ? *read : Dim(0);
}

} // namespace backplane
