// SPDX-License-Identifier: Apache-2.0
//
// KernelChoices.h: the choices of a text: a value for each of its variables,
// and whether each optional input is there. Private to sdk/kernels.
#ifndef BACKPLANE_KERNELS_KERNELCHOICES_H
#define BACKPLANE_KERNELS_KERNELCHOICES_H

#include "sdk/kernels/KernelSyntax.h"

namespace backplane {

class KernelChoices {
public:
  explicit KernelChoices(const syntax::Kernel &kernel) : kernel_(kernel) {}

  /// How many there are; more than 64 are an error.
  Result<size_t> count() const;
  /// Makes choice `number` of them, to which the rest refers.
  void choose(size_t number);
  /// "T = f16, without bias"
  std::string text() const;
  /// Whether a variable that only says how absent inputs are stored has another
  /// value than its first: there is a choice like this already.
  bool isRepeated() const;

  DType dtype(const syntax::DTypeName &name) const {
    return name.variable ? dtypes_[*name.variable] : name.dtype;
  }
  const Attribute &value(size_t variable) const {
    return kernel_.variables[variable].choices[size_t(values_[variable])];
  }
  const std::vector<DType> &dtypes() const { return dtypes_; }
  /// The number of the value of each variable.
  const std::vector<int64_t> &values() const { return values_; }
  bool isAbsent(size_t input) const { return absent_[input]; }

private:
  const syntax::Kernel &kernel_;
  std::vector<DType> dtypes_;
  std::vector<int64_t> values_;
  std::vector<bool> absent_;
};

} // namespace backplane

#endif // BACKPLANE_KERNELS_KERNELCHOICES_H
