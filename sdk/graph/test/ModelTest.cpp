// SPDX-License-Identifier: Apache-2.0
#include "TestGraphs.h"
#include "sdk/support/Hash.h"

#include <cmath>
#include <cstring>

using namespace backplane;
using namespace backplane::test;

namespace {

TEST(WeightPool, KeepsEqualContentsOnce) {
  WeightPool pool;
  auto a = pool.add(T("f32[2]"), Bytes{1, 2, 3, 4, 5, 6, 7, 8});
  auto b = pool.add(T("f32[2]"), Bytes{1, 2, 3, 4, 5, 6, 7, 8});
  auto c = pool.add(T("f32[2, 1]"), Bytes{1, 2, 3, 4, 5, 6, 7, 8});
  auto d = pool.add(T("i32[2]"), Bytes{1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_TRUE(a.ok() && b.ok() && c.ok() && d.ok());
  EXPECT_EQ(*a, *b);
  EXPECT_NE(*a, *c);
  EXPECT_NE(*a, *d);
  EXPECT_EQ(a->size(), 32u);
  EXPECT_EQ(pool.all().size(), 3u);
  ASSERT_NE(pool.find(*c), nullptr);
  EXPECT_EQ(pool.find(*c)->type, T("f32[2, 1]"));
  EXPECT_EQ(pool.find(*c)->data[7], 8);
  EXPECT_EQ(pool.find("none"), nullptr);
}

TEST(WeightPool, RefusesSizesThatDoNotFit) {
  WeightPool pool;
  EXPECT_FALSE(pool.add(T("f32[2]"), Bytes(7)).ok());
  EXPECT_FALSE(pool.add(T("f32[n]"), Bytes(8)).ok());
  EXPECT_FALSE(pool.add(T("f32[-1, -2]"), Bytes(8)).ok());
  EXPECT_FALSE(pool.add(T("f32[9223372036854775807, 2]"), Bytes(8)).ok());
  EXPECT_TRUE(pool.add(T("f32[0]"), Bytes()).ok());
  EXPECT_TRUE(pool.add(T("i4[3]"), Bytes(2)).ok());
}

TEST(WeightPool, HashesAreStable) {
  // XXH3-128 of nothing, from the xxHash test vectors.
  EXPECT_EQ(hashBytes({}), "99aa06d3014798d86001c324468d497f");
}

TEST(Element, EncodesFloats) {
  EXPECT_EQ(encodeElement(DType::F32, 1.0), (Bytes{0, 0, 0x80, 0x3f}));
  EXPECT_EQ(encodeElement(DType::BF16, 1.0), (Bytes{0x80, 0x3f}));
  EXPECT_EQ(encodeElement(DType::F16, -2.0), (Bytes{0x00, 0xc0}));
  EXPECT_EQ(encodeElement(DType::F16, 65519.0), (Bytes{0xff, 0x7b}));
  EXPECT_EQ(encodeElement(DType::F16, 65520.0), (Bytes{0x00, 0x7c}));
  EXPECT_EQ(encodeElement(DType::F16, 0x1p-24), (Bytes{0x01, 0x00}));
  EXPECT_EQ(encodeElement(DType::F16, 0x1p-25), (Bytes{0x00, 0x00}));
  EXPECT_EQ(encodeElement(DType::F8E4M3FN, 448.0), (Bytes{0x7e}));
  EXPECT_EQ(encodeElement(DType::F8E4M3FN, 1000.0), (Bytes{0x7f}));
  EXPECT_EQ(encodeElement(DType::F8E5M2, INFINITY), (Bytes{0x7c}));
  // Ties go to even.
  EXPECT_EQ(encodeElement(DType::BF16, 1.0 + 0x1p-8), (Bytes{0x80, 0x3f}));
  EXPECT_EQ(encodeElement(DType::BF16, 1.0 + 3 * 0x1p-8), (Bytes{0x82, 0x3f}));
}

TEST(Element, EncodesFormatsWithoutInfinities) {
  // NaN stands where others have -0, so that there is one zero.
  EXPECT_EQ(encodeElement(DType::F8E4M3FNUZ, 247), (Bytes{0x7f}));
  EXPECT_EQ(encodeElement(DType::F8E4M3FNUZ, -248), (Bytes{0x80}));
  EXPECT_EQ(encodeElement(DType::F8E4M3FNUZ, -1e-10), (Bytes{0}));
  EXPECT_EQ(encodeElement(DType::F8E5M2FNUZ, -57344), (Bytes{0xff}));
  EXPECT_EQ(encodeElement(DType::F8E5M2FNUZ, INFINITY), (Bytes{0x80}));
  // Without NaN and infinities.
  EXPECT_EQ(encodeElement(DType::F4E2M1FN, -1e9), (Bytes{0x0f}));
  EXPECT_EQ(encodeElement(DType::F4E2M1FN, 2.5), (Bytes{4}));
  EXPECT_EQ(encodeElement(DType::F4E2M1FN, -0.25), (Bytes{8}));
  EXPECT_EQ(encodeElement(DType::F4E2M1FN, -NAN), (Bytes{0}));
  EXPECT_EQ(decodeElement(DType::F4E2M1FN, Bytes{0x21, 0xf0}, 3), -6);
  // Powers of two, nothing else.
  EXPECT_EQ(encodeElement(DType::F8E8M0FNU, 1), (Bytes{127}));
  EXPECT_EQ(encodeElement(DType::F8E8M0FNU, 1.49), (Bytes{127}));
  EXPECT_EQ(encodeElement(DType::F8E8M0FNU, 1.5), (Bytes{128}));
  EXPECT_EQ(encodeElement(DType::F8E8M0FNU, 0x1.7p127), (Bytes{254}));
  EXPECT_EQ(encodeElement(DType::F8E8M0FNU, 0x1.8p127), (Bytes{255}));
  EXPECT_EQ(encodeElement(DType::F8E8M0FNU, 0x1.8p-127), (Bytes{1}));
  EXPECT_EQ(encodeElement(DType::F8E8M0FNU, -3), (Bytes{0}));
  EXPECT_EQ(encodeElement(DType::F8E8M0FNU, -INFINITY), (Bytes{255}));
}

TEST(Element, AgreesWithTheProcessor) {
  for (double value :
       {0.0, -0.0, 1.5, -3.25e10, 1e-40, 1e-46, 1e39, -1e-300, 0.1, 1e308}) {
    float narrow = static_cast<float>(value);
    Bytes expected(4);
    std::memcpy(expected.data(), &narrow, 4);
    EXPECT_EQ(encodeElement(DType::F32, value), expected) << value;
    Bytes wide(8);
    std::memcpy(wide.data(), &value, 8);
    EXPECT_EQ(encodeElement(DType::F64, value), wide) << value;
  }
}

TEST(Element, SaturatesIntegers) {
  EXPECT_EQ(encodeElement(DType::I8, 300), (Bytes{0x7f}));
  EXPECT_EQ(encodeElement(DType::I8, -INFINITY), (Bytes{0x80}));
  EXPECT_EQ(encodeElement(DType::U8, -1), (Bytes{0}));
  EXPECT_EQ(encodeElement(DType::U8, 1e9), (Bytes{0xff}));
  EXPECT_EQ(encodeElement(DType::I32, -1.9), (Bytes{255, 255, 255, 255}));
  EXPECT_EQ(encodeElement(DType::I32, NAN), (Bytes{0, 0, 0, 0}));
  EXPECT_EQ(encodeElement(DType::I64, 1e30)[7], 0x7f);
  EXPECT_EQ(encodeElement(DType::U64, 1e30), Bytes(8, 0xff));
  EXPECT_EQ(encodeElement(DType::I4, -1), (Bytes{0x0f}));
  EXPECT_EQ(encodeElement(DType::Bool, 0.5), (Bytes{1}));
}

TEST(Element, RoundTripsEveryNarrowPattern) {
  for (DType type : {DType::F16, DType::BF16, DType::F8E4M3FN, DType::F8E5M2,
                     DType::F8E4M3FNUZ, DType::F8E5M2FNUZ, DType::F8E8M0FNU,
                     DType::F4E2M1FN, DType::I16, DType::U8, DType::I8}) {
    unsigned bits = bitWidth(type);
    for (uint32_t pattern = 0; pattern < (1u << bits); ++pattern) {
      Bytes bytes = {static_cast<uint8_t>(pattern)};
      if (bits == 16)
        bytes.push_back(static_cast<uint8_t>(pattern >> 8));
      double value = decodeElement(type, bytes, 0);
      if (!std::isnan(value))
        ASSERT_EQ(encodeElement(type, value), bytes) << name(type) << pattern;
    }
  }
  EXPECT_EQ(decodeElement(DType::I4, Bytes{0x8f}, 1), -8);
  EXPECT_EQ(decodeElement(DType::U4, Bytes{0x8f}, 0), 15);
  EXPECT_EQ(decodeElement(DType::F32, Bytes{0}, 0), 0);
}

} // namespace
