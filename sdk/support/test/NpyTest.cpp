// SPDX-License-Identifier: Apache-2.0
#include "sdk/support/Npy.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace backplane;

namespace {

/// A file with this dictionary and so many bytes of data.
std::string npy(const std::string &header, size_t data,
                const std::string &version = {"\x01\x00", 2}) {
  std::string length = {char(header.size() & 255), char(header.size() >> 8)};
  if (version[0] != 1)
    length += std::string(2, '\0');
  return "\x93NUMPY" + version + length + header + std::string(data, 'd');
}

Result<Tensor> read(const std::string &bytes) {
  std::istringstream stream(bytes);
  return readNpy(stream, "x.npy");
}

std::string dictionary(const std::string &shape,
                       const std::string &descr = "'<f4'",
                       const std::string &order = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + order +
         ", 'shape': " + shape + ", }";
}

TEST(Npy, EmptyTensorMayHaveHugeDims) {
  int64_t huge = INT64_MAX / 2;
  auto tensor = Tensor::create(BP_DTYPE_F32, {huge, huge, 0, huge});
  ASSERT_TRUE(tensor.ok()) << tensor.message();
  EXPECT_EQ(tensor->elements(), 0);
  EXPECT_EQ(tensor->size(), 0u);
}

TEST(Npy, HugeTensorIsRefused) {
  EXPECT_FALSE(Tensor::create(BP_DTYPE_F32, {INT64_MAX / 2, 8}).ok());
}

TEST(Npy, UnsignedBitsStandForFloatsThatNumpyLacks) {
  for (bp_dtype_t dtype :
       {BP_DTYPE_F8E4M3FN, BP_DTYPE_F8E5M2, BP_DTYPE_F8E4M3FNUZ,
        BP_DTYPE_F8E5M2FNUZ, BP_DTYPE_F8E8M0FNU}) {
    EXPECT_TRUE(holdsDType(BP_DTYPE_U8, dtype));
    EXPECT_FALSE(holdsDType(BP_DTYPE_I8, dtype));
    EXPECT_FALSE(holdsDType(BP_DTYPE_U16, dtype));
    EXPECT_EQ(elementBytes(dtype), 1u);
  }
  EXPECT_TRUE(holdsDType(BP_DTYPE_U16, BP_DTYPE_BF16));
  EXPECT_FALSE(holdsDType(BP_DTYPE_U8, BP_DTYPE_F4E2M1FN));
  EXPECT_FALSE(holdsDType(BP_DTYPE_U8, BP_DTYPE_BOOL));
  EXPECT_FALSE(holdsDType(99, BP_DTYPE_F32));
}

/// Element 1 of two of this dtype, the bits of which are these.
double numberOf(bp_dtype_t dtype, uint64_t bits) {
  auto tensor = Tensor::create(dtype, {2});
  std::memcpy(tensor->data() + elementBytes(dtype), &bits, elementBytes(dtype));
  EXPECT_EQ(tensor->number(0), tensor->number(2)); // outside
  return tensor->number(1);
}

TEST(Npy, NumbersAreThoseOfTheDType) {
  const std::tuple<bp_dtype_t, uint64_t, double> numbers[] = {
      {BP_DTYPE_F64, 0xC004000000000000, -2.5},
      {BP_DTYPE_F32, 0x3F800001, 1 + std::ldexp(1, -23)},
      {BP_DTYPE_F32, 1, std::ldexp(1, -149)},
      {BP_DTYPE_F16, 0xC100, -2.5},
      {BP_DTYPE_F16, 0xFC00, -INFINITY},
      {BP_DTYPE_BF16, 0x3FC0, 1.5},
      {BP_DTYPE_F8E4M3FN, 0xB8, -1},
      {BP_DTYPE_F8E5M2, 0x3E, 1.5},
      {BP_DTYPE_F8E4M3FNUZ, 0x40, 1},
      {BP_DTYPE_F8E5M2FNUZ, 0xC4, -2},
      {BP_DTYPE_I64, uint64_t(-3), -3},
      {BP_DTYPE_I32, uint32_t(-3), -3},
      {BP_DTYPE_I16, uint16_t(-3), -3},
      {BP_DTYPE_I8, uint8_t(-3), -3},
      {BP_DTYPE_U64, UINT64_MAX, std::ldexp(1, 64)},
      {BP_DTYPE_U32, UINT32_MAX, UINT32_MAX},
      {BP_DTYPE_U16, UINT16_MAX, UINT16_MAX},
      {BP_DTYPE_U8, UINT8_MAX, UINT8_MAX},
      {BP_DTYPE_BOOL, 1, 1}};
  for (auto [dtype, bits, number] : numbers)
    EXPECT_EQ(numberOf(dtype, bits), number) << dtypeName(dtype);
  for (auto [dtype, bits] :
       {std::pair(BP_DTYPE_F32, 0x7FC00000u), std::pair(BP_DTYPE_F16, 0x7E00u),
        std::pair(BP_DTYPE_F8E4M3FN, 0x7Fu),
        std::pair(BP_DTYPE_F8E4M3FNUZ, 0x80u),
        std::pair(BP_DTYPE_F8E5M2, 0x7Eu)})
    EXPECT_TRUE(std::isnan(numberOf(dtype, bits))) << dtypeName(dtype);
  EXPECT_FALSE(std::signbit(numberOf(BP_DTYPE_F32, 0xFFC00001))); // one NaN
}

/// A file of each dtype that files can hold is read as what it was written as.
TEST(Npy, FilesKeepTheirDType) {
  std::string path =
      testing::TempDir() + "bp-npy-dtype-" + std::to_string(getpid());
  for (bp_dtype_t dtype = 1; dtype < BP_DTYPE_COUNT_; ++dtype) {
    auto tensor = Tensor::create(dtype, {3});
    ASSERT_EQ(tensor.ok(), elementBytes(dtype) != 0) << dtypeName(dtype);
    if (!tensor)
      continue;
    ASSERT_TRUE(writeNpy(path, *tensor).ok());
    auto again = readNpy(path);
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_TRUE(holdsDType(again->dtype(), dtype)) << dtypeName(dtype);
    EXPECT_EQ(again->size(), tensor->size());
  }
  std::filesystem::remove(path);
  EXPECT_FALSE(writeNpy(path, Tensor()).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Npy, TakesWhatNumpyWrites) {
  using Dims = std::vector<int64_t>;
  const std::tuple<const char *, Dims, size_t> shapes[] = {
      {"()", {}, 4},
      {"(3,)", {3}, 12},
      {"(2, 3)", {2, 3}, 24},
      {"(2, 3,)", {2, 3}, 24},
      {"( 2,3 )", {2, 3}, 24},
      {"(0,)", {0}, 0},
      {"(4, 0, 9)", {4, 0, 9}, 0}};
  for (const auto &[text, dims, bytes] : shapes) {
    auto tensor = read(npy(dictionary(text), bytes));
    ASSERT_TRUE(tensor.ok()) << tensor.message();
    EXPECT_EQ(tensor->dims(), dims);
  }
  for (const char *version : {"\x02\x00", "\x03\x00"})
    EXPECT_TRUE(read(npy(dictionary("(1,)"), 4, {version, 2})).ok());
  for (const std::string &header :
       {dictionary("(1,)") + "   \n", dictionary("(1,)", "\"<f4\""),
        std::string("{'shape':(1,),'fortran_order':True,'descr':'=f4'}")})
    EXPECT_TRUE(read(npy(header, 4)).ok()) << header;
  for (const char *descr : {"'|i1'", "'|u1'", "'|b1'", "'<i1'"})
    EXPECT_TRUE(read(npy(dictionary("(4,)", descr), 4)).ok()) << descr;
}

TEST(Npy, RefusesHeadersThatAreNone) {
  const std::string headers[] = {
      "",
      "{",
      "{}",
      "}",
      "{'descr': '<f4'}",
      "{'descr': '<f4', 'fortran_order': False}",
      "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} {}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
      "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
      "'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
      "[{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}]",
      "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}",
      "{descr: '<f4', 'fortran_order': False, 'shape': (1,)}",
      "{'x': \"'descr': '<f4', 'fortran_order': False, 'shape': (1,)\"}",
      dictionary("(1,)", "'<f4'", "None"),
      dictionary("(1,)", "'<f4'", "false"),
      dictionary("(1,)", "'<f4'", "Falsehood"),
      dictionary("(1,)", "'<f4'", "0"),
      dictionary("(1,)", "[('a', '<f4')]"),
      dictionary("(1,)", "''"),
      dictionary("(1,)", "'f4'"),
      dictionary("(1,)", "'>f4'"),
      dictionary("(1,)", "'<c8'"),
      dictionary("(1,)", "'|O'"),
      dictionary("(1,)", "'<f4x'"),
      dictionary("(1)"),
      dictionary("1"),
      dictionary("(,)"),
      dictionary("(1,,)"),
      dictionary("(1 1)"),
      dictionary("(-1,)"),
      dictionary("(+1,)"),
      dictionary("(01,)"),
      dictionary("(0x1,)"),
      dictionary("(1.0,)"),
      dictionary("(1e0,)"),
      dictionary("(True,)"),
      dictionary("(None,)"),
      dictionary("[1]"),
      dictionary("(9223372036854775808,)"),
      dictionary("(1,"),
      dictionary("((1,),)"),
      std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}\0",
                  56),
  };
  for (const std::string &header : headers)
    EXPECT_FALSE(read(npy(header, 4)).ok()) << header;
}

TEST(Npy, RefusesSizesThatDoNotFit) {
  const std::string good = npy(dictionary("(2, 3)"), 24);
  ASSERT_TRUE(read(good).ok());
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(read(good.substr(0, size)).ok()) << size;
  EXPECT_FALSE(read(good + "x").ok());
  for (const char *shape :
       {"(4611686018427387904, 4)", "(9223372036854775807,)",
        "(4294967296, 4294967296)", "(3, 3037000500, 3037000500)"})
    EXPECT_FALSE(read(npy(dictionary(shape), 4)).ok()) << shape;
  std::string many = "(";
  for (int i = 0; i < 65; ++i)
    many += "1, ";
  EXPECT_FALSE(read(npy(dictionary(many + ")"), 4)).ok());
  for (const char *version : {"\x00\x00", "\x01\x01", "\x04\x00", "\xff\xff"})
    EXPECT_FALSE(read(npy(dictionary("(1,)"), 4, {version, 2})).ok());
  std::string endless = npy(dictionary("(1,)"), 4, {"\x02\x00", 2});
  endless[10] = endless[11] = '\xff';
  EXPECT_FALSE(read(endless).ok());
}

TEST(Npy, RefusesWhatIsNoFileAndReplacesNone) {
  std::string pipe =
      testing::TempDir() + "bp-npy-pipe-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  auto made = Tensor::create(BP_DTYPE_F32, {2});
  const Tensor &tensor = *made;
  for (const std::string &path :
       {pipe, std::string("/dev/zero"), std::string("/tmp"),
        std::string("/dev/stdin")}) {
    EXPECT_FALSE(readNpy(path).ok()) << path;
    EXPECT_FALSE(writeNpy(path, tensor).ok()) << path;
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  std::filesystem::remove(pipe);
  EXPECT_FALSE(writeNpy("/nowhere/x.npy", tensor).ok());
}

} // namespace
