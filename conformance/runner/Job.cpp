// SPDX-License-Identifier: Apache-2.0
#include "Job.h"
#include "conformance/cases/Large.h"
#include "conformance/cases/Probes.h"
#include "conformance/report/Faults.h"

namespace backplane::conformance {

ApplicationJob &Job::applied() {
  if (applied_)
    return *applied_;
  CaseRules rules;
  rules.inputsOf = options_.judgement.inputsOf;
  rules.judge = [this](const Unit &unit, const Case &testCase,
                       const std::vector<Tensor> &inputs, const Answer &answer,
                       Record &record) {
    noteInputs(inputs, record);
    judge(unit, testCase, inputs, answer, record);
  };
  rules.compile = [this](const Unit &unit) -> Result<worker::CompiledMessage> {
    if (Status s = startCompiler(); !s.ok())
      return s;
    Answer compiled = compile(unit);
    if (compiled.bad)
      return Status(compiled.bad == CaseStatus::Refused
                        ? BP_STATUS_UNIMPLEMENTED
                        : BP_STATUS_INTERNAL,
                    compiled.reason);
    return worker::CompiledMessage{artifact_.bytes, compiled.milliseconds};
  };
  rules.check = [this](const worker::Hello &hello) {
    return checkApplication(hello);
  };
  rules.isDeterministic = [this](const Unit &unit) {
    return declaration().of(numericClassOf(unit), unit.dtype).deterministic;
  };
  applied_ = std::make_unique<ApplicationJob>(
      options_.application, options_.worker, std::move(rules));
  return *applied_;
}

Result<std::vector<std::vector<Record>>>
Job::runLong(const std::vector<Unit> &units) {
  if (Status s = startCompiler(); !s.ok())
    return s;
  std::vector<std::vector<Record>> records;
  std::vector<size_t> taken;
  std::vector<Unit> asked;
  for (const Unit &unit : units) {
    std::vector<Record> some;
    for (const Case &testCase : unit.cases)
      some.push_back(plannedRecord(unit, testCase));
    std::string missing = missingFor(unit);
    for (Record &record : some)
      if (!missing.empty()) {
        record.status = CaseStatus::NotSupported;
        record.reason = missing;
      }
    if (missing.empty()) {
      taken.push_back(records.size());
      asked.push_back(unit);
    }
    records.push_back(std::move(some));
  }
  std::vector<std::vector<Record>> ran;
  for (size_t index : taken)
    ran.push_back(records[index]);
  if (Status s = applied().runLong(asked, options_.longUptime, ran); !s.ok())
    return s;
  for (size_t i = 0; i < taken.size(); ++i)
    records[taken[i]] = std::move(ran[i]);
  return records;
}

/// Why a unit is not asked of the target; empty: it is.
std::string Job::missingFor(const Unit &unit) {
  std::string missing = notSupported(unit, compiler_->hello());
  return missing.empty() ? applied().missingFor(unit.circumstance) : missing;
}

Result<std::vector<Record>> Job::run(const Unit &unit) {
  if (unit.circumstance == Circumstance::LongUptime) {
    auto records = runLong({unit});
    return records ? std::move(records->front())
                   : Result<std::vector<Record>>(records.status());
  }
  if (!unit.large || unit.large->weights.empty())
    return runAll(unit);
  auto whole = withWeights(unit);
  return whole ? runAll(*whole) : whole.status();
}

Result<std::vector<Record>> Job::runAll(const Unit &unit) {
  std::vector<Record> records;
  for (const Case &testCase : unit.cases)
    records.push_back(plannedRecord(unit, testCase));
  if (unit.check && unit.graph.outputs.empty()) {
    if (Status s = runChecks(unit, records); !s.ok())
      return s;
    return records;
  }
  if (Status s = startCompiler(); !s.ok())
    return s;
  std::string missing = missingFor(unit);
  Answer compiled;
  if (missing.empty() && unit.circumstance != Circumstance::Usual) {
    if (Status s = applied().run(unit, records); !s.ok())
      return s;
    return records;
  }
  if (Status s = options_.disguise ? startWorker() : Status(); !s.ok())
    return s;
  if (missing.empty() && !records.empty())
    compiled = compile(unit);
  if (!missing.empty() || compiled.bad) {
    for (size_t i = 0; i < records.size(); ++i) {
      bool whole = i == 0 || compiled.bad == CaseStatus::Refused;
      records[i].status = !missing.empty() ? CaseStatus::NotSupported
                          : whole          ? *compiled.bad
                                           : CaseStatus::Fail;
      records[i].reason = missing.empty() ? compiled.reason : missing;
    }
    return records;
  }
  if (unit.check) {
    if (Status s = runChecks(unit, records); !s.ok())
      return s;
    return records;
  }
  Faults faults;
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].compileMs = i == 0 ? compiled.milliseconds : 0;
    if (Status s = runCase(unit, unit.cases[i], records[i]); !s.ok())
      return s;
    chargeHelp(shares_, records[i]);
    if (faults.add(records[i]) && !options_.keepGoing) {
      records.resize(i + 1);
      return records;
    }
  }
  if (!records.empty() && shares_.others == 0)
    if (Status s = runOtherData(unit, records[0]); !s.ok())
      return s;
  return records;
}

} // namespace backplane::conformance
