// SPDX-License-Identifier: Apache-2.0
#include "conformance/repro/Repro.h"
#include "Commands.h"
#include "conformance/compare/Elements.h"
#include "conformance/models/RealModels.h"
#include "sdk/support/Tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace backplane::conformance {
namespace {

using TensorList = std::vector<conformance::Tensor>;

/// What is kept of the first run of the case.
struct Seen {
  bool any = false;
  TensorList inputs, outputs;
  std::vector<Expected> expected;
};

/// "f32 [2, 3], 6 elements in [-1.5, 2], 1 NaN".
std::string describe(const conformance::Tensor &tensor) {
  Real low = INFINITY, high = -INFINITY;
  size_t nans = 0, count = tensor.elementCount();
  for (size_t i = 0; i < count; ++i) {
    Real value = numberOf(tensor.dtype, loadBits(tensor, i));
    if (std::isnan(value)) {
      ++nans;
      continue;
    }
    low = std::min(low, value);
    high = std::max(high, value);
  }
  char range[80] = "";
  if (low <= high)
    std::snprintf(range, sizeof range, " in [%Lg, %Lg]", low, high);
  return std::string(name(tensor.dtype)) + " " + shapeText(tensor.dims) + ", " +
         std::to_string(count) + " elements" + range +
         (nans ? ", " + std::to_string(nans) + " NaN" : "");
}

/// "%2 = softmax(%0, %1)".
std::string describe(const Op &op) {
  auto list = [](const std::vector<ValueId> &values) {
    std::string text;
    for (ValueId value : values)
      text += (text.empty() ? "%" : ", %") + std::to_string(value);
    return text;
  };
  return list(op.results) + " = " + op.name + "(" + list(op.operands) + ")";
}

Status saveAll(const std::string &folder, const Seen &seen) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code)
    return invalidArgument("cannot make the folder '" + folder +
                           "': " + code.message());
  TensorList expected;
  for (const Expected &output : seen.expected)
    expected.push_back(tensorOf(output));
  const std::pair<const char *, const TensorList *> kinds[] = {
      {"input", &seen.inputs},
      {"output", &seen.outputs},
      {"expected", &expected}};
  for (const auto &[kind, tensors] : kinds)
    for (size_t i = 0; i < tensors->size(); ++i) {
      std::string path = folder + "/" + kind + std::to_string(i) + ".npy";
      if (Status s = saveTensor(path, (*tensors)[i]); !s.ok())
        return s.within(path);
      std::printf("saved %s\n", path.c_str());
    }
  return {};
}

void printWorst(const Record &record, const Seen &seen) {
  auto output = static_cast<size_t>(record.output);
  if (output >= seen.outputs.size())
    return;
  std::printf("worst: output %d, element %llu at %s of %s\n", record.output,
              static_cast<unsigned long long>(record.worst),
              indexText(seen.outputs[output].dims, record.worst).c_str(),
              shapeText(seen.outputs[output].dims).c_str());
  std::printf("  got   %s\n  want  %s\n", record.got.c_str(),
              record.want.c_str());
  if (output < seen.expected.size() &&
      record.worst < seen.expected[output].value.size())
    std::printf("  exact %.21Lg\n", seen.expected[output].value[record.worst]);
  std::printf("  bound %.6g, share used %.4g\n", record.limit,
              record.limitUsed);
}

void printAll(const RunOptions &options, const Unit &unit, const Record &record,
              const Seen &seen) {
  std::printf("case   %s\nop     %s, layer %d\ndata   %s, seed %llu, sizes "
              "%s\n",
              record.id.c_str(), record.op.c_str(), record.layer,
              record.dataSet.c_str(),
              static_cast<unsigned long long>(record.seed),
              record.sizes.empty() ? "fixed" : record.sizes.c_str());
  for (size_t i = 0; i < seen.inputs.size(); ++i)
    std::printf("input  %zu: %s\n", i, describe(seen.inputs[i]).c_str());
  for (size_t i = 0; i < seen.outputs.size(); ++i)
    std::printf("output %zu: %s\n", i, describe(seen.outputs[i]).c_str());
  for (const Op &op : unit.graph.ops)
    std::printf("graph  %s\n", describe(op).c_str());
  printWorst(record, seen);
  std::printf("compile %.3f ms, run %.3f ms, %llu elements compared\n",
              record.compileMs, record.runMs,
              static_cast<unsigned long long>(record.elements));
  std::printf("status %s%s%s\n", std::string(name(record.status)).c_str(),
              record.reason.empty() ? "" : ": ", record.reason.c_str());
  std::printf("repeat: bp conformance --device '%s' --repro '%s'",
              options.device.c_str(), record.id.c_str());
  if (options.suite.selection.budget)
    std::printf(" --budget %llu", static_cast<unsigned long long>(
                                      options.suite.selection.budget));
  if (options.suite.selection.seed)
    std::printf(" --seed %llu",
                static_cast<unsigned long long>(options.suite.selection.seed));
  if (unit.op == realModelOp)
    std::printf(" --models '%s'", options.models.c_str());
  std::printf("%s\n", options.suite.job.strict ? " --strict" : "");
}

} // namespace

int reproCommand(const RunOptions &options, const Plan &plan) {
  if (plan.ids().size() != 1)
    return fail(invalidArgument("--repro '" + options.repro + "' means " +
                                std::to_string(plan.ids().size()) +
                                " cases; give the id of one"));
  const Unit &unit = plan.units[0];
  Seen seen;
  JobOptions job = options.suite.job;
  job.observe = [&](const Observation &observed) {
    if (!seen.any)
      seen = {true, observed.inputs, observed.outputs, observed.expected};
  };
  auto records = Job(job).run(unit);
  if (!records)
    return fail(records.status());
  printAll(options, unit, records->at(0), seen);
  if (!options.out.empty())
    if (Status s = saveAll(options.out, seen); !s.ok())
      return fail(s);
  return isGood(records->at(0).status) ? passed : notPassed;
}

} // namespace backplane::conformance
