// SPDX-License-Identifier: Apache-2.0
#include "Job.h"
#include "conformance/cases/Data.h"
#include "conformance/cases/Judge.h"
#include "conformance/cases/Large.h"
#include "conformance/cases/Probes.h"
#include "conformance/cases/Work.h"
#include "conformance/compare/Elements.h"
#include "sdk/graph/OpTable.h"
#include "sdk/graph/Wire.h"
#include "sdk/support/Hash.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

using worker::Frame;
using worker::FrameType;

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

worker::CompileMessage compileMessage(const Unit &unit, bool disguise) {
  // A name would tell which case it is.
  Graph graph = unit.graph;
  graph.name.clear();
  if (disguise)
    graph = disguised(graph, std::hash<std::string>()(unit.id));
  worker::CompileMessage message{writeGraph(graph), {}};
  for (const auto &[id, weight] : unit.weights.all()) {
    worker::WireTensor tensor{uint32_t(weight.type.dtype), {}, {}};
    for (const Dim &dim : weight.type.dims)
      tensor.dims.push_back(dim.constant().value_or(0));
    tensor.data.assign(weight.data.begin(), weight.data.end());
    message.weights.push_back(std::move(tensor));
  }
  return message;
}

std::vector<worker::WireTensor> toWire(const std::vector<Tensor> &tensors) {
  std::vector<worker::WireTensor> result;
  for (const Tensor &tensor : tensors)
    result.push_back({uint32_t(tensor.dtype), tensor.dims, tensor.data});
  return result;
}

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

/// What a record says of the inputs; the largest of all runs.
void noteInputs(const std::vector<Tensor> &inputs, Record &record) {
  record.inputHash = hashTensors(inputs);
  for (const Tensor &input : inputs)
    record.tested.magnitude =
        std::max(record.tested.magnitude, largestMagnitude(input));
}

/// Every 16th case, whatever else is selected.
bool isSampled(const Case &testCase) {
  const auto *data = reinterpret_cast<const uint8_t *>(testCase.id.data());
  return hashBytes({data, testCase.id.size()}).back() == '0';
}

} // namespace

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

Status checkFiles(const std::vector<worker::WireFile> &expected,
                  const worker::Hello &hello, bool all) {
  if (expected.empty())
    return {};
  for (const worker::WireFile &found : hello.files)
    if (std::ranges::none_of(expected, [&](const worker::WireFile &file) {
          return found.name == file.name && found.sha256 == file.sha256;
        }))
      return dataLoss("the plug-in's file '" + found.name +
                      "' is not the one that the run began with");
  bool right =
      all ? hello.files.size() == expected.size() : !hello.files.empty();
  return right ? Status()
               : dataLoss("the plug-in has other files than when the run "
                          "began");
}

Status Job::startWorker() {
  if (worker_)
    return {};
  loaded_ = false;
  if (options_.disguise)
    return startDisguised(worker_);
  auto process = worker::Process::start(options_.worker, options_.timeout);
  if (!process)
    return process.status();
  if (Status s = checkFiles(options_.runFiles, (*process)->hello()); !s.ok())
    return s;
  worker_ = std::move(*process);
  started_ = std::chrono::steady_clock::now();
  return {};
}

/// An application runs and compiles: it has the files of both workers.
Status Job::checkApplication(const worker::Hello &hello) const {
  std::vector<worker::WireFile> files = options_.runFiles;
  files.insert(files.end(), options_.compileFiles.begin(),
               options_.compileFiles.end());
  return checkFiles(files, hello, false);
}

/// An application takes the place of a worker.
Status Job::startDisguised(std::unique_ptr<worker::Process> &process) {
  ApplicationOptions application = options_.application;
  application.seed = randomBits(application.seed, ++applications_);
  auto started = Application::start(application);
  if (!started)
    return started.status();
  if (Status s = checkApplication((*started)->process().hello()); !s.ok())
    return s;
  kept_.push_back(std::move(*started));
  process = kept_.back()->take();
  return {};
}

Status Job::startCompiler() {
  if (compiler_)
    return {};
  if (options_.disguise)
    return startDisguised(compiler_);
  auto process = worker::Process::start(options_.compiler, options_.timeout);
  if (!process)
    return process.status();
  if (Status s = checkFiles(options_.compileFiles, (*process)->hello());
      !s.ok())
    return s;
  compiler_ = std::move(*process);
  return {};
}

Declaration Job::declaration() const {
  Declaration declaration = declarationOf(compiler_->hello());
  declaration.strict = options_.strict;
  return declaration;
}

Result<worker::Hello> Job::runHello() {
  if (Status s = startWorker(); !s.ok())
    return s;
  return worker_->hello();
}

Result<worker::Hello> Job::hello() {
  if (Status s = startCompiler(); !s.ok())
    return s;
  return compiler_->hello();
}

/// A process that fails to answer is ended.
Result<Frame> Job::ask(std::unique_ptr<worker::Process> &process,
                       FrameType type, std::vector<uint8_t> payload) {
  Status status = process->send(type, std::move(payload), options_.timeout);
  Result<Frame> answer =
      status.ok() ? process->receive(options_.timeout) : Result<Frame>(status);
  if (!answer)
    process.reset();
  return answer;
}

Answer Job::compile(const Unit &unit) {
  Answer result;
  std::unique_ptr<worker::Process> &process =
      options_.disguise ? worker_ : compiler_;
  auto answer = ask(process, FrameType::Compile,
                    worker::encode(compileMessage(unit, options_.disguise)));
  worker::CompiledMessage compiled;
  Status status = answer.status();
  if (answer)
    status = answer->type == FrameType::Compiled
                 ? worker::decode(answer->payload, compiled)
                 : worker::errorOf(*answer);
  if (!status.ok()) {
    result.bad = chargeOf(status.code(), !process);
    result.reason = "the unit did not compile: " + status.message();
    return result;
  }
  artifact_ = {hashBytes(compiled.artifact), compiled.artifact};
  loaded_ = false;
  result.milliseconds = compiled.milliseconds;
  return result;
}

Answer Job::runOnce(const std::vector<Tensor> &inputs) {
  Answer result;
  Status status = startWorker();
  if (status.ok() && !loaded_) {
    auto ready = ask(worker_, FrameType::Artifact, worker::encode(artifact_));
    status = !ready                            ? ready.status()
             : ready->type == FrameType::Ready ? Status()
                                               : worker::errorOf(*ready);
    loaded_ = status.ok();
    runs_ = 0;
  }
  if (status.ok()) {
    ++runs_;
    worker::RunMessage run{artifact_.hash, toWire(inputs)};
    if (options_.disguise)
      run.floatFill = run.otherFill = staleByte;
    auto answer = ask(worker_, FrameType::Run, worker::encode(run));
    status = !answer ? answer.status()
             : answer->type == FrameType::Result
                 ? worker::decode(answer->payload, result.result)
                 : worker::errorOf(*answer);
  }
  if (status.ok())
    return result;
  result.code = worker_ ? status.code() : int32_t(BP_STATUS_OK);
  result.bad = chargeOf(status.code(), !worker_);
  result.reason = status.message();
  return result;
}

/// A case that must fail: whether the device reported the error. `bad` and
/// `code` are those of its answer.
static void judgeError(std::optional<CaseStatus> bad, int32_t code,
                       const std::string &error, Record &record) {
  bool right = bad && code == BP_STATUS_OUT_OF_RANGE;
  record.status = right ? CaseStatus::Pass : bad.value_or(CaseStatus::Fail);
  record.reason = right ? "" : "the device must report: " + error;
}

/// What the case must give. False when there is no such thing, and the record
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
    record.status = *answer.bad;
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
    record.status = CaseStatus::Mistrusted;
    record.reason = "nothing was compared";
  }
}

Status Job::runCase(const Unit &unit, const Case &testCase, Record &record) {
  if (Status s = startCompiler(); !s.ok())
    return s;
  if (Status s = startWorker(); !s.ok())
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
  if (Status s = startWorker(); !s.ok())
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
  if (Status s = startWorker(); !s.ok())
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
      return Status(BP_STATUS_INTERNAL, compiled.reason);
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
      records[i].status = !missing.empty() ? CaseStatus::NotSupported
                          : i == 0         ? *compiled.bad
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
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].compileMs = i == 0 ? compiled.milliseconds : 0;
    if (Status s = runCase(unit, unit.cases[i], records[i]); !s.ok())
      return s;
  }
  if (!records.empty())
    if (Status s = runOtherData(unit, records[0]); !s.ok())
      return s;
  return records;
}

} // namespace backplane::conformance
