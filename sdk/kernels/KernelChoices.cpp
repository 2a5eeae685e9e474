// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/KernelChoices.h"

#include <algorithm>

namespace backplane {

namespace {

constexpr size_t maxChoices = 64;

} // namespace

Result<size_t> KernelChoices::count() const {
  size_t count = 1;
  auto times = [&](size_t factor) {
    count = std::min(count * factor, maxChoices + 1);
  };
  for (const syntax::DTypeVariable &variable : kernel_.dtypes)
    times(variable.choices.size());
  for (const syntax::ValueVariable &variable : kernel_.variables)
    times(variable.choices.size());
  for (const syntax::Input &input : kernel_.inputs)
    times(input.isOptional ? 2 : 1);
  if (count > maxChoices)
    return invalidArgument(
        "the variables and optional inputs allow more than " +
        std::to_string(maxChoices) + " choices; register several kernels");
  return count;
}

void KernelChoices::choose(size_t number) {
  dtypes_.clear();
  values_.clear();
  absent_.clear();
  for (const syntax::DTypeVariable &variable : kernel_.dtypes) {
    dtypes_.push_back(variable.choices[number % variable.choices.size()]);
    number /= variable.choices.size();
  }
  for (const syntax::ValueVariable &variable : kernel_.variables) {
    values_.push_back(int64_t(number % variable.choices.size()));
    number /= variable.choices.size();
  }
  for (const syntax::Input &input : kernel_.inputs) {
    absent_.push_back(input.isOptional && number % 2);
    number /= input.isOptional ? 2 : 1;
  }
}

std::string KernelChoices::text() const {
  std::string text;
  auto add = [&](const std::string &part) {
    text += (text.empty() ? "" : ", ") + part;
  };
  for (size_t i = 0; i < dtypes_.size(); ++i)
    if (kernel_.dtypes[i].choices.size() > 1)
      add(kernel_.dtypes[i].name + " = " + std::string(name(dtypes_[i])));
  for (size_t i = 0; i < values_.size(); ++i)
    if (const auto &variable = kernel_.variables[i];
        variable.choices.size() > 1)
      add(variable.name + " = " + syntax::textOf(value(i)));
  for (size_t i = 0; i < absent_.size(); ++i)
    if (kernel_.inputs[i].isOptional)
      add((absent_[i] ? "without " : "with ") +
          kernel_.values[kernel_.inputs[i].value].name);
  return text;
}

bool KernelChoices::isRepeated() const {
  for (size_t variable = 0; variable < values_.size(); ++variable) {
    bool isNeeded = values_[variable] == 0;
    for (const syntax::Op &op : kernel_.ops)
      for (const syntax::AttributeText &attribute : op.attributes)
        if (const auto *name = std::get_if<syntax::ValueName>(&attribute.value))
          isNeeded |= name->variable == variable;
    auto isOf = [&](const std::optional<syntax::Layout> &layout) {
      return layout && layout->variable == variable;
    };
    for (size_t i = 0; i < kernel_.inputs.size(); ++i)
      isNeeded |= !absent_[i] && isOf(kernel_.inputs[i].layout);
    for (const syntax::Output &output : kernel_.outputs)
      isNeeded |= isOf(output.layout);
    if (!isNeeded)
      return true;
  }
  return false;
}

} // namespace backplane
