// SPDX-License-Identifier: Apache-2.0
//
// JobCases.cpp: one case of a unit that is compiled: it runs, is judged, and
// where that tells more runs again.
#include "Job.h"
#include "conformance/cases/Judge.h"
#include "conformance/cases/Probes.h"
#include "conformance/compare/Elements.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TextViews.h"

#include <algorithm>

namespace backplane::conformance {

namespace {

std::vector<Tensor> fromWire(const worker::ResultMessage &message) {
  std::vector<Tensor> result;
  for (const worker::WireTensor &tensor : message.outputs)
    result.push_back({DType(tensor.dtype), tensor.dims, tensor.data});
  return result;
}

std::string hashTensors(const std::vector<Tensor> &tensors) {
  Bytes all;
  for (const Tensor &tensor : tensors)
    all.insert(all.end(), tensor.data.begin(), tensor.data.end());
  return hashBytes(all);
}

/// Whether the oracle constrains any element, or there are none to constrain.
bool saysAnything(const std::vector<Verdict> &verdicts) {
  bool empty = true;
  for (const Verdict &verdict : verdicts) {
    empty &= verdict.elements == 0;
    if (verdict.unbounded < verdict.elements)
      return true;
  }
  return empty && !verdicts.empty();
}

/// Every 16th case, whatever else is selected.
bool isSampled(const Case &testCase) {
  return hashBytes(asBytes(testCase.id)).back() == '0';
}

} // namespace

/// What a record says of the inputs; the largest of all runs.
void noteInputs(const std::vector<Tensor> &inputs, Record &record) {
  record.inputHash = hashTensors(inputs);
  for (const Tensor &input : inputs)
    record.tested.magnitude =
        std::max(record.tested.magnitude, largestMagnitude(input));
}

/// A case that must fail: whether the device reported the error. `bad` and
/// `code` are those of its answer.
static void judgeError(std::optional<CaseStatus> bad, int32_t code,
                       const std::string &error, Record &record) {
  bool right = bad && code == BP_STATUS_OUT_OF_RANGE;
  record.status = right ? CaseStatus::Pass : bad.value_or(CaseStatus::Fail);
  record.reason = right ? "" : "the device must report: " + error;
}

/// What the case must return. False when there is no such thing, and the record
/// is complete.
bool Job::expect(const Unit &unit, const Case &testCase,
                 const std::vector<Tensor> &inputs, const Answer &answer,
                 const Declaration &declaration,
                 std::vector<Expected> &expected, Record &record) {
  const Judgement &rules = options_.judgement;
  const Given *given = givenFor(unit, testCase);
  auto told =
      given && !given->expected.empty()
          ? given->expected
          : rules.evaluate(unit.graph, inputs, declaration, &unit.weights);
  if (told) {
    expected = std::move(*told);
    return true;
  }
  if (told.code() == BP_STATUS_OUT_OF_RANGE && rules.expectsError(testCase)) {
    judgeError(answer.bad, answer.code, told.message(), record);
  } else {
    record.status = CaseStatus::OracleError;
    record.reason = told.message();
  }
  return false;
}

void Job::judge(const Unit &unit, const Case &testCase,
                const std::vector<Tensor> &inputs, const Answer &answer,
                Record &record) {
  const Judgement &rules = options_.judgement;
  record.tested.runs = runs_;
  record.tested.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started_)
          .count();
  Declaration declaration = declarationFor(unit, this->declaration());
  std::vector<Expected> expected;
  // Large units are judged without an answer for each element (Large.h).
  if (!rules.isProbe(unit) && !unit.large &&
      !expect(unit, testCase, inputs, answer, declaration, expected, record))
    return;
  std::vector<Tensor> outputs = fromWire(answer.result);
  if (options_.observe)
    options_.observe({unit, testCase, inputs, outputs, expected, declaration});
  if (answer.bad) {
    // A set need not have a function for each device.
    bool isAbsent = !unit.kernel.empty() && answer.code == BP_STATUS_NOT_FOUND;
    record.status = isAbsent ? CaseStatus::NotSupported : *answer.bad;
    record.reason = answer.reason;
    return;
  }
  record.outputHash = hashTensors(outputs);
  record.runMs = answer.result.milliseconds;
  record.cpuMs = answer.result.cpuMilliseconds;
  std::vector<Verdict> verdicts =
      rules.judge(unit, testCase, expected, outputs, declaration);
  fold(verdicts, record);
  if (!answer.result.damage.empty()) {
    record.status = CaseStatus::Fail;
    record.reason = answer.result.damage;
  } else if (isGood(record.status) && !rules.isProbe(unit) &&
             !saysAnything(verdicts)) {
    // Special data leave nothing to compare of many kernels.
    if (unit.kernel.empty() || testCase.dataSet == "uniform")
      record.status = CaseStatus::Mistrusted;
    record.reason = "nothing was compared";
  }
}

Status Job::runCase(const Unit &unit, const Case &testCase, Record &record) {
  if (Status s = startCompiler(); !s.ok())
    return s;
  if (Status s = startWorkerFor(unit); !s.ok())
    return s;
  std::vector<Tensor> inputs = options_.judgement.inputsOf(unit, testCase);
  noteInputs(inputs, record);
  judge(unit, testCase, inputs, runOnce(inputs), record);
  bool again = record.status != CaseStatus::Timeout &&
               record.status != CaseStatus::OracleError &&
               (options_.strict || !isGood(record.status) ||
                isSampled(testCase) || options_.judgement.isProbe(unit));
  return again ? repeat(unit, testCase, inputs, record) : Status();
}

/// Runs a case for the second time: it must come to the same.
Status Job::repeat(const Unit &unit, const Case &testCase,
                   const std::vector<Tensor> &inputs, Record &record) {
  if (Status s = startWorkerFor(unit); !s.ok())
    return s;
  Record second = plannedRecord(unit, testCase);
  judge(unit, testCase, inputs, runOnce(inputs), second);
  bool same = declaration().of(numericClassOf(unit), unit.dtype).deterministic;
  record.tested.runs = second.tested.runs;
  record.tested.seconds = second.tested.seconds;
  if (second.status == record.status &&
      (!same || second.outputHash == record.outputHash))
    return {};
  record.reason = "two runs differ: " + std::string(name(record.status)) +
                  ", then " + std::string(name(second.status)) + "; " +
                  record.reason;
  record.status = CaseStatus::Flaky;
  return {};
}

/// Runs the first case once more, with data of another seed, unless two of the
/// unit's cases already have the same sizes: a result that was kept for a shape
/// is then a wrong one.
Status Job::runOtherData(const Unit &unit, Record &record) {
  const Case &first = unit.cases[0];
  bool needed =
      isGood(record.status) && record.elements && unit.given.empty() &&
      !unit.large && !options_.judgement.isProbe(unit) &&
      std::ranges::count(unit.cases, first.symbols, &Case::symbols) == 1;
  if (!needed)
    return {};
  Case other = first;
  other.seed = ~first.seed;
  std::vector<Tensor> inputs = options_.judgement.inputsOf(unit, other);
  if (hashTensors(inputs) == record.inputHash) {
    other.dataSet = "uniform";
    inputs = options_.judgement.inputsOf(unit, other);
  }
  if (hashTensors(inputs) == record.inputHash)
    return {};
  if (Status s = startWorkerFor(unit); !s.ok())
    return s;
  Record second = plannedRecord(unit, other);
  judge(unit, other, inputs, runOnce(inputs), second);
  if (isGood(second.status) || second.status == CaseStatus::Mistrusted ||
      second.status == CaseStatus::OracleError)
    return {};
  record.status = second.status;
  record.reason = "with other data of the same sizes (" + other.dataSet +
                  ", seed " + std::to_string(other.seed) +
                  "): " + second.reason;
  return {};
}

} // namespace backplane::conformance
