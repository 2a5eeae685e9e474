// SPDX-License-Identifier: Apache-2.0
#include "Program.h"

#include "conformance/compare/Elements.h"
#include "sdk/graph/Decompose.h"
#include "sdk/graph/OpTable.h"
#include "sdk/graph/Wire.h"

#include <algorithm>
#include <cstring>

using namespace backplane;
using namespace backplane::mutants;
using conformance::countOf;
using conformance::packedBytes;

namespace {

/// A graph of one op; operands and results are its bindings.
Graph stepGraph(const Graph &from, const Op &op) {
  Graph graph;
  graph.symbols = from.symbols;
  graph.assertions = from.assertions;
  Op copy = op;
  for (ValueId &operand : copy.operands)
    operand = graph.addInput({}, from.type(operand));
  for (ValueId &result : copy.results)
    result = graph.addValue(from.type(result));
  for (ValueId result : copy.results)
    graph.addOutput(result, {});
  graph.ops.push_back(std::move(copy));
  return graph;
}

std::atomic<uint64_t> loaded = 0; ///< executables of the process

/// What a run of the reference plug-in came to.
struct Outcome {
  bp_status_t status = BP_STATUS_INTERNAL;
  std::string message;

  static void done(void *context, bp_status_t status, bp_string_t message) {
    auto &outcome = *static_cast<Outcome *>(context);
    outcome = {status, std::string(view(message))};
  }
};

} // namespace

Result<bp_executable_t *>
bp_executable_t::load(bp_device_t &device, const bp_executable_info_t &info) {
  const auto *bytes = static_cast<const uint8_t *>(info.blob.data);
  Result<Graph> graph = readGraph({bytes, size_t(info.blob.size)});
  if (!graph)
    return invalidArgument(graph.message());
  if (info.entry_count != 1 ||
      info.entries[0]->binding_count !=
          graph->inputs.size() + graph->outputs.size() ||
      info.entries[0]->constant_count != graph->symbols.size())
    return invalidArgument("the entry does not fit its graph");
  const auto &kept = device.self->mutant->composites;
  graph = decompose(*graph, [&](const Op &op) {
    return std::find(kept.begin(), kept.end(), op.name) != kept.end();
  });
  if (!graph)
    return graph.status();
  auto *program = new bp_executable_t(device, std::move(*graph));
  for (const Op &op : program->graph_.ops)
    if (Status status = program->loadStep(op); !status.ok()) {
      delete program;
      return status;
    }
  return program;
}

bp_executable_t::bp_executable_t(bp_device_t &device, backplane::Graph graph)
    : device_(device), graph_(std::move(graph)) {
  ++loaded;
}

bp_executable_t::~bp_executable_t() {
  --loaded;
  for (bp_executable_t *step : steps_)
    if (step)
      device_.self->inner->executable->executable_unload(device_.inner, step);
}

Status bp_executable_t::loadStep(const Op &op) {
  if (findOp(op.name)->composite) {
    steps_.push_back(nullptr);
    return {};
  }
  Bytes wire = writeGraph(stepGraph(graph_, op));
  std::vector<uint8_t> access(op.operands.size(), BP_ACCESS_READ);
  access.resize(access.size() + op.results.size(), BP_ACCESS_WRITE);
  bp_entry_t entry = {BP_HEADER(bp_entry_t)};
  entry.name = toC("step");
  entry.binding_access = access.data();
  entry.binding_count = uint32_t(access.size());
  entry.constant_count = uint32_t(graph_.symbols.size());
  const bp_entry_t *entries[] = {&entry};
  bp_executable_info_t info = {BP_HEADER(bp_executable_info_t)};
  info.format = toC("wire");
  info.blob = {wire.data(), wire.size()};
  info.entries = entries;
  info.entry_count = 1;
  bp_executable_t *step = nullptr;
  bp_status_t status = device_.self->inner->executable->executable_load(
      device_.inner, &info, &step, nullptr);
  if (status != BP_STATUS_OK)
    return Status(status, "the reference plug-in refuses " + op.name);
  steps_.push_back(step);
  return {};
}

bp_status_t bp_executable_t::runStep(const Call &call,
                                     const bp_command_dispatch_t &command,
                                     std::string &message) const {
  static const uint8_t nothing = 0;
  std::vector<bp_binding_t> bindings;
  auto bind = [&](const Tensor &tensor) {
    const uint8_t *data = tensor.data.empty() ? &nothing : tensor.data.data();
    bindings.push_back({asBuffer(data), 0, tensor.data.size()});
  };
  for (const Tensor *operand : call.operands)
    bind(*operand);
  for (const Tensor *result : call.results)
    bind(*result);
  bp_command_dispatch_t step = command;
  step.executable = steps_[call.index];
  step.bindings = bindings.data();
  step.binding_count = bindings.size();
  const bp_header_t *commands[] = {&step.header};
  Outcome outcome;
  bp_completion_t completion = {&Outcome::done, &outcome};
  device_.self->inner->queue->queue_execute(device_.innerQueue, commands, 1,
                                            &completion, nullptr);
  if (outcome.status != BP_STATUS_OK)
    message = outcome.message;
  return outcome.status;
}

/// Gives every value its sizes; inputs and outputs have what the bindings hold.
bp_status_t bp_executable_t::allocate(const bp_command_dispatch_t &command,
                                      std::vector<Tensor> &values,
                                      std::string &message) const {
  SymbolValues symbols;
  for (size_t i = 0; i < graph_.symbols.size(); ++i)
    symbols[graph_.symbols[i].name] = command.constants[i];
  for (const Value &value : graph_.values) {
    Tensor tensor{value.type.dtype, {}, {}};
    for (const Dim &dim : value.type.dims) {
      Result<int64_t> size = dim.evaluate(symbols);
      if (!size || *size < 0) {
        message = "a shape is out of range for these symbols";
        return BP_STATUS_OUT_OF_RANGE;
      }
      tensor.dims.push_back(*size);
    }
    tensor.data.resize(packedBytes(tensor.dtype, countOf(tensor.dims)));
    values.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < command.binding_count; ++i) {
    size_t output = i - graph_.inputs.size();
    Tensor &tensor =
        values[i < graph_.inputs.size() ? graph_.inputs[i]
                                        : graph_.outputs[output].value];
    const bp_binding_t &binding = command.bindings[i];
    if (binding.length < tensor.data.size()) {
      message = "a binding is too small for its tensor";
      return BP_STATUS_INVALID_ARGUMENT;
    }
    if (!tensor.data.empty())
      std::memcpy(tensor.data.data(), memoryOf(binding.buffer) + binding.offset,
                  tensor.data.size());
  }
  return BP_STATUS_OK;
}

bp_status_t bp_executable_t::run(const bp_command_dispatch_t &command,
                                 size_t place, std::string &message) {
  std::vector<Tensor> values;
  if (bp_status_t status = allocate(command, values, message))
    return status;
  bp_status_t failure = BP_STATUS_OK;
  auto reference = [&](const Call &call) {
    std::string why;
    bp_status_t status = runStep(call, command, why);
    if (status != BP_STATUS_OK && failure == BP_STATUS_OK) {
      failure = status;
      message = why;
    }
    return status == BP_STATUS_OK;
  };
  const Mutant &mutant = *device_.self->mutant;
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    Call call{graph_,         graph_.ops[i], i,       {},   {},
              device_.memory, reference,     command, place};
    for (ValueId operand : call.op.operands)
      call.operands.push_back(&values[operand]);
    for (ValueId result : call.op.results)
      call.results.push_back(&values[result]);
    if (!mutant.run || !mutant.run(call))
      (void)call.run();
  }
  static std::atomic<uint64_t> dispatches = 0; // of the process
  device_.memory.dispatches = ++dispatches;
  device_.memory.executables = loaded;
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const bp_binding_t &binding = command.bindings[graph_.inputs.size() + i];
    const Bytes &data = values[graph_.outputs[i].value].data;
    if (!data.empty())
      std::memcpy(memoryOf(binding.buffer) + binding.offset, data.data(),
                  data.size());
  }
  return failure;
}
