// SPDX-License-Identifier: Apache-2.0
//
// Dlpack.cpp: value.h, tensors of other frameworks. The structs and codes are
// those of DLPack 1 (https://dmlc.github.io/dlpack/latest/c_api.html).
#include "Arguments.h"
#include "ValueCall.h"
#include "hal/core/Tables.h"

using namespace backplane;
using namespace backplane::rt;

namespace {

enum : uint8_t {
  Int,
  UInt,
  Float,
  Bfloat = 4,
  Bool = 6,
  E4M3FN = 10,
  E4M3FNUZ = 11,
  E5M2 = 12,
  E5M2FNUZ = 13,
  E8M0FNU = 14,
  E2M1FN = 17
};
enum : int32_t { Cpu = 1, PinnedCuda = 3, PinnedRocm = 11 };
constexpr uint32_t knownMajor = 1;
constexpr uint64_t readOnlyFlag = 1, paddedFlag = 4;

struct DLDevice {
  int32_t type, id;
};

struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct DLTensor {
  void *data;
  DLDevice device;
  int32_t rank;
  DLDataType dtype;
  int64_t *dims, *strides; ///< strides in elements, may be null
  uint64_t byteOffset;
};

} // namespace

struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor tensor;
};

namespace {

struct TypePair {
  bp_dtype_t ours;
  uint8_t code, bits;
};

constexpr TypePair types[] = {
    {BP_DTYPE_F64, Float, 64},
    {BP_DTYPE_F32, Float, 32},
    {BP_DTYPE_F16, Float, 16},
    {BP_DTYPE_BF16, Bfloat, 16},
    {BP_DTYPE_F8E4M3FN, E4M3FN, 8},
    {BP_DTYPE_F8E5M2, E5M2, 8},
    {BP_DTYPE_I64, Int, 64},
    {BP_DTYPE_I32, Int, 32},
    {BP_DTYPE_I16, Int, 16},
    {BP_DTYPE_I8, Int, 8},
    {BP_DTYPE_I4, Int, 4},
    {BP_DTYPE_U64, UInt, 64},
    {BP_DTYPE_U32, UInt, 32},
    {BP_DTYPE_U16, UInt, 16},
    {BP_DTYPE_U8, UInt, 8},
    {BP_DTYPE_U4, UInt, 4},
    {BP_DTYPE_BOOL, Bool, 8},
    {BP_DTYPE_F8E4M3FNUZ, E4M3FNUZ, 8},
    {BP_DTYPE_F8E5M2FNUZ, E5M2FNUZ, 8},
    {BP_DTYPE_F8E8M0FNU, E8M0FNU, 8},
    {BP_DTYPE_F4E2M1FN, E2M1FN, 4},
};

Result<bp_dtype_t> dtypeOf(const DLManagedTensorVersioned &tensor) {
  const DLDataType &type = tensor.tensor.dtype;
  std::string text = "DLPack type code " + std::to_string(type.code) + ", " +
                     std::to_string(type.bits) + " bits, " +
                     std::to_string(type.lanes) + " lanes";
  if (type.bits < 8 && (tensor.flags & paddedFlag))
    return unimplemented(text + ", each element in a byte of its own");
  for (const TypePair &pair : types)
    if (type.lanes == 1 && pair.code == type.code && pair.bits == type.bits)
      return pair.ours;
  return unimplemented(text + " has no counterpart here");
}

Status checkTensor(const DLManagedTensorVersioned &tensor) {
  if (tensor.major != knownMajor)
    return unimplemented("the tensor is of DLPack " +
                         std::to_string(tensor.major) + "." +
                         std::to_string(tensor.minor) + ", version 1 is known");
  int32_t device = tensor.tensor.device.type;
  if (device != Cpu && device != PinnedCuda && device != PinnedRocm)
    return unimplemented("the tensor is on a device of DLPack type " +
                         std::to_string(device) +
                         ", whose memory the host does not see; move it to "
                         "the host first");
  if (tensor.tensor.rank < 0)
    return invalidArgument("the tensor has rank " +
                           std::to_string(tensor.tensor.rank));
  return {};
}

void releaseTensor(void *context) {
  auto *tensor = static_cast<DLManagedTensorVersioned *>(context);
  if (tensor->deleter)
    tensor->deleter(tensor);
}

Result<bp_value_t> fromDlpack(DLManagedTensorVersioned &tensor) {
  if (Status s = checkTensor(tensor); !s.ok())
    return s;
  Result<bp_dtype_t> dtype = dtypeOf(tensor);
  if (!dtype)
    return dtype.status();
  bp_value_t value = {BP_HEADER(bp_value_t)};
  value.kind = BP_VALUE_TENSOR;
  value.flags = tensor.flags & readOnlyFlag ? BP_VALUE_READ_ONLY : 0;
  value.dtype = *dtype;
  value.rank = uint32_t(tensor.tensor.rank);
  value.dims = tensor.tensor.dims;
  value.strides = tensor.tensor.strides;
  value.byte_offset = tensor.tensor.byteOffset;
  value.data = tensor.tensor.data;
  Strided layout{{value.dims, value.rank},
                 {value.strides, value.strides ? value.rank : 0}};
  if (layout.dense())
    value.strides = nullptr;
  value.release = releaseTensor;
  value.context = &tensor;
  return value;
}

/// A value as a tensor, with what the tensor points to.
struct Exported {
  DLManagedTensorVersioned tensor;
  bp_value_t value;
  std::vector<int64_t> dims, strides;

  static void destroy(DLManagedTensorVersioned *self) {
    auto *exported = static_cast<Exported *>(self->context);
    if (exported->value.release)
      exported->value.release(exported->value.context);
    delete exported;
  }
};

/// Where the host sees the start of a value's memory.
Result<void *> hostPointer(const ValueTensor &tensor) {
  if (!tensor.buffer)
    return tensor.value.data;
  if (void *mapped = tensor.buffer->map())
    return mapped;
  return unimplemented("the host does not see memory of " +
                       tensor.buffer->device().uri() +
                       "; read it with bp_device_buffer_read");
}

Status isReady(const bp_value_t &value) {
  if (!value.ready)
    return {};
  if (Status s = isHandle(value.ready); !s.ok())
    return s;
  const Timeline &timeline = *value.ready->timeline;
  if (Status s = timeline.failure(); !s.ok())
    return s;
  return timeline.value() < value.ready_value
             ? Status(BP_STATUS_FAILED_PRECONDITION,
                      "the value is not ready; wait for it first")
             : Status();
}

std::unique_ptr<Exported> exportTensor(const ValueTensor &tensor, void *data) {
  const bp_value_t &value = tensor.value;
  auto exported = std::make_unique<Exported>();
  exported->value = value;
  exported->dims.assign(value.dims, value.dims + value.rank);
  exported->strides.assign(value.rank, 1);
  for (size_t axis = value.rank; axis-- > 0;)
    if (value.strides)
      exported->strides[axis] = value.strides[axis];
    else if (axis + 1 < value.rank)
      exported->strides[axis] =
          exported->strides[axis + 1] * exported->dims[axis + 1];
  DLManagedTensorVersioned &out = exported->tensor;
  out = {knownMajor,
         0,
         exported.get(),
         &Exported::destroy,
         value.flags & BP_VALUE_READ_ONLY ? readOnlyFlag : 0,
         {}};
  out.tensor = {data,
                {Cpu, 0},
                int32_t(value.rank),
                {},
                exported->dims.data(),
                exported->strides.data(),
                value.byte_offset};
  for (const TypePair &pair : types)
    if (pair.ours == value.dtype)
      out.tensor.dtype = {pair.code, pair.bits, 1};
  return exported;
}

} // namespace

bp_status_t bp_value_from_dlpack(DLManagedTensorVersioned *tensor,
                                 bp_value_t *out_value, bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s =
            firstOf({needs(tensor, "tensor"), needs(out_value, "out_value")});
        !s.ok())
      return s;
    Result<bp_value_t> value = fromDlpack(*tensor);
    if (!value)
      return value.status();
    if (Result<ValueTensor> checked = readTensor(*value); !checked)
      return checked.status();
    *out_value = *value;
    return {};
  });
}

bp_status_t bp_value_to_dlpack(const bp_value_t *value,
                               DLManagedTensorVersioned **out_tensor,
                               bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    bp_value_t copy;
    if (Status s =
            firstOf({needs(value, "value"), needs(out_tensor, "out_tensor")});
        !s.ok())
      return s;
    if (Status s = copyStruct(value, bp_value_t_TYPE, "value", copy); !s.ok())
      return s;
    if (copy.kind != BP_VALUE_TENSOR)
      return invalidArgument("only a tensor has a DLPack form");
    Result<ValueTensor> tensor = readTensor(copy);
    if (!tensor)
      return tensor.status();
    if (Status s = isReady(copy); !s.ok())
      return s;
    Result<void *> data = hostPointer(*tensor);
    if (!data)
      return data.status();
    *out_tensor = &exportTensor(*tensor, *data).release()->tensor;
    return {};
  });
}
