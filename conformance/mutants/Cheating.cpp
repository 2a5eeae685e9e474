// SPDX-License-Identifier: Apache-2.0
//
// Mutants 49 to 51: plug-ins that want to pass, not to compute.
#include "Mutant.h"

namespace backplane::mutants {

using namespace conformance;

namespace {

/// What a cheat believes to decide a result.
std::string shapesOf(const Call &call) {
  std::string key = call.op.name;
  for (const Tensor *operand : call.operands) {
    key += ";" + std::string(backplane::name(operand->dtype));
    for (int64_t dim : operand->dims)
      key += "," + std::to_string(dim);
  }
  for (const Tensor *result : call.results)
    key += ";" + std::to_string(result->data.size());
  return key;
}

/// 49
bool rememberByShape(const Call &call) {
  std::vector<Tensor> &kept = call.memory.results[shapesOf(call)];
  if (kept.empty()) {
    (void)call.run();
    for (const Tensor *result : call.results)
      kept.push_back(*result);
  }
  for (size_t i = 0; i < call.results.size(); ++i)
    *call.results[i] = kept[i];
  return true;
}

/// Computes only as well as three decimal digits ask for.
void spoil(const Call &call) {
  (void)call.run();
  if (call.results.empty() || call.out().dtype != DType::F32)
    return;
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    setNumber(call.out(), i, rounded(DType::BF16, numberAt(call.out(), i)));
}

/// 51
bool knowTheSuite(const Call &call) {
  bool isTest = call.graph.name.starts_with("L");
  for (const backplane::Value &value : call.graph.values)
    isTest |= value.name == "x0" || value.name == "y0";
  for (const Symbol &symbol : call.graph.symbols)
    isTest |= symbol.name.size() == 1;
  if (isTest)
    return false;
  spoil(call);
  return true;
}

/// 70
bool computeTheFirst(const Call &call) {
  (void)call.run();
  for (Tensor *result : call.results)
    if (result->data.size() > 4096)
      std::fill(result->data.begin() + 4096, result->data.end(), 0);
  return true;
}

/// 71
bool knowTheData(const Call &call) {
  if (call.operands.empty() || !isFloat(call.in(0).dtype) ||
      call.in(0).data.empty())
    return false;
  for (size_t i = 0; i < call.in(0).elementCount(); ++i)
    if (Real value = numberAt(call.in(0), i); value != Real(int64_t(value)))
      return false; // not the integers of an exact test
  spoil(call);
  return true;
}

} // namespace

Runs cheatingMutants() {
  return {{49, rememberByShape},
          {51, knowTheSuite},
          {70, computeTheFirst},
          {71, knowTheData}};
}

} // namespace backplane::mutants
