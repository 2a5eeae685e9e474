// SPDX-License-Identifier: Apache-2.0
#include "Recording.h"

#include <array>

namespace backplane::cuda {

Recording::~Recording() {
  const Cuda &cuda = device_.cuda;
  Current current(device_);
  dropGraph();
  if (done_)
    cuda.cuEventDestroy(done_);
  if (errors_)
    cuda.cuMemFreeHost(errors_);
  if (scratch_)
    cuda.cuMemFree(scratch_);
}

// ---- What a run needs ----

CUresult Recording::prepareErrors(size_t count) {
  const Cuda &cuda = device_.cuda;
  if (count > maxErrors_) {
    if (errors_)
      cuda.cuMemFreeHost(errors_);
    errors_ = nullptr;
    maxErrors_ = 0;
    void *words = nullptr;
    size_t wanted = count + count / 2;
    if (CUresult result = cuda.cuMemHostAlloc(&words, wanted * sizeof(uint32_t),
                                              CU_MEMHOSTALLOC_DEVICEMAP))
      return result;
    errors_ = static_cast<uint32_t *>(words);
    maxErrors_ = wanted;
    if (CUresult result =
            cuda.cuMemHostGetDevicePointer(&errorsOnDevice_, words, 0))
      return result;
  }
  std::fill_n(errors_, count, 0u);
  return CUDA_SUCCESS;
}

CUresult Recording::prepareScratch(uint64_t bytes) {
  if (bytes <= scratchBytes_)
    return CUDA_SUCCESS;
  if (scratch_)
    device_.cuda.cuMemFree(scratch_);
  scratch_ = 0;
  scratchBytes_ = 0;
  CUresult result = device_.cuda.cuMemAlloc(&scratch_, bytes);
  if (!result)
    scratchBytes_ = bytes;
  return result;
}

/// Commands of a stream run one after another, so that one range of scratch
/// serves all.
CUresult Recording::prepare(Commands commands) {
  uint64_t scratch = 0;
  size_t dispatches = 0;
  for (const bp_header_t *command : commands)
    if (command->type == bp_command_dispatch_t_TYPE) {
      auto dispatch = readStruct<bp_command_dispatch_t>(command);
      const EntryPoint &entry = dispatch.executable->entries[dispatch.entry];
      ++dispatches;
      scratch =
          std::max(scratch, gpu::scratchOf(dispatch, entry.workspaceBytes));
    }
  ops_.clear();
  ops_.reserve(dispatches);
  refusal_ = BP_STATUS_OK;
  mayFail_ = dispatches > 0;
  timed_.clear();
  timing_.rewind();
  CUresult result = prepareErrors(dispatches);
  if (!result)
    result = prepareScratch(scratch);
  if (!result && !done_)
    result = device_.cuda.cuEventCreate(&done_, CU_EVENT_BLOCKING_SYNC |
                                                    CU_EVENT_DISABLE_TIMING);
  return result;
}

// ---- Commands ----

static CUdeviceptr addressOf(const bp_binding_t &range) {
  return range.buffer && range.length ? addressOf(*range.buffer) + range.offset
                                      : 0;
}

/// The maps of what a kernel copies by hardware, at the addresses of a launch.
CUresult Recording::encodeTensors(const bp_command_dispatch_t &dispatch,
                                  std::span<const CUdeviceptr> bindings,
                                  std::span<CUtensorMap> out) {
  const EntryPoint &entry = dispatch.executable->entries[dispatch.entry];
  for (size_t i = 0; i < out.size(); ++i) {
    const TensorDescription &tensor = entry.tensors[i];
    const uint64_t length = dispatch.bindings[tensor.binding].length;
    if (length < tensor.bytes) {
      refusal_ =
          fail(device_.driver, error_, BP_STATUS_INVALID_ARGUMENT,
               "a kernel copies a tensor of " + std::to_string(tensor.bytes) +
                   " bytes from binding " + std::to_string(tensor.binding) +
                   ", which has " + std::to_string(length));
      return CUDA_ERROR_UNKNOWN;
    }
    if (CUresult result =
            encode(device_.cuda, tensor, bindings[tensor.binding], out[i]))
      return result;
  }
  return CUDA_SUCCESS;
}

/// A kernel of a module.
CUresult Recording::launch(CUstream stream,
                           const bp_command_dispatch_t &dispatch,
                           std::span<CUdeviceptr> bindings) {
  const EntryPoint &entry = dispatch.executable->entries[dispatch.entry];
  CUdeviceptr errorWord = errorsOnDevice_ + sizeof(uint32_t) * ops_.size();
  // CUDA reads the values during the call.
  std::array<void *, maxBindings + 2 + BP_MAX_CONSTANTS + BP_MAX_PARAMETERS +
                         maxTensors>
      values;
  std::array<CUtensorMap, maxTensors> all;
  const auto maps = std::span(all).first(entry.tensors.size());
  if (CUresult result = encodeTensors(dispatch, bindings, maps))
    return result;
  void **next = values.data();
  for (CUdeviceptr &binding : bindings)
    *next++ = &binding;
  *next++ = &errorWord;
  *next++ = &scratch_;
  for (uint32_t i = 0; i < dispatch.constant_count; ++i)
    *next++ = const_cast<uint32_t *>(dispatch.constants + i);
  for (uint32_t i = 0; i < dispatch.parameter_count; ++i)
    *next++ = const_cast<int64_t *>(dispatch.parameters + i);
  for (CUtensorMap &map : maps)
    *next++ = &map;
  auto shared = uint32_t(dispatch.shared_bytes);
  if (shared)
    if (CUresult result = device_.cuda.cuFuncSetAttribute(
            entry.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            int(shared)))
      return result;
  return device_.cuda.cuLaunchKernel(
      entry.function, dispatch.grid[0], dispatch.grid[1], dispatch.grid[2],
      entry.groupSize[0], entry.groupSize[1], entry.groupSize[2], shared,
      stream, values.data(), nullptr);
}

/// A registered kernel, which calls CUDA itself.
CUresult Recording::call(CUstream stream, const bp_command_dispatch_t &dispatch,
                         std::span<const CUdeviceptr> bindings) {
  const EntryPoint &entry = dispatch.executable->entries[dispatch.entry];
  std::array<uint64_t, maxBindings> addresses, lengths;
  for (size_t i = 0; i < bindings.size(); ++i) {
    addresses[i] = bindings[i];
    lengths[i] = dispatch.bindings[i].length;
  }
  const bp_device_handles_t handles = device_.handles();
  bp_native_launch_t launch = {BP_HEADER(bp_native_launch_t)};
  launch.device = &handles;
  launch.queue = stream;
  launch.bindings = addresses.data();
  launch.lengths = lengths.data();
  launch.binding_count = bindings.size();
  launch.parameters = dispatch.parameters;
  launch.parameter_count = dispatch.parameter_count;
  std::copy_n(dispatch.grid, 3, launch.grid);
  launch.scratch = scratch_;
  launch.scratch_bytes = gpu::scratchOf(dispatch, entry.workspaceBytes);
  launch.error_word = errorsOnDevice_ + sizeof(uint32_t) * ops_.size();
  refusal_ = entry.launch(entry.self, &launch, error_);
  return refusal_ ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

CUresult Recording::dispatch(CUstream stream,
                             const bp_command_dispatch_t &dispatch) {
  std::array<CUdeviceptr, maxBindings> addresses;
  const auto bindings = std::span(addresses).first(dispatch.binding_count);
  for (size_t i = 0; i < bindings.size(); ++i)
    bindings[i] = addressOf(dispatch.bindings[i]);
  const bool isNative =
      dispatch.executable->entries[dispatch.entry].launch != nullptr;
  CUresult result = isNative ? call(stream, dispatch, bindings)
                             : launch(stream, dispatch, bindings);
  ops_.push_back(dispatch.op);
  return result;
}

CUresult Recording::copy(CUstream stream, const bp_command_copy_t &copy) const {
  return copy.target.length
             ? device_.cuda.cuMemcpyAsync(addressOf(copy.target),
                                          addressOf(copy.source),
                                          copy.target.length, stream)
             : CUDA_SUCCESS;
}

CUresult Recording::fill(CUstream stream, const bp_command_fill_t &fill) const {
  const Cuda &cuda = device_.cuda;
  CUdeviceptr at = addressOf(fill.target);
  uint64_t count = fill.target.length / std::max(fill.pattern_size, 1u);
  if (!count)
    return CUDA_SUCCESS;
  switch (fill.pattern_size) {
  case 1:
    return cuda.cuMemsetD8Async(at, uint8_t(fill.pattern), count, stream);
  case 2:
    return cuda.cuMemsetD16Async(at, uint16_t(fill.pattern), count, stream);
  default:
    return cuda.cuMemsetD32Async(at, fill.pattern, count, stream);
  }
}

CUresult Recording::play(CUstream stream, const bp_header_t *command) {
  switch (command->type) {
  case bp_command_dispatch_t_TYPE:
    return dispatch(stream, readStruct<bp_command_dispatch_t>(command));
  case bp_command_copy_t_TYPE:
    return copy(stream, readStruct<bp_command_copy_t>(command));
  case bp_command_fill_t_TYPE:
    return fill(stream, readStruct<bp_command_fill_t>(command));
  default: // a barrier: commands of a stream do not overlap
    return CUDA_SUCCESS;
  }
}

CUresult Recording::play(CUstream stream, Commands commands, bool timed,
                         bp_error_t *error) {
  error_ = error;
  CUresult result = prepare(commands);
  for (size_t i = 0; i < commands.size() && !result; ++i) {
    bool marked = timed && commands[i]->type != bp_command_barrier_t_TYPE;
    if (marked)
      result = timing_.mark(stream);
    if (!result)
      result = play(stream, commands[i]);
    if (marked && !result) {
      timed_.push_back(uint32_t(i));
      result = timing_.mark(stream);
    }
  }
  return result ? result : device_.cuda.cuEventRecord(done_, stream);
}

// ---- Graphs ----

void Recording::dropGraph() {
  if (graph_)
    device_.cuda.cuGraphExecDestroy(graph_);
  graph_ = nullptr;
  bound_.reset();
}

CUresult Recording::capture(CUstream stream, Commands commands,
                            std::span<const uint64_t> bound,
                            bp_error_t *error) {
  const Cuda &cuda = device_.cuda;
  error_ = error;
  dropGraph();
  CUresult result = prepare(commands);
  if (!result)
    result = cuda.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  if (result)
    return result;
  for (size_t i = 0; i < commands.size() && !result; ++i)
    result = play(stream, commands[i]);
  CUgraph graph = nullptr;
  CUresult ended = cuda.cuStreamEndCapture(stream, &graph);
  if (!result)
    result =
        ended ? ended : cuda.cuGraphInstantiateWithFlags(&graph_, graph, 0);
  if (graph)
    cuda.cuGraphDestroy(graph);
  if (!result)
    bound_.emplace(bound.begin(), bound.end());
  return result;
}

CUresult Recording::launch(CUstream stream) {
  CUresult result = device_.cuda.cuGraphLaunch(graph_, stream);
  return result ? result : device_.cuda.cuEventRecord(done_, stream);
}

// ---- After the run ----

gpu::Outcome Recording::wait() {
  CUresult result = device_.cuda.cuEventSynchronize(done_);
  return result ? device_.outcomeOf(result) : gpu::Outcome();
}

void Recording::readTimes(bp_timestamp_t *times) const {
  uint64_t now = gpu::hostNow();
  for (size_t i = 0; i < std::min(timing_.count(), timed_.size()); ++i)
    times[timed_[i]] = timing_.read(i, now);
}

} // namespace backplane::cuda
