// SPDX-License-Identifier: Apache-2.0
#include "Evaluate.h"
#include "hal/core/Error.h"
#include "hal/core/Tables.h"
#include "sdk/graph/GraphTable.h"

#include <algorithm>

namespace backplane::rt {
namespace {

/// What the compiler of the target gave.
struct Compiled {
  Bytes blob;
  Entry entry;
  std::array<std::string, 3> grid;
  Status failure = internalError("the compiler of 'ref' gave nothing");
};

Status readEntry(const bp_entry_t *from, Entry &entry) {
  constexpr uint32_t maxBindings = 4096;
  bp_entry_t info;
  if (Status s = copyStruct(from, bp_entry_t_TYPE, "entry", info); !s.ok())
    return s;
  if (info.binding_count > maxBindings)
    return invalidArgument("the entry has too many bindings");
  entry.name = view(info.name);
  entry.bindingAccess.assign(info.binding_access,
                             info.binding_access + info.binding_count);
  entry.constantCount = info.constant_count;
  std::copy_n(info.workgroup_size, 3, entry.workgroupSize.begin());
  entry.workspaceBytes = info.workspace_bytes;
  return {};
}

bp_status_t putCompiled(void *context, const bp_compiled_t *from) {
  auto &out = *static_cast<Compiled *>(context);
  bp_compiled_t compiled;
  out.failure =
      copyStruct(from, bp_compiled_t_TYPE, "compiled dispatch", compiled);
  if (!out.failure.ok())
    return out.failure.code();
  const auto *bytes = static_cast<const uint8_t *>(compiled.blob.data);
  out.blob.assign(bytes, bytes + compiled.blob.size);
  for (int i = 0; i < 3; ++i)
    out.grid[size_t(i)] = view(compiled.grid[i]);
  out.failure = readEntry(compiled.entry, out.entry);
  return out.failure.code();
}

Result<Compiled> compileGraph(const TargetInfo &target, const Graph &graph) {
  Compiled compiled;
  bp_graph_t *handle = wrapGraph(graph);
  bp_compile_request_t request = {BP_HEADER(bp_compile_request_t)};
  request.target = toC(target.name);
  request.graph = handle;
  request.graph_table = graphTable();
  request.entry_name = toC("evaluate");
  bp_compiled_sink_t sink = {&putCompiled, &compiled};
  Status status =
      callPlugin("compile", target.plugin->table->compile, target.plugin->self,
                 static_cast<const bp_compile_request_t *>(&request),
                 static_cast<const bp_compiled_sink_t *>(&sink));
  graphTable()->graph_close(handle);
  if (!status.ok())
    return status;
  if (!compiled.failure.ok())
    return compiled.failure;
  return compiled;
}

Result<int64_t> bytesOf(const TensorType &type) {
  std::optional<int64_t> bytes = type.bytes().constant();
  if (!bytes || *bytes < 0)
    return invalidArgument("a value of type " + type.str() +
                           " has no static size");
  return *bytes;
}

/// Buffers for the inputs, filled, and for the outputs.
Result<std::vector<Binding>>
makeBindings(Device &device, const Graph &graph,
             std::span<const std::span<const uint8_t>> inputs) {
  std::vector<ValueId> values = graph.inputs;
  for (const GraphOutput &output : graph.outputs)
    values.push_back(output.value);
  std::vector<Binding> bindings;
  for (size_t i = 0; i < values.size(); ++i) {
    Result<int64_t> bytes = bytesOf(graph.type(values[i]));
    if (!bytes)
      return bytes.status();
    auto buffer = device.allocate(uint64_t(*bytes));
    if (!buffer)
      return buffer.status();
    if (i < inputs.size() && inputs[i].size() != uint64_t(*bytes))
      return invalidArgument("input " + std::to_string(i) + " has " +
                             std::to_string(inputs[i].size()) + " bytes, " +
                             std::to_string(*bytes) + " are needed");
    if (i < inputs.size() && *bytes > 0)
      if (Status s = (*buffer)->write(0, inputs[i]); !s.ok())
        return s;
    bindings.push_back({*buffer, 0, uint64_t(*bytes), 0});
  }
  return bindings;
}

Status setGrid(const Compiled &compiled, Dispatch &dispatch) {
  for (size_t i = 0; i < 3; ++i) {
    Result<Dim> dim = Dim::parse(compiled.grid[i]);
    if (!dim)
      return dim.status();
    std::optional<int64_t> size = dim->constant();
    if (!size || *size < 0 || *size > int64_t(UINT32_MAX))
      return internalError("the grid '" + compiled.grid[i] + "' is no number");
    dispatch.grid[i] = uint32_t(*size);
  }
  return {};
}

} // namespace

Status ReferenceEvaluator::open() {
  if (queue_)
    return {};
  for (TargetInfo &target : listTargets(*registry_))
    if (target.name == "ref")
      target_ = std::move(target);
  if (!target_)
    return notFound("constant folding needs the reference plug-in, and no "
                    "compiler plug-in has the target 'ref'");
  Result<std::shared_ptr<Device>> device = registry_->device(target_->driver);
  if (!device)
    return device.status().within("constant folding needs the reference "
                                  "device");
  device_ = std::move(*device);
  Result<std::shared_ptr<Queue>> queue = device_->createQueue();
  if (!queue)
    return queue.status();
  queue_ = std::move(*queue);
  return {};
}

Result<std::vector<Bytes>>
ReferenceEvaluator::run(const Graph &graph,
                        std::span<const std::span<const uint8_t>> inputs) {
  if (Status s = open(); !s.ok())
    return s;
  if (inputs.size() != graph.inputs.size())
    return invalidArgument("the graph has " +
                           std::to_string(graph.inputs.size()) + " inputs, " +
                           std::to_string(inputs.size()) + " were given");
  Result<Compiled> compiled = compileGraph(*target_, graph);
  if (!compiled)
    return compiled.status();
  Dispatch dispatch;
  if (Status s = setGrid(*compiled, dispatch); !s.ok())
    return s;
  auto executable =
      device_->load(target_->format, compiled->blob, {compiled->entry});
  if (!executable)
    return executable.status();
  dispatch.executable = std::move(*executable);
  auto bindings = makeBindings(*device_, graph, inputs);
  if (!bindings)
    return bindings.status();
  dispatch.bindings = *bindings;
  Command command = std::move(dispatch);
  if (Status s = queue_->run({&command, 1}); !s.ok())
    return s;
  std::vector<Bytes> outputs;
  for (size_t i = inputs.size(); i < bindings->size(); ++i) {
    Bytes bytes((*bindings)[i].length, 0);
    if (!bytes.empty())
      if (Status s = (*bindings)[i].buffer->read(0, bytes); !s.ok())
        return s;
    outputs.push_back(std::move(bytes));
  }
  return outputs;
}

} // namespace backplane::rt
