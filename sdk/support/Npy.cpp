// SPDX-License-Identifier: Apache-2.0
#include "Npy.h"
#include "AtomicFile.h"
#include "ReadableText.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sys/stat.h>

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
    {BP_DTYPE_F8E4M3FNUZ, "f8e4m3fnuz", 1, "|u1"},
    {BP_DTYPE_F8E5M2FNUZ, "f8e5m2fnuz", 1, "|u1"},
    {BP_DTYPE_F8E8M0FNU, "f8e8m0fnu", 1, "|u1"},
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

/// What the dictionary of a header says.
struct NpyHeader {
  std::optional<std::string> descr;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<int64_t>> shape;
};

/// Reads the dictionary, which is a literal of Python: the three keys, each
/// once, in any order, and nothing else.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  /// None when it is not as it should be.
  std::optional<NpyHeader> parse() {
    NpyHeader header;
    bool good = take('{');
    while (good && !take('}')) {
      good = member(header);
      if (good && !take(',')) {
        good = take('}');
        break;
      }
    }
    skip();
    if (!good || !rest_.empty() || !header.descr || !header.fortranOrder ||
        !header.shape)
      return std::nullopt;
    return header;
  }

private:
  void skip() {
    size_t at = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(std::min(at, rest_.size()));
  }
  bool take(std::string_view word) {
    skip();
    bool found = rest_.starts_with(word);
    if (found)
      rest_.remove_prefix(word.size());
    return found;
  }
  bool take(char letter) { return take(std::string_view(&letter, 1)); }

  /// A text in quotes without escapes.
  std::optional<std::string> text() {
    skip();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"'))
      return std::nullopt;
    size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string found(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return found;
  }

  std::optional<int64_t> size() {
    skip();
    int64_t value = 0;
    auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || rest_[0] == '-' ||
        (rest_[0] == '0' && end != rest_.data() + 1))
      return std::nullopt;
    rest_.remove_prefix(size_t(end - rest_.data()));
    return value;
  }

  /// A tuple: (), (3,) or (3, 4) with a comma behind it or not.
  std::optional<std::vector<int64_t>> shape() {
    constexpr size_t maxRank = 64;
    std::vector<int64_t> dims;
    if (!take('('))
      return std::nullopt;
    bool comma = true;
    while (!take(')')) {
      std::optional<int64_t> dim = comma ? size() : std::nullopt;
      if (!dim || dims.size() == maxRank)
        return std::nullopt;
      dims.push_back(*dim);
      comma = take(',');
    }
    if (dims.size() == 1 && !comma) // a number in parentheses is no tuple
      return std::nullopt;
    return dims;
  }

  std::optional<bool> boolean() {
    if (take("True"))
      return true;
    return take("False") ? std::optional(false) : std::nullopt;
  }

  bool member(NpyHeader &header) {
    std::optional<std::string> key = text();
    if (!key || !take(':'))
      return false;
    if (*key == "descr" && !header.descr)
      return (header.descr = text()).has_value();
    if (*key == "fortran_order" && !header.fortranOrder)
      return (header.fortranOrder = boolean()).has_value();
    if (*key == "shape" && !header.shape)
      return (header.shape = shape()).has_value();
    return false;
  }

  std::string_view rest_;
};

/// Reads the header up to the data; gives its dictionary text.
Result<std::string> readHeader(std::istream &file, const std::string &path) {
  unsigned char magic[8];
  if (!file.read(reinterpret_cast<char *>(magic), 8) ||
      std::memcmp(magic, "\x93NUMPY", 6) != 0)
    return invalidArgument("'" + path + "' is not a .npy file");
  unsigned lengthBytes = magic[6] == 1 ? 2 : 4;
  unsigned char raw[4] = {};
  if (magic[6] < 1 || magic[6] > 3 || magic[7] != 0)
    return invalidArgument(
        "'" + path + "' has the .npy version " + std::to_string(magic[6]) +
        "." + std::to_string(magic[7]) + ", there are 1.0, 2.0 and 3.0");
  if (!file.read(reinterpret_cast<char *>(raw), lengthBytes))
    return invalidArgument("'" + path + "' ends inside its .npy header");
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

bool holdsDType(bp_dtype_t stored, bp_dtype_t wanted) {
  const DTypeRow *row = findRow(stored), *bits = findRow(wanted);
  bool isUnsigned = stored == BP_DTYPE_U16 || stored == BP_DTYPE_U8;
  return stored == wanted ||
         (isUnsigned && bits && std::string_view(row->npy) == bits->npy);
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

namespace {

Result<uint64_t> denseSize(bp_dtype_t dtype, const std::vector<int64_t> &dims) {
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
  return empty ? 0 : size;
}

} // namespace

Status Tensor::shrink(std::vector<int64_t> dims) {
  Result<uint64_t> size = denseSize(dtype_, dims);
  if (!size)
    return size.status();
  if (*size > size_)
    return invalidArgument("a tensor of shape " + shapeText(dims) +
                           " does not fit in " + std::to_string(size_) +
                           " bytes");
  dims_ = std::move(dims);
  size_ = *size;
  return {};
}

Result<Tensor> Tensor::create(bp_dtype_t dtype, std::vector<int64_t> dims) {
  Result<uint64_t> size = denseSize(dtype, dims);
  if (!size)
    return size.status();
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  tensor.size_ = *size;
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
  // A pipe must not be waited for, and a device has no end.
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0)
    return notFound("cannot open '" + path + "': " + std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return invalidArgument("'" + path + "' is no regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return notFound("cannot open '" + path + "': " + std::strerror(errno));
  return readNpy(file, path);
}

/// The dtype of a descr: '<f4', or '|i1', '<i1' and the like for one byte.
static const DTypeRow *rowOf(std::string_view descr) {
  for (const DTypeRow &row : dtypeRows) {
    std::string_view own = row.npy;
    bool ordered = !descr.empty() && (descr[0] == own[0] || descr[0] == '=' ||
                                      (own[0] == '|' && descr[0] == '<'));
    if (ordered && descr.substr(1) == own.substr(1))
      return &row;
  }
  return nullptr;
}

/// Bytes of elements of this size; the largest number when they overflow.
static uint64_t bytesOf(uint64_t bytes, const std::vector<int64_t> &dims) {
  if (std::ranges::find(dims, 0) != dims.end())
    return 0;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(bytes, uint64_t(dim), &bytes))
      return UINT64_MAX;
  return bytes;
}

Result<Tensor> readNpy(std::istream &file, const std::string &path) {
  Result<std::string> text = readHeader(file, path);
  if (!text)
    return text.status();
  std::optional<NpyHeader> header = HeaderParser(*text).parse();
  if (!header)
    return invalidArgument(
        "'" + path + "' has a damaged .npy header: " + readable(*text) +
        " is not the dictionary of descr, fortran_order and shape");
  const DTypeRow *row = rowOf(*header->descr);
  if (!row)
    return unimplemented("'" + path + "' has dtype '" + *header->descr +
                         "', which is not a little-endian number or bool");
  if (*header->fortranOrder && header->shape->size() > 1)
    return unimplemented("'" + path +
                         "' is in Fortran order; save it with "
                         "numpy.ascontiguousarray");
  // Shapes claim, files prove: look before allocating.
  auto start = file.tellg();
  file.seekg(0, std::ios::end);
  auto available = uint64_t(file.tellg() - start);
  file.seekg(start);
  if (!file || bytesOf(row->bytes, *header->shape) != available)
    return invalidArgument("'" + path + "' has shape " +
                           shapeText(*header->shape) + " but " +
                           std::to_string(available) + " bytes of data");
  Result<Tensor> tensor = Tensor::create(row->dtype, std::move(*header->shape));
  if (!tensor)
    return tensor;
  if (!file.read(reinterpret_cast<char *>(tensor->data()),
                 std::streamsize(tensor->size())))
    return dataLoss("cannot read '" + path + "' to its end");
  return tensor;
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
  auto length = uint16_t(header.size());
  std::string front = std::string("\x93NUMPY\x01\x00", 8) + char(length & 255) +
                      char(length >> 8) + header;
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  Status status = file->write(front.data(), front.size());
  if (status.ok())
    status = file->write(tensor.data(), tensor.size());
  return status.ok() ? file->commit() : status;
}

} // namespace backplane
