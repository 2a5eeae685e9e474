// SPDX-License-Identifier: Apache-2.0
//
// bp-keep-model FOLDER UNIT DATA-SET: asks the oracle about a case of a real
// model, for minutes where it has to, and prints value, limit and deviation of
// each element of the one output: what MagikaKept.inc holds.
#include "conformance/compare/Envelope.h"
#include "conformance/models/RealModels.h"
#include "sdk/import/Import.h"

#include <cstdio>

namespace backplane::conformance {

namespace {

/// A target that computes in f32 and does not flush.
Declaration plainF32() {
  Declaration declaration;
  Numerics numerics;
  numerics.accumulatorBits = 24;
  for (const char *opClass : {"DOT", "REDUCE"})
    declaration.set(opClass, DType::F32, numerics);
  return declaration;
}

Result<std::vector<Expected>> answersTo(const Unit &unit,
                                        const std::string &dataSet) {
  auto given = unit.given.find(dataSet);
  if (given == unit.given.end())
    return notFound("the model has no data '" + dataSet + "'");
  const std::vector<Tensor> &inputs = given->second.inputs;
  Declaration declaration = plainF32();
  auto answers = evaluate(unit.graph, inputs, declaration, &unit.weights);
  if (answers)
    tightenLoose(unit.graph, inputs, declaration, &unit.weights,
                 unit.cases[0].seed, *answers);
  return answers;
}

Status run(const std::string &folder, const std::string &id,
           const std::string &dataSet) {
  auto found = findModels(folder);
  if (!found)
    return found.status();
  auto units = plannedModels(found->files);
  if (!units)
    return units.status();
  for (Unit &unit : *units) {
    if (unit.id != id)
      continue;
    if (Status s = loadModel(*found, importOnnx, unit); !s.ok())
      return s;
    auto answers = answersTo(unit, dataSet);
    if (!answers)
      return answers.status();
    const Expected &answer = answers->front();
    for (size_t i = 0; i < answer.value.size(); ++i)
      std::printf("{%a, %a, %a},\n", static_cast<double>(answer.value[i]),
                  static_cast<double>(answer.error[i]),
                  answer.sigma.empty() ? 0.0
                                       : static_cast<double>(answer.sigma[i]));
    return {};
  }
  return notFound("'" + id + "' is not there");
}

} // namespace

} // namespace backplane::conformance

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "bp-keep-model FOLDER UNIT DATA-SET\n");
    return 2;
  }
  backplane::Status status =
      backplane::conformance::run(argv[1], argv[2], argv[3]);
  if (status.ok())
    return 0;
  std::fprintf(stderr, "bp-keep-model: %s\n", status.message().c_str());
  return 1;
}
