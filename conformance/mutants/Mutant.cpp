// SPDX-License-Identifier: Apache-2.0
#include "Mutant.h"

#include "conformance/oracle/Format.h"

#include <algorithm>
#include <cmath>

namespace backplane::mutants {

using namespace conformance;

std::string_view name(Family family) {
  constexpr std::string_view names[] = {"indexing",   "numerics",   "semantics",
                                        "compiler",   "runtime",    "cheating",
                                        "comparator", "regression", "legal"};
  return names[size_t(family)];
}

std::string Mutant::id() const {
  return (family == Family::Legal ? "legal" : "m") + std::to_string(number);
}

namespace {

/// The rows of mutants.toml.
std::vector<Mutant> described() {
  return {
#include "conformance/mutants/Mutants.inc"
  };
}

/// Sets a member of the mutants with these numbers. One without a row becomes a
/// mutant without a title, which MutantsTest finds.
template <typename T>
void set(std::vector<Mutant> &all, T Mutant::*member, const ByNumber<T> &values,
         bool isLegal = false) {
  for (const auto &[number, value] : values) {
    auto is = [&](const Mutant &mutant) {
      return mutant.number == number &&
             (mutant.family == Family::Legal) == isLegal;
    };
    auto found = std::ranges::find_if(all, is);
    if (found == all.end())
      found = all.insert(found, {.number = number});
    (*found).*member = value;
  }
}

std::vector<Mutant> assembled() {
  std::vector<Mutant> all = described();
  for (auto *part :
       {indexingMutants, numericsMutants, functionMutants, precisionMutants,
        semanticsMutants, runtimeMutants, cheatingMutants, sizeCheats,
        coarseCheats, stateCheats, valueCheats, attributeCheats, elementCheats,
        placeCheats, patternCheats, jointCheats, situationCheats, dataCheats,
        regressionMutants})
    set(all, &Mutant::run, part());
  set(all, &Mutant::run, legalRuns(), true);
  set(all, &Mutant::declares, legalDeclarations(), true);
  set(all, &Mutant::compiler, compilerMutants());
  set(all, &Mutant::touch, processMutants());
  set(all, &Mutant::weakness, comparatorMutants());
  return all;
}

} // namespace

const std::vector<Mutant> &allMutants() {
  static const std::vector<Mutant> all = assembled();
  return all;
}

const Mutant *findMutant(std::string_view id) {
  for (const Mutant &mutant : allMutants())
    if (mutant.id() == id)
      return &mutant;
  return nullptr;
}

bool Call::runWith(size_t i, const Tensor &operand) const {
  Call changed = *this;
  changed.operands[i] = &operand;
  return changed.run();
}

Real numberAt(const Tensor &tensor, size_t i) {
  return numberOf(tensor.dtype, loadBits(tensor, i));
}

int64_t integerAt(const Tensor &tensor, size_t i) {
  return integerOf(tensor.dtype, loadBits(tensor, i));
}

void setInteger(Tensor &tensor, size_t i, int64_t value) {
  storeBits(tensor, i, bitsOf(tensor.dtype, value));
}

void setNumber(Tensor &tensor, size_t i, Real value) {
  if (isFloat(tensor.dtype))
    storeBits(tensor, i, encode(tensor.dtype, value));
  else
    setInteger(tensor, i, static_cast<int64_t>(value));
}

uint64_t encodeTowardsZero(DType dtype, Real value) {
  uint64_t bits = encode(dtype, value);
  Real got = decode(dtype, bits);
  bool isBeyond = std::isnan(got) || std::fabs(got) > std::fabs(value);
  return std::isfinite(value) && isBeyond ? bits - 1 : bits;
}

Real rounded(DType dtype, Real value) {
  return decode(dtype, encode(dtype, value));
}

Result<Graph> rebuild(const Graph &from, const Change &change) {
  Graph to;
  to.name = from.name;
  to.symbols = from.symbols;
  to.assertions = from.assertions;
  to.variables = from.variables;
  std::vector<ValueId> map(from.values.size());
  for (ValueId input : from.inputs)
    map[input] = to.addInput(from.values[input].name, from.type(input));
  for (const Op &op : from.ops) {
    std::vector<ValueId> operands;
    for (ValueId operand : op.operands)
      operands.push_back(map[operand]);
    auto results = change(to, op, operands);
    if (!results) {
      Op copy = op;
      copy.operands = operands;
      for (ValueId &result : copy.results)
        result = to.addValue(from.type(result), from.values[result].name);
      results = copy.results;
      to.ops.push_back(std::move(copy));
    }
    for (size_t i = 0; i < op.results.size(); ++i)
      map[op.results[i]] = (*results)[i];
  }
  for (const GraphOutput &output : from.outputs)
    to.addOutput(map[output.value], output.name);
  if (Status status = to.verify(); !status.ok())
    return status.within("a mutant rewrote a graph wrongly");
  return to;
}

} // namespace backplane::mutants
