// SPDX-License-Identifier: Apache-2.0
//
// PlannedRecord.cpp: what is known of a unit before it runs, what is sent of
// it, and how verdicts become a record.
#include "Job.h"
#include "conformance/cases/Work.h"
#include "sdk/graph/Wire.h"

#include <algorithm>

namespace backplane::conformance {

CaseStatus chargeOf(bp_status_t code, bool workerLost) {
  if (workerLost && code == BP_STATUS_DEADLINE_EXCEEDED)
    return CaseStatus::Timeout;
  if (workerLost)
    return CaseStatus::Crash;
  if (code == BP_STATUS_RESOURCE_EXHAUSTED)
    return CaseStatus::ResourceError;
  if (code == BP_STATUS_UNAVAILABLE)
    return CaseStatus::DeviceLost;
  return CaseStatus::Fail;
}

CaseStatus chargeOfCompile(bp_status_t code, bool workerLost) {
  return code == BP_STATUS_UNIMPLEMENTED && !workerLost
             ? CaseStatus::Refused
             : chargeOf(code, workerLost);
}

worker::CompileMessage compileMessage(const Unit &unit, bool disguise) {
  // A name would tell which case it is.
  Graph graph = unit.graph;
  graph.name.clear();
  if (disguise)
    graph = disguised(graph, std::hash<std::string>()(unit.id));
  worker::CompileMessage message{writeGraph(graph), {}, {}};
  for (const auto &[id, weight] : unit.weights.all()) {
    worker::WireTensor tensor{uint32_t(weight.type.dtype), {}, {}};
    for (const Dim &dim : weight.type.dims)
      tensor.dims.push_back(dim.constant().value_or(0));
    tensor.data.assign(weight.data.begin(), weight.data.end());
    message.weights.push_back(std::move(tensor));
  }
  if (!unit.takesKernels)
    message.kernel = unit.kernel.empty() ? "-" : unit.kernel;
  return message;
}

std::vector<worker::WireTensor> toWire(const std::vector<Tensor> &tensors) {
  std::vector<worker::WireTensor> result;
  for (const Tensor &tensor : tensors)
    result.push_back({uint32_t(tensor.dtype), tensor.dims, tensor.data});
  return result;
}

void fold(const std::vector<Verdict> &verdicts, Record &record) {
  record.status = CaseStatus::Pass;
  bool beyondRounding = false;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const Verdict &verdict = verdicts[i];
    record.elements += verdict.elements;
    for (size_t bin = 0; bin < verdict.ulps.size(); ++bin) {
      record.ulps[bin] += verdict.ulps[bin];
      beyondRounding |= bin > 1 && verdict.ulps[bin];
    }
    bool worse = record.status == CaseStatus::Pass &&
                 (!verdict.pass || verdict.limitUsed > record.limitUsed);
    if (i == 0 || worse) {
      record.output = int(i);
      record.limitUsed = verdict.limitUsed;
      record.worst = verdict.worst;
      record.got = verdict.got;
      record.want = verdict.want;
      record.limit = verdict.limit;
      record.rms = verdict.rms;
      record.bias = verdict.bias;
    }
    if (!verdict.pass && record.status == CaseStatus::Pass) {
      record.status = CaseStatus::Fail;
      record.reason = "output " + std::to_string(i) + ": " + verdict.reason;
    }
  }
  // A correctly rounded result may need a whole limit of half a unit.
  if (record.status == CaseStatus::Pass && record.limitUsed > 0.5 &&
      beyondRounding)
    record.status = CaseStatus::QualityWarning;
}

Record plannedRecord(const Unit &unit, const Case &testCase) {
  Record record;
  record.id = testCase.id;
  record.unit = unit.id;
  record.layer = unit.layer;
  record.op = unit.op;
  record.dtype = name(unit.dtype);
  record.dataSet = testCase.dataSet;
  for (const auto &[symbol, value] : testCase.symbols)
    record.sizes += (record.sizes.empty() ? "" : ",") + symbol + "=" +
                    std::to_string(value);
  record.seed = testCase.seed;
  record.tags = unit.tags;
  // Sizes of stored inputs are not known before they are read.
  if (unit.given.empty()) {
    Work work = workOf(unit.graph, testCase.symbols);
    record.tested.elements = work.elements;
    record.tested.rank = work.rank;
    record.tested.macs = work.macs;
  }
  return record;
}

Declaration declarationOf(const worker::Hello &hello) {
  Declaration declaration;
  for (const worker::WireNumerics &from : hello.numerics) {
    Numerics numerics;
    numerics.accumulatorBits = int(std::min(from.accumulatorBits, 1024u));
    numerics.operandBits = int(std::min(from.operandBits, 1024u));
    numerics.roundsToZero = from.rounding == 1;
    numerics.flushesInput = from.flags & 1;
    numerics.flushesOutput = from.flags & 2;
    numerics.contracts = from.flags & 4;
    numerics.deterministic = from.flags & 8;
    declaration.set(from.opClass, DType(from.dtype), numerics);
  }
  return declaration;
}

std::string notSupported(const Unit &unit, uint64_t computeDTypes,
                         uint64_t storageDTypes) {
  for (DType dtype : unit.dtypes)
    if (!(computeDTypes >> uint32_t(dtype) & 1))
      return "the target does not declare " + std::string(name(dtype));
  for (DType dtype : unit.stored)
    if (!(storageDTypes >> uint32_t(dtype) & 1))
      return "the target cannot hold " + std::string(name(dtype));
  return {};
}

std::string notSupported(const Unit &unit, const worker::Hello &hello) {
  return notSupported(unit, hello.computeDTypes, hello.storageDTypes);
}

} // namespace backplane::conformance
