// SPDX-License-Identifier: Apache-2.0
//
// Value.cpp: value.h, calls with values; and what a tensor of an application
// is.
#include "Arguments.h"
#include "ValueCall.h"
#include "hal/runtime/Signature.h"

#include <cstring>

using namespace backplane;
using namespace backplane::rt;

namespace {

/// Memory of exactly one kind, and enough of it.
Status checkMemory(const ValueTensor &tensor) {
  const bp_value_t &value = tensor.value;
  if (value.data && value.buffer)
    return invalidArgument("it has data and a buffer");
  if (!value.data && !value.buffer && tensor.bytes)
    return invalidArgument("it has neither data nor a buffer");
  Extent extent{0, int64_t(tensor.bytes)};
  if (tensor.elementBytes) {
    Result<Extent> found = tensor.layout().extent();
    if (!found)
      return found.status();
    if (!tensor.dense())
      extent = *found;
  }
  if (!tensor.buffer)
    return {};
  uint64_t size = tensor.buffer->size(), first = value.byte_offset;
  if (first > size || uint64_t(-extent.low) > first ||
      uint64_t(extent.high) > size - first)
    return Status(BP_STATUS_OUT_OF_RANGE,
                  "bytes " + std::to_string(extent.low) + " to " +
                      std::to_string(extent.high) + " around offset " +
                      std::to_string(first) + " lie outside of a buffer of " +
                      std::to_string(size) + " bytes");
  return {};
}

Status checkDims(const bp_value_t &value) {
  if (value.dtype == BP_DTYPE_INVALID || value.dtype >= BP_DTYPE_COUNT_)
    return invalidArgument("dtype " + std::to_string(value.dtype) +
                           " is unknown");
  if (value.rank > maxRank)
    return invalidArgument("rank " + std::to_string(value.rank) + ", at most " +
                           std::to_string(maxRank) + " are possible");
  if (value.rank && !value.dims)
    return invalidArgument("dims is NULL");
  bool narrow = bitWidth(DType(value.dtype)) < 8;
  return value.strides && narrow
             ? invalidArgument("elements of less than a byte have no strides")
             : Status();
}

} // namespace

Strided ValueTensor::layout() const {
  return {{value.dims, value.rank},
          {value.strides, value.strides ? value.rank : 0},
          elementBytes};
}

Status ValueTensor::read(uint8_t *to) const {
  bool whole = dense();
  if (!buffer) {
    if (whole && bytes)
      std::memcpy(to, data(), bytes);
    else if (!whole)
      layout().pack(data(), to);
    return {};
  }
  if (whole)
    return buffer->read(value.byte_offset, {to, bytes});
  Extent extent = *layout().extent();
  HostMemory span(extent.bytes());
  Status status =
      buffer->read(value.byte_offset + uint64_t(extent.low), span.span());
  if (status.ok())
    layout().pack(span.data() - extent.low, to);
  return status;
}

Status ValueTensor::write(const uint8_t *from) const {
  bool whole = dense();
  if (!buffer) {
    if (whole && bytes)
      std::memcpy(data(), from, bytes);
    else if (!whole)
      layout().unpack(from, data());
    return {};
  }
  if (whole)
    return buffer->write(value.byte_offset, {from, bytes});
  Extent extent = *layout().extent();
  uint64_t offset = value.byte_offset + uint64_t(extent.low);
  HostMemory span(extent.bytes());
  if (Status s = buffer->read(offset, span.span()); !s.ok())
    return s;
  layout().unpack(from, span.data() - extent.low);
  return buffer->write(offset, span.span());
}

Result<ValueTensor> rt::readTensor(const bp_value_t &value) {
  ValueTensor tensor;
  tensor.value = value;
  if (Status s = checkDims(value); !s.ok())
    return s;
  Result<uint64_t> bytes =
      denseBytes(DType(value.dtype), {value.dims, value.rank});
  if (!bytes)
    return bytes.status();
  tensor.bytes = *bytes;
  tensor.elementBytes = bitWidth(DType(value.dtype)) / 8;
  if (value.buffer) {
    if (Status s = isHandle(value.buffer); !s.ok())
      return s;
    tensor.buffer = value.buffer->buffer;
  }
  if (Status s = checkMemory(tensor); !s.ok())
    return s;
  return tensor;
}

namespace {

Status checkCall(const bp_session_t *session, const bp_value_t *const *inputs,
                 uint32_t inputCount, bp_value_t *const *outputs,
                 uint32_t outputCount) {
  return firstOf({isHandle(session),
                  isArray(inputs, inputCount, UINT32_MAX, "inputs"),
                  isArray(outputs, outputCount, UINT32_MAX, "outputs")});
}

} // namespace

bp_status_t bp_session_run_values(bp_session_t *session,
                                  const bp_value_t *const *inputs,
                                  uint32_t input_count,
                                  bp_value_t *const *outputs,
                                  uint32_t output_count, bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s =
            checkCall(session, inputs, input_count, outputs, output_count);
        !s.ok())
      return s;
    TraceScope scope(session->session->trace(), "call");
    auto call = beginValues(session->session, {inputs, input_count},
                            {outputs, output_count}, true);
    if (!call)
      return call.status();
    AnyCall &running = **call;
    return running.finish(std::move(*call));
  });
}

bp_status_t bp_session_submit_values(bp_session_t *session,
                                     const bp_value_t *const *inputs,
                                     uint32_t input_count,
                                     bp_value_t *const *outputs,
                                     uint32_t output_count,
                                     bp_call_t **out_call, bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s =
            checkCall(session, inputs, input_count, outputs, output_count);
        !s.ok())
      return s;
    if (Status s = needs(out_call, "out_call"); !s.ok())
      return s;
    auto handle = std::make_unique<bp_call_t>();
    auto call = beginValues(session->session, {inputs, input_count},
                            {outputs, output_count}, false);
    if (!call)
      return call.status();
    handle->call = std::move(*call);
    *out_call = handle.release();
    return {};
  });
}
