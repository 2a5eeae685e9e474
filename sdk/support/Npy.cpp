// SPDX-License-Identifier: Apache-2.0
#include "Npy.h"
#include "AtomicFile.h"
#include "DType.h"
#include "NpyHeader.h"
#include "ReadableText.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/stat.h>

namespace backplane {
namespace {

/// Whether files have a name for a dtype.
bool hasDescr(DType dtype) {
  return bitWidth(dtype) >= 8 && !isStoredFloat(dtype) && dtype != DType::BF16;
}

/// The descr that is written: '<f4', '|i1'. What has none is the unsigned
/// integers of its bits.
std::string descrOf(DType dtype) {
  char kind = !hasDescr(dtype) || isUnsignedInteger(dtype) ? 'u'
              : isFloat(dtype)                             ? 'f'
              : isSignedInteger(dtype)                     ? 'i'
                                                           : 'b';
  unsigned bytes = bitWidth(dtype) / 8;
  return (bytes == 1 ? "|" : "<") + (kind + std::to_string(bytes));
}

/// The dtype of a descr: '<f4', or '|i1', '<i1' and the like for one byte.
std::optional<DType> dtypeOf(std::string_view descr) {
  for (uint32_t number = 1; number < BP_DTYPE_COUNT_; ++number) {
    if (!hasDescr(DType(number)))
      continue;
    std::string own = descrOf(DType(number));
    bool ordered = !descr.empty() && (descr[0] == own[0] || descr[0] == '=' ||
                                      (own[0] == '|' && descr[0] == '<'));
    if (ordered && descr.substr(1) == own.substr(1))
      return DType(number);
  }
  return std::nullopt;
}

/// Bytes of elements of this size; the largest number when they overflow.
uint64_t bytesOf(uint64_t bytes, const std::vector<int64_t> &dims) {
  if (std::ranges::find(dims, 0) != dims.end())
    return 0;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(bytes, uint64_t(dim), &bytes))
      return UINT64_MAX;
  return bytes;
}

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

bool holdsDType(bp_dtype_t stored, bp_dtype_t wanted) {
  bool isUnsigned = stored == BP_DTYPE_U16 || stored == BP_DTYPE_U8;
  return stored == wanted ||
         (isUnsigned && descrOf(DType(wanted)) == descrOf(DType(stored)));
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

Result<Tensor> readNpy(std::istream &file, const std::string &path) {
  Result<std::string> text = readHeader(file, path);
  if (!text)
    return text.status();
  std::optional<NpyHeader> header = parseNpyHeader(*text);
  if (!header)
    return invalidArgument(
        "'" + path + "' has a damaged .npy header: " + readable(*text) +
        " is not the dictionary of descr, fortran_order and shape");
  std::optional<DType> dtype = dtypeOf(*header->descr);
  if (!dtype)
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
  if (!file || bytesOf(bitWidth(*dtype) / 8, *header->shape) != available)
    return invalidArgument("'" + path + "' has shape " +
                           shapeText(*header->shape) + " but " +
                           std::to_string(available) + " bytes of data");
  Result<Tensor> tensor =
      Tensor::create(bp_dtype_t(*dtype), std::move(*header->shape));
  if (!tensor)
    return tensor;
  if (!file.read(reinterpret_cast<char *>(tensor->data()),
                 std::streamsize(tensor->size())))
    return dataLoss("cannot read '" + path + "' to its end");
  return tensor;
}

Status writeNpy(const std::string &path, const Tensor &tensor) {
  if (!elementBytes(tensor.dtype()))
    return unimplemented(dtypeName(tensor.dtype()) +
                         " tensors cannot be held by files");
  std::string dims = "(";
  for (int64_t dim : tensor.dims())
    dims += std::to_string(dim) + ", ";
  std::string header = "{'descr': '" + descrOf(DType(tensor.dtype())) +
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
