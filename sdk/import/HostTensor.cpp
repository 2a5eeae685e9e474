// SPDX-License-Identifier: Apache-2.0
#include "HostTensor.h"
#include "sdk/support/TextViews.h"

#include <charconv>

namespace backplane::frontend {

size_t HostTensor::count() const {
  size_t total = 1;
  for (int64_t dim : dims)
    total *= static_cast<size_t>(dim);
  return total;
}

TensorType HostTensor::type() const {
  return TensorType{dtype, Dims(dims.begin(), dims.end())};
}

Result<DType> dtypeOf(int onnxType) {
  using T = onnx::TensorProto;
  static constexpr std::pair<int, DType> dtypes[] = {
      {T::FLOAT, DType::F32},
      {T::DOUBLE, DType::F64},
      {T::FLOAT16, DType::F16},
      {T::BFLOAT16, DType::BF16},
      {T::FLOAT8E4M3FN, DType::F8E4M3FN},
      {T::FLOAT8E5M2, DType::F8E5M2},
      {T::FLOAT8E4M3FNUZ, DType::F8E4M3FNUZ},
      {T::FLOAT8E5M2FNUZ, DType::F8E5M2FNUZ},
      {T::FLOAT8E8M0, DType::F8E8M0FNU},
      {T::FLOAT4E2M1, DType::F4E2M1FN},
      {T::INT64, DType::I64},
      {T::INT32, DType::I32},
      {T::INT16, DType::I16},
      {T::INT8, DType::I8},
      {T::INT4, DType::I4},
      {T::UINT64, DType::U64},
      {T::UINT32, DType::U32},
      {T::UINT16, DType::U16},
      {T::UINT8, DType::U8},
      {T::UINT4, DType::U4},
      {T::BOOL, DType::Bool},
  };
  for (auto [known, dtype] : dtypes)
    if (known == onnxType)
      return dtype;
  std::string name = T::DataType_IsValid(onnxType)
                         ? T::DataType_Name(static_cast<T::DataType>(onnxType))
                         : std::to_string(onnxType);
  return unimplemented("element type " + name + " is not supported");
}

Result<int64_t> elementCount(std::span<const int64_t> dims) {
  bool empty = false;
  __int128 total = 1;
  for (int64_t dim : dims) {
    if (dim < 0)
      return invalidArgument("the size " + std::to_string(dim) +
                             " is negative");
    empty |= dim == 0;
    // Zeros are left out, so that every other size is checked too.
    total *= dim == 0 ? 1 : dim;
    if (total > kMaxElements)
      return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                    "a tensor has more than 2^46 elements");
  }
  return empty ? 0 : static_cast<int64_t>(total);
}

namespace {

/// A number of an external_data entry.
Result<uint64_t> parseNumber(const std::string &key, const std::string &text) {
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return invalidArgument("external data has the " + key + " '" + text +
                           "', which is not a number");
  return value;
}

Result<OwnedBytes> readExternal(const onnx::TensorProto &proto,
                                ModelFolder &folder) {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto &entry : proto.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      Result<uint64_t> number = parseNumber(entry.key(), entry.value());
      if (!number.ok())
        return number.status();
      if (entry.key() == "offset")
        offset = *number;
      else
        length = *number;
    } else if (entry.key() != "checksum") {
      return unimplemented("external data has the unknown key '" + entry.key() +
                           "'");
    }
  }
  return folder.read(location, offset, length);
}

template <typename T>
OwnedBytes ownedBytes(const google::protobuf::RepeatedField<T> &field,
                      const std::shared_ptr<const void> &owner) {
  return OwnedBytes{{reinterpret_cast<const uint8_t *>(field.data()),
                     static_cast<size_t>(field.size()) * sizeof(T)},
                    owner};
}

/// The low `size` bytes of each entry: how ONNX stores narrow types.
template <typename T>
OwnedBytes narrowed(const google::protobuf::RepeatedField<T> &field,
                    size_t size) {
  auto bytes = std::make_shared<Bytes>();
  bytes->reserve(static_cast<size_t>(field.size()) * size);
  for (T entry : field)
    for (size_t i = 0; i < size; ++i)
      bytes->push_back(
          static_cast<uint8_t>(static_cast<uint64_t>(entry) >> (8 * i)));
  return OwnedBytes{*bytes, bytes};
}

/// The typed field that the dtype prescribes.
OwnedBytes readTyped(const onnx::TensorProto &proto, DType dtype,
                     const std::shared_ptr<const void> &owner) {
  switch (dtype) {
  case DType::F32:
    return ownedBytes(proto.float_data(), owner);
  case DType::F64:
    return ownedBytes(proto.double_data(), owner);
  case DType::I64:
    return ownedBytes(proto.int64_data(), owner);
  case DType::I32:
    return ownedBytes(proto.int32_data(), owner);
  case DType::U64:
    return ownedBytes(proto.uint64_data(), owner);
  case DType::U32:
    return narrowed(proto.uint64_data(), 4);
  case DType::F16:
  case DType::BF16:
  case DType::I16:
  case DType::U16:
    return narrowed(proto.int32_data(), 2);
  default:
    // 4-bit types: each entry holds two elements in its low byte.
    return narrowed(proto.int32_data(), 1);
  }
}

/// Whether a typed field other than the one of the dtype has entries.
bool hasForeignData(const onnx::TensorProto &proto, DType dtype) {
  bool f32 = dtype == DType::F32, f64 = dtype == DType::F64;
  bool i64 = dtype == DType::I64;
  bool u64 = dtype == DType::U64 || dtype == DType::U32;
  bool i32 = !f32 && !f64 && !i64 && !u64;
  return (proto.float_data_size() && !f32) ||
         (proto.double_data_size() && !f64) ||
         (proto.int64_data_size() && !i64) ||
         (proto.uint64_data_size() && !u64) ||
         (proto.int32_data_size() && !i32) || proto.string_data_size();
}

Result<OwnedBytes> readBytes(const onnx::TensorProto &proto, DType dtype,
                             std::optional<std::span<const uint8_t>> raw,
                             ModelFolder &folder,
                             const std::shared_ptr<const void> &owner) {
  if (proto.has_segment())
    return unimplemented("a tensor in segments is not supported");
  bool external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  if (!raw && proto.has_raw_data()) {
    const std::string &text = proto.raw_data();
    raw = asBytes(text);
  }
  bool typed = proto.float_data_size() || proto.double_data_size() ||
               proto.int64_data_size() || proto.uint64_data_size() ||
               proto.int32_data_size() || proto.string_data_size();
  if (external + raw.has_value() + typed > 1)
    return invalidArgument("a tensor has its data in more than one place");
  if (hasForeignData(proto, dtype))
    return invalidArgument("the data field does not fit the element type " +
                           std::string(name(dtype)));
  if (external)
    return readExternal(proto, folder);
  if (raw)
    return OwnedBytes{*raw, owner};
  return readTyped(proto, dtype, owner);
}

} // namespace

Result<HostTensor> readTensor(const onnx::TensorProto &proto,
                              std::optional<std::span<const uint8_t>> raw,
                              ModelFolder &folder,
                              const std::shared_ptr<const void> &owner) {
  Result<DType> dtype = dtypeOf(proto.data_type());
  if (!dtype.ok())
    return dtype.status();
  HostTensor tensor{*dtype, {proto.dims().begin(), proto.dims().end()}, {}};
  Result<int64_t> count = elementCount(tensor.dims);
  if (!count.ok())
    return count.status();
  Result<OwnedBytes> bytes = readBytes(proto, *dtype, raw, folder, owner);
  if (!bytes.ok())
    return bytes.status();
  tensor.data = *bytes;
  size_t size = (static_cast<size_t>(*count) * bitWidth(*dtype) + 7) / 8;
  if (bytes->bytes.size() != size)
    return invalidArgument(tensor.type().str() + " needs " +
                           std::to_string(size) + " bytes, but there are " +
                           std::to_string(bytes->bytes.size()));
  if (*dtype == DType::Bool)
    for (uint8_t byte : bytes->bytes)
      if (byte > 1)
        return invalidArgument("a bool is stored as " + std::to_string(byte) +
                               ", but must be 0 or 1");
  return tensor;
}

} // namespace backplane::frontend
