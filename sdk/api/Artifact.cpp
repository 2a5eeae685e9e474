// SPDX-License-Identifier: Apache-2.0
//
// Artifact.cpp: backplane.h for artifacts: how they come to be, and what they
// say of themselves.
#include "Arguments.h"
#include "Handles.h"
#include "hal/core/Tables.h"
#include "sdk/graph/Wire.h"
#include "sdk/service/RemoteTargets.h"

#include <algorithm>
#include <cstring>

using namespace backplane;
using namespace backplane::rt;

namespace {

std::span<const uint8_t> spanOf(bp_bytes_t bytes) {
  return {static_cast<const uint8_t *>(bytes.data), bytes.size};
}

Status addWeights(std::span<const bp_tensor_t> tensors, WeightPool &pool) {
  for (const bp_tensor_t &tensor : tensors) {
    if (tensor.rank > maxRank || tensor.dtype >= BP_DTYPE_COUNT_)
      return invalidArgument("a weight has an unknown dtype or over " +
                             std::to_string(maxRank) + " dims");
    if (Status s = isArray(tensor.dims, tensor.rank, maxRank, "dims"); !s.ok())
      return s.within("weight");
    TensorType type{DType(tensor.dtype), {}};
    Result<uint64_t> bytes = denseBytes(type.dtype, {tensor.dims, tensor.rank});
    if (!bytes)
      return bytes.status().within("weight");
    if (*bytes != tensor.size || (tensor.size && !tensor.data))
      return invalidArgument(
          "a weight of its shape has " + std::to_string(*bytes) + " bytes, " +
          std::to_string(tensor.data ? tensor.size : 0) + " were given");
    for (uint32_t axis = 0; axis < tensor.rank; ++axis)
      type.dims.emplace_back(tensor.dims[axis]);
    const auto *data = static_cast<const uint8_t *>(tensor.data);
    auto id = pool.add(type, Bytes(data, data + tensor.size));
    if (!id)
      return id.status().within("weight");
  }
  return {};
}

Status checkJob(bp_string_t path, const bp_compile_options_t &options) {
  Status status = firstOf(
      {isText(path, "model_path"), isText(options.driver, "driver"),
       isText(options.dump_dir, "dump_dir"),
       isText(options.output_path, "output_path"),
       isText(options.kernel, "kernel"),
       isArray(options.targets, options.target_count, maxItems, "targets"),
       isArray(options.dims, options.dim_count, maxItems, "dims")});
  for (uint64_t i = 0; status.ok() && i < options.target_count; ++i)
    status = isText(options.targets[i], "a target");
  for (uint64_t i = 0; status.ok() && i < options.dim_count; ++i)
    status = isText(options.dims[i].symbol, "a symbol");
  return status.within("compile options");
}

Status readJob(bp_string_t path, const bp_compile_options_t *from,
               CompileJob &job) {
  bp_compile_options_t options = {BP_HEADER(bp_compile_options_t)};
  if (from)
    if (Status s = copyStruct(from, bp_compile_options_t_TYPE,
                              "compile options", options);
        !s.ok())
      return s;
  if (Status s = checkJob(path, options); !s.ok())
    return s;
  job.model = view(path);
  for (uint64_t i = 0; i < options.target_count; ++i)
    job.targets.emplace_back(view(options.targets[i]));
  if (options.driver.size)
    job.driver = view(options.driver);
  job.dumpDir = view(options.dump_dir);
  job.outputPath = view(options.output_path);
  job.kernel = view(options.kernel);
  for (uint64_t i = 0; i < options.dim_count; ++i)
    job.dims.push_back({std::string(view(options.dims[i].symbol)),
                        options.dims[i].minimum, options.dims[i].maximum});
  constexpr uint32_t known = BP_COMPILE_EMBED_GRAPH | BP_COMPILE_FALLBACK;
  if (Status s = areFlags(options.flags, known, options.reserved); !s.ok())
    return s.within("compile options");
  job.limits = compileLimits(options.max_memory, options.max_milliseconds);
  job.embedGraph = options.flags & BP_COMPILE_EMBED_GRAPH;
  job.fallback = options.flags & BP_COMPILE_FALLBACK;
  return {};
}

bp_status_t tensorInfo(const std::vector<Port> &ports, uint32_t index,
                       bp_tensor_info_t *out) {
  bp_tensor_info_t mine;
  if (index >= ports.size() ||
      !copyStruct(out, bp_tensor_info_t_TYPE, "tensor info", mine).ok())
    return BP_STATUS_INVALID_ARGUMENT;
  const Port &port = ports[index];
  mine = {out->header,
          toC(port.name),
          bp_dtype_t(port.type.dtype),
          uint32_t(port.sizes.size()),
          port.sizes.data(),
          port.textViews.data()};
  std::memcpy(static_cast<void *>(out), &mine,
              std::min<size_t>(out->header.size, sizeof(mine)));
  return BP_STATUS_OK;
}

bp_status_t putText(const bp_artifact_t *artifact, const bp_string_sink_t *sink,
                    std::string (*tell)(const LoadedArtifact &),
                    bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = firstOf({isHandle(artifact), isSink(sink)}); !s.ok())
      return s;
    std::string text = tell(*artifact->artifact);
    return Status(sink->put(sink->context, toC(text)),
                  "the sink refused the text");
  });
}

Status give(const bp_context_t &context,
            Result<std::shared_ptr<const LoadedArtifact>> artifact,
            bp_artifact_t **out) {
  if (!artifact)
    return artifact.status();
  *out = new bp_artifact_t{.artifact = std::move(*artifact),
                           .compiler = context.compiler,
                           .workers = context.workers};
  return {};
}

} // namespace

bp_status_t bp_artifact_compile(bp_context_t *context, bp_string_t model_path,
                                const bp_compile_options_t *options,
                                bp_artifact_t **out_artifact,
                                bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    CompileJob job;
    if (Status s =
            firstOf({isHandle(context), needs(out_artifact, "out_artifact")});
        !s.ok())
      return s;
    if (Status s = readJob(model_path, options, job); !s.ok())
      return s;
    if (Status s = aimAtWorkers(*context->registry, *context->workers, job);
        !s.ok())
      return s;
    return give(*context, context->compiler->run(std::move(job)), out_artifact);
  });
}

bp_status_t
bp_artifact_compile_graph(bp_context_t *context, bp_bytes_t wire_graph,
                          const bp_tensor_t *weights, uint32_t weight_count,
                          const bp_compile_options_t *options,
                          bp_artifact_t **out_artifact, bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    CompileJob job;
    if (Status s =
            firstOf({isHandle(context), isBytes(wire_graph, "wire_graph"),
                     isArray(weights, weight_count, maxItems, "weights"),
                     needs(out_artifact, "out_artifact")});
        !s.ok())
      return s;
    if (Status s = readJob({nullptr, 0}, options, job); !s.ok())
      return s;
    if (Status s = aimAtWorkers(*context->registry, *context->workers, job);
        !s.ok())
      return s;
    if (Status s = addWeights({weights, weight_count}, job.weights); !s.ok())
      return s;
    Result<Graph> graph = readGraph(spanOf(wire_graph));
    if (!graph)
      return graph.status().within("wire graph");
    job.graph = std::move(*graph);
    return give(*context, context->compiler->run(std::move(job)), out_artifact);
  });
}

bp_status_t bp_artifact_open_bytes(bp_context_t *context, bp_bytes_t bytes,
                                   bp_artifact_t **out_artifact,
                                   bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = firstOf({isHandle(context), isBytes(bytes, "bytes"),
                            needs(out_artifact, "out_artifact")});
        !s.ok())
      return s;
    return give(*context,
                LoadedArtifact::openBytes(context->registry, spanOf(bytes)),
                out_artifact);
  });
}

bp_bytes_t bp_artifact_bytes(const bp_artifact_t *artifact) {
  if (!isHandle(artifact).ok())
    return {nullptr, 0};
  std::span<const uint8_t> bytes = artifact->artifact->file->bytes();
  return {bytes.data(), bytes.size()};
}

bp_status_t bp_artifact_open(bp_context_t *context, bp_string_t path,
                             bp_artifact_t **out_artifact, bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = firstOf({isHandle(context), isText(path, "path"),
                            needs(out_artifact, "out_artifact")});
        !s.ok())
      return s;
    return give(
        *context,
        LoadedArtifact::open(context->registry, std::string(view(path))),
        out_artifact);
  });
}

void bp_artifact_destroy(bp_artifact_t *artifact) {
  if (isHandle(artifact).ok())
    delete artifact;
}

uint32_t bp_artifact_input_count(const bp_artifact_t *artifact) {
  return isHandle(artifact).ok()
             ? uint32_t(artifact->artifact->signature.inputs().size())
             : 0;
}

uint32_t bp_artifact_output_count(const bp_artifact_t *artifact) {
  return isHandle(artifact).ok()
             ? uint32_t(artifact->artifact->signature.outputs().size())
             : 0;
}

bp_status_t bp_artifact_input(const bp_artifact_t *artifact, uint32_t index,
                              bp_tensor_info_t *out) {
  return isHandle(artifact).ok()
             ? tensorInfo(artifact->artifact->signature.inputs(), index, out)
             : BP_STATUS_INVALID_ARGUMENT;
}

bp_status_t bp_artifact_output(const bp_artifact_t *artifact, uint32_t index,
                               bp_tensor_info_t *out) {
  return isHandle(artifact).ok()
             ? tensorInfo(artifact->artifact->signature.outputs(), index, out)
             : BP_STATUS_INVALID_ARGUMENT;
}

bp_status_t bp_artifact_describe(const bp_artifact_t *artifact,
                                 const bp_string_sink_t *sink,
                                 bp_error_t *error) {
  return putText(artifact, sink, describe, error);
}

bp_status_t bp_artifact_explain(const bp_artifact_t *artifact,
                                const bp_string_sink_t *sink,
                                bp_error_t *error) {
  return putText(artifact, sink, explain, error);
}
