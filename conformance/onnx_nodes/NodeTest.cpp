// SPDX-License-Identifier: Apache-2.0
#include "NodeTest.h"

#include "Load.h"
#include "conformance/compare/Envelope.h"
#include "conformance/oracle/Format.h"

#include <cmath>

namespace backplane::conformance {

namespace {

/// A record without a unit.
Record refused(const NodeTest &test, CaseStatus status, const Status &why) {
  Record record;
  record.id = record.unit = test.id;
  record.op = test.op;
  record.dataSet = byOracle;
  record.status = status;
  record.reason = why.message();
  return record;
}

/// Node tests are tests of ops, judged as graphs.
Record finished(Record record) {
  record.layer = 3;
  return record;
}

/// Lets a stored zero have either sign.
void takeZeros(Expected &expected, const Tensor &stored) {
  if (!isFloat(expected.dtype) || stored.dtype != expected.dtype ||
      stored.elementCount() != expected.bits.size())
    return;
  for (size_t i = 0; i < expected.bits.size(); ++i)
    if (uint64_t bits = loadBits(stored, i);
        decode(expected.dtype, bits) == 0 &&
        decode(expected.dtype, expected.bits[i]) == 0)
      expected.bits[i] = bits;
}

/// What NumPy may be off by: as much as a device, and a rounding of its own.
void widen(Expected &expected) {
  if (expected.match == Match::Bits)
    expected.match = Match::Value;
  if (expected.match != Match::Limit)
    return;
  Real ulp = std::ldexp(Real(1), 1 - formatOf(expected.dtype).precision);
  for (size_t i = 0; i < expected.error.size(); ++i)
    if (expected.error[i] > 0)
      expected.error[i] =
          2 * expected.error[i] + ulp * std::fabs(expected.value[i]);
  expected.sigma.clear();
}

Result<LoadedTest> load(const NodeTest &test, Record &record) {
  auto unit = importTest(test);
  if (!unit) {
    record = refused(test, CaseStatus::NotSupported, unit.status());
    return unit.status();
  }
  auto loaded = loadTensors(test, std::move(*unit));
  if (!loaded)
    record = refused(test, CaseStatus::Fail, loaded.status());
  return loaded;
}

} // namespace

struct NodeRunner::Loaded : LoadedTest {};

Record checkStored(const NodeTest &test) {
  Record record;
  auto loaded = load(test, record);
  if (!loaded)
    return finished(std::move(record));
  const Unit &unit = loaded->unit;
  record = plannedRecord(unit, unit.cases[0]);
  auto expected = evaluate(unit.graph, loaded->inputs, {}, &unit.weights);
  if (!expected) {
    record.dataSet = byStored;
    record.status = CaseStatus::NotSupported;
    record.reason = "the oracle has no answer: " + expected.status().message();
    return finished(std::move(record));
  }
  std::vector<Verdict> verdicts;
  for (size_t i = 0; i < expected->size(); ++i) {
    takeZeros((*expected)[i], loaded->stored[i]);
    widen((*expected)[i]);
    verdicts.push_back(compare((*expected)[i], loaded->stored[i], {}));
  }
  fold(verdicts, record);
  return finished(std::move(record));
}

NodeRunner::NodeRunner(JobOptions options, double storedUnits)
    : storedUnits_(storedUnits), job_(judged(std::move(options))) {}
NodeRunner::~NodeRunner() = default;

JobOptions NodeRunner::judged(JobOptions options) {
  // The oracle answers for the first call, and models share a session that
  // differ in nothing but their data.
  options.freshVariables = true;
  Judgement &judgement = options.judgement;
  judgement.inputsOf = [this](const Unit &, const Case &) {
    return loaded_->inputs;
  };
  judgement.isProbe = [](const Unit &) { return false; };
  judgement.expectsError = [](const Case &) { return false; };
  judgement.evaluate =
      [this](const Graph &graph, const std::vector<Tensor> &inputs,
             const Declaration &declaration, const WeightPool *weights) {
        std::vector<Expected> fromStored;
        if (storedUnits_ > 0) {
          noAnswer_ = "it was not asked";
          for (const Tensor &stored : loaded_->stored)
            fromStored.push_back(expectedWithin(stored, storedUnits_));
          return Result<std::vector<Expected>>(std::move(fromStored));
        }
        auto expected = evaluate(graph, inputs, declaration, weights);
        noAnswer_ = expected ? "" : expected.status().message();
        if (expected)
          return expected;
        for (const Tensor &stored : loaded_->stored)
          fromStored.push_back(expectedFrom(stored));
        return Result<std::vector<Expected>>(std::move(fromStored));
      };
  judgement.judge = [this](const Unit &unit, const Case &,
                           const std::vector<Expected> &expected,
                           const std::vector<Tensor> &outputs,
                           const Declaration &declaration) {
    std::vector<Expected> answers = expected;
    if (noAnswer_.empty())
      tightenLoose(unit.graph, loaded_->inputs, declaration, &unit.weights, 1,
                   answers);
    std::vector<Verdict> verdicts;
    for (size_t i = 0; i < answers.size(); ++i) {
      answers[i].sigma.clear();
      verdicts.push_back(compare(answers[i],
                                 i < outputs.size() ? outputs[i] : Tensor(),
                                 declaration.of("DOT", answers[i].dtype)));
    }
    return verdicts;
  };
  return options;
}

Result<Record> NodeRunner::run(const NodeTest &test) {
  Record record;
  auto loaded = load(test, record);
  if (!loaded)
    return finished(std::move(record));
  loaded_ = std::make_unique<Loaded>(Loaded{std::move(*loaded)});
  noAnswer_.clear();
  auto records = job_.run(loaded_->unit);
  if (!records)
    return records.status();
  record = std::move(records->at(0));
  if (!noAnswer_.empty()) {
    record.dataSet = byStored;
    if (isGood(record.status))
      record.reason = "the oracle has no answer: " + noAnswer_;
  }
  return finished(std::move(record));
}

} // namespace backplane::conformance
