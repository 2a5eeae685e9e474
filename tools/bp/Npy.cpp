// SPDX-License-Identifier: Apache-2.0
#include "Npy.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <unistd.h>

namespace backplane {
namespace {

struct DTypeRow {
  bp_dtype_t dtype;
  const char *name;
  uint64_t bytes;
  const char *npy; ///< the descr that is written
};

constexpr DTypeRow dtypeRows[] = {
    {BP_DTYPE_F64, "f64", 8, "<f8"},
    {BP_DTYPE_F32, "f32", 4, "<f4"},
    {BP_DTYPE_F16, "f16", 2, "<f2"},
    {BP_DTYPE_I64, "i64", 8, "<i8"},
    {BP_DTYPE_I32, "i32", 4, "<i4"},
    {BP_DTYPE_I16, "i16", 2, "<i2"},
    {BP_DTYPE_I8, "i8", 1, "|i1"},
    {BP_DTYPE_U64, "u64", 8, "<u8"},
    {BP_DTYPE_U32, "u32", 4, "<u4"},
    {BP_DTYPE_U16, "u16", 2, "<u2"},
    {BP_DTYPE_U8, "u8", 1, "|u1"},
    {BP_DTYPE_BOOL, "bool", 1, "|b1"},
    {BP_DTYPE_BF16, "bf16", 2, "<u2"},
    {BP_DTYPE_F8E4M3FN, "f8e4m3fn", 1, "|u1"},
    {BP_DTYPE_F8E5M2, "f8e5m2", 1, "|u1"},
};

const DTypeRow *findRow(bp_dtype_t dtype) {
  for (const DTypeRow &row : dtypeRows)
    if (row.dtype == dtype)
      return &row;
  return nullptr;
}

float halfToFloat(uint16_t bits) {
  int exponent = (bits >> 10) & 31;
  int fraction = bits & 1023;
  float magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                    : exponent == 0
                        ? std::ldexp(float(fraction), -24)
                        : std::ldexp(float(fraction + 1024), exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

template <typename T> T load(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// The text after `'key':` of the header dictionary, up to the next comma that
/// is not inside parentheses.
std::string_view dictionaryValue(std::string_view header,
                                 std::string_view key) {
  std::string quoted = "'" + std::string(key) + "'";
  size_t at = header.find(quoted);
  if (at == std::string_view::npos)
    return {};
  at = header.find(':', at + quoted.size());
  if (at == std::string_view::npos)
    return {};
  size_t begin = header.find_first_not_of(' ', at + 1);
  if (begin == std::string_view::npos)
    return {};
  size_t end = header[begin] == '(' ? header.find(')', begin) + 1
                                    : header.find_first_of(",}", begin);
  return end <= begin ? std::string_view() : header.substr(begin, end - begin);
}

std::optional<std::vector<int64_t>> parseShape(std::string_view text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')')
    return std::nullopt;
  std::vector<int64_t> dims;
  const char *at = text.data() + 1, *end = text.data() + text.size() - 1;
  while (at != end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t dim = 0;
    auto [next, error] = std::from_chars(at, end, dim);
    if (error != std::errc() || dim < 0 || dims.size() >= 64)
      return std::nullopt;
    dims.push_back(dim);
    at = next;
  }
  return dims;
}

/// Reads the header up to the data; gives its dictionary text.
Result<std::string> readHeader(std::istream &file, const std::string &path) {
  unsigned char magic[8];
  if (!file.read(reinterpret_cast<char *>(magic), 8) ||
      std::memcmp(magic, "\x93NUMPY", 6) != 0)
    return invalidArgument("'" + path + "' is not a .npy file");
  unsigned lengthBytes = magic[6] == 1 ? 2 : 4;
  unsigned char raw[4] = {};
  if (magic[6] < 1 || magic[6] > 3 ||
      !file.read(reinterpret_cast<char *>(raw), lengthBytes))
    return invalidArgument("'" + path + "' has an unknown .npy version " +
                           std::to_string(magic[6]));
  uint32_t length =
      raw[0] | raw[1] << 8 | raw[2] << 16 | uint32_t(raw[3]) << 24;
  if (length > (1u << 20))
    return invalidArgument("'" + path + "' has a .npy header of " +
                           std::to_string(length) + " bytes");
  std::string header(length, '\0');
  if (!file.read(header.data(), length))
    return invalidArgument("'" + path + "' ends inside its .npy header");
  return header;
}

} // namespace

void Tensor::Free::operator()(uint8_t *memory) const { std::free(memory); }

uint64_t elementBytes(bp_dtype_t dtype) {
  const DTypeRow *row = findRow(dtype);
  return row ? row->bytes : 0;
}

std::string dtypeName(bp_dtype_t dtype) {
  const DTypeRow *row = findRow(dtype);
  return row ? row->name : "dtype " + std::to_string(dtype);
}

std::string shapeText(const std::vector<int64_t> &dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

Result<Tensor> Tensor::create(bp_dtype_t dtype, std::vector<int64_t> dims) {
  uint64_t size = elementBytes(dtype);
  if (!size)
    return unimplemented(dtypeName(dtype) + " tensors cannot be held by files");
  bool empty = false;
  for (int64_t dim : dims)
    empty |= dim == 0;
  for (int64_t dim : dims)
    if (dim < 0 ||
        __builtin_mul_overflow(size, uint64_t(empty ? 1 : dim), &size) ||
        size > (1ull << 46))
      return invalidArgument("a tensor of shape " + shapeText(dims) +
                             " is too large");
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  tensor.size_ = empty ? 0 : size;
  uint64_t bytes = (tensor.size_ / 64 + 1) * 64;
  tensor.data_.reset(static_cast<uint8_t *>(std::aligned_alloc(64, bytes)));
  if (!tensor.data_)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED, "no memory for a tensor of " +
                                                    std::to_string(bytes) +
                                                    " bytes");
  std::memset(tensor.data_.get(), 0, bytes);
  return tensor;
}

int64_t Tensor::elements() const {
  if (std::ranges::find(dims_, 0) != dims_.end())
    return 0; // the product of the other dims may not fit
  int64_t count = 1;
  for (int64_t dim : dims_)
    count *= dim;
  return count;
}

double Tensor::number(int64_t index) const {
  const uint8_t *at = data_.get() + index * elementBytes(dtype_);
  switch (dtype_) {
  case BP_DTYPE_F64:
    return load<double>(at);
  case BP_DTYPE_F32:
    return load<float>(at);
  case BP_DTYPE_F16:
    return halfToFloat(load<uint16_t>(at));
  case BP_DTYPE_BF16: {
    uint32_t bits = uint32_t(load<uint16_t>(at)) << 16;
    return load<float>(reinterpret_cast<const uint8_t *>(&bits));
  }
  case BP_DTYPE_I64:
    return double(load<int64_t>(at));
  case BP_DTYPE_I32:
    return load<int32_t>(at);
  case BP_DTYPE_I16:
    return load<int16_t>(at);
  case BP_DTYPE_I8:
    return load<int8_t>(at);
  case BP_DTYPE_U64:
    return double(load<uint64_t>(at));
  case BP_DTYPE_U32:
    return load<uint32_t>(at);
  case BP_DTYPE_U16:
    return load<uint16_t>(at);
  default:
    return *at;
  }
}

Result<Tensor> readNpy(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return notFound("cannot open '" + path + "': " + std::strerror(errno));
  return readNpy(file, path);
}

Result<Tensor> readNpy(std::istream &file, const std::string &path) {
  Result<std::string> header = readHeader(file, path);
  if (!header)
    return header.status();
  std::string_view descr = dictionaryValue(*header, "descr");
  std::string_view order = dictionaryValue(*header, "fortran_order");
  auto dims = parseShape(dictionaryValue(*header, "shape"));
  if (descr.size() < 3 || order.empty() || !dims)
    return invalidArgument("'" + path + "' has a damaged .npy header");
  descr = descr.substr(1, descr.size() - 2);
  if (order != "False" && dims->size() > 1)
    return unimplemented("'" + path +
                         "' is in Fortran order; save it with "
                         "numpy.ascontiguousarray");
  for (const DTypeRow &row : dtypeRows) {
    if (descr.substr(1) != row.npy + 1 || descr[0] == '>')
      continue;
    // Shapes claim, files prove: look before allocating.
    auto start = file.tellg();
    file.seekg(0, std::ios::end);
    uint64_t available = uint64_t(file.tellg() - start), needed = row.bytes;
    file.seekg(start);
    for (int64_t dim : *dims)
      if (__builtin_mul_overflow(needed, uint64_t(dim), &needed))
        needed = UINT64_MAX;
    if (needed != available)
      return invalidArgument("'" + path + "' has shape " + shapeText(*dims) +
                             " but " + std::to_string(available) +
                             " bytes of data");
    Result<Tensor> tensor = Tensor::create(row.dtype, std::move(*dims));
    if (!tensor)
      return tensor;
    if (!file.read(reinterpret_cast<char *>(tensor->data()), tensor->size()))
      return dataLoss("cannot read '" + path + "' to its end");
    return tensor;
  }
  return unimplemented("'" + path + "' has dtype '" + std::string(descr) +
                       "', which is not a little-endian number or bool");
}

Status writeNpy(const std::string &path, const Tensor &tensor) {
  std::string dims = "(";
  for (int64_t dim : tensor.dims())
    dims += std::to_string(dim) + ", ";
  const DTypeRow *row = findRow(tensor.dtype());
  std::string header = std::string("{'descr': '") + row->npy +
                       "', 'fortran_order': False, 'shape': " + dims + "), }";
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  std::string temporary = path + ".tmp" + std::to_string(getpid());
  std::ofstream file(temporary, std::ios::binary);
  uint16_t length = uint16_t(header.size());
  file.write("\x93NUMPY\x01\x00", 8);
  file.put(char(length & 255)).put(char(length >> 8));
  file.write(header.data(), header.size());
  file.write(reinterpret_cast<const char *>(tensor.data()), tensor.size());
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    return Status(BP_STATUS_UNAVAILABLE,
                  "cannot write '" + path + "': " + reason);
  }
  return {};
}

} // namespace backplane
