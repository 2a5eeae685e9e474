// SPDX-License-Identifier: Apache-2.0
#include "Evaluate.h"
#include "hal/core/CompilerCalls.h"
#include "sdk/graph/GraphTable.h"

#include <algorithm>

namespace backplane::rt {
namespace {

/// What the compiler of the target returned.
struct Compiled {
  Bytes blob;
  Entry entry;
  std::array<std::string, 3> grid;
};

Compiled copyCompiled(const bp_compiled_t &from) {
  Compiled compiled;
  const auto *bytes = static_cast<const uint8_t *>(from.blob.data);
  compiled.blob.assign(bytes, bytes + from.blob.size);
  for (size_t i = 0; i < 3; ++i)
    compiled.grid[i] = view(from.grid[i]);
  const bp_entry_t &entry = *from.entry;
  compiled.entry.name = view(entry.name);
  compiled.entry.bindingAccess.assign(
      entry.binding_access, entry.binding_access + entry.binding_count);
  compiled.entry.constantCount = entry.constant_count;
  std::copy_n(entry.workgroup_size, 3, compiled.entry.workgroupSize.begin());
  compiled.entry.workspaceBytes = entry.workspace_bytes;
  return compiled;
}

Result<Compiled> compileGraph(const TargetInfo &target, const Graph &graph) {
  bp_graph_t *handle = wrapGraph(graph);
  bp_compile_request_t request = {BP_HEADER(bp_compile_request_t)};
  request.target = toC(target.name);
  request.graph = handle;
  request.graph_table = graphTable();
  request.entry_name = toC("evaluate");
  Compiled compiled;
  Status status =
      callCompile(*target.plugin, request, [&](const bp_compiled_t &from) {
        if (from.launch_count != 1 || from.init_launch_count)
          return unimplemented("several launches for a folded constant");
        compiled = copyCompiled(from);
        return Status();
      });
  graphTable()->graph_close(handle);
  if (!status.ok())
    return status;
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
