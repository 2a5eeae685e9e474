// SPDX-License-Identifier: Apache-2.0
//
// matmul, conv, conv_transpose and pool against their definitions, one result
// element at a time.
#include "Harness.h"

#include <cmath>
#include <limits>

using namespace reftest;

namespace {

constexpr bp_dtype_t someTypes[] = {BP_DTYPE_F64,  BP_DTYPE_F32, BP_DTYPE_F16,
                                    BP_DTYPE_BF16, BP_DTYPE_I64, BP_DTYPE_I8,
                                    BP_DTYPE_U16};

/// A sum of products in every number class.
struct Sum {
  long double f = 0;
  uint64_t i = 0;

  void add(const Tensor &a, int64_t at, const Tensor &b, int64_t bt) {
    if (isFloat(a.dtype))
      f += (long double)a.f(at) * b.f(bt);
    else
      i += uint64_t(a.i(at)) * uint64_t(b.i(bt));
  }
  /// f32 and narrower are summed in f64 and rounded once; an ulp is left for
  /// sums that come close to a tie.
  void check(const Tensor &y, int64_t at) const {
    if (!isFloat(y.dtype))
      EXPECT_EQ(y.i(at), wrapped(y.dtype, int64_t(i)));
    else if (y.dtype == BP_DTYPE_F64)
      EXPECT_NEAR(y.f(at), double(f), 1e-12);
    else
      EXPECT_LE(ulps(y.dtype, y.f(at), rounded(y.dtype, f)), 1);
  }
};

} // namespace

// ---- matmul ----

TEST(Matmul, ShapesTransposesAndTypes) {
  struct Case {
    Dims batch;
    int64_t m, n, k;
    bool shared;
  };
  for (const Case &c :
       {Case{{}, 3, 4, 5, false}, Case{{2, 3}, 5, 2, 7, false},
        Case{{2}, 17, 300, 3, true}, Case{{}, 1, 513, 33, false},
        Case{{}, 4, 5, 0, false}, Case{{0}, 4, 5, 2, false},
        Case{{2}, 0, 3, 2, true}, Case{{}, 33, 1, 9, false}})
    for (bool ta : {false, true})
      for (bool tb : {false, true})
        for (bp_dtype_t dtype : someTypes) {
          Dims ad = c.batch, bd = c.shared ? Dims{} : c.batch;
          ad.insert(ad.end(), {ta ? c.k : c.m, ta ? c.m : c.k});
          bd.insert(bd.end(), {tb ? c.n : c.k, tb ? c.k : c.n});
          Tensor a = randomTensor(dtype, ad, 1), b = randomTensor(dtype, bd, 2);
          Tensor y = runOk(
              "matmul", {a, b},
              {{"transpose_a", int64_t(ta)}, {"transpose_b", int64_t(tb)}});
          for (int64_t at = 0; at < y.count(); ++at) {
            int64_t n = at % c.n, m = at / c.n % c.m, batch = at / c.n / c.m;
            Sum sum;
            for (int64_t k = 0; k < c.k; ++k)
              sum.add(a, batch * c.m * c.k + (ta ? k * c.m + m : m * c.k + k),
                      b,
                      (c.shared ? 0 : batch * c.k * c.n) +
                          (tb ? n * c.k + k : k * c.n + n));
            sum.check(y, at);
          }
        }
}

TEST(Matmul, SpecialValues) {
  const double inf = std::numeric_limits<double>::infinity();
  Tensor a = Tensor::floats(BP_DTYPE_F32, {2, 2}, {inf, 0, 1, -1});
  Tensor b = Tensor::floats(BP_DTYPE_F32, {2, 2}, {1, 0, inf, 2});
  Tensor y = runOk("matmul", {a, b},
                   {{"transpose_a", int64_t(0)}, {"transpose_b", int64_t(0)}});
  EXPECT_TRUE(std::isnan(y.f(0))); // inf * 1 + 0 * inf
  EXPECT_TRUE(std::isnan(y.f(1))); // inf * 0
  EXPECT_EQ(y.f(2), -inf);
  EXPECT_EQ(y.f(3), -2);
}

// ---- conv ----

namespace {

struct ConvCase {
  int64_t n, c, o, groups;
  Dims in, window, strides, dilations, low, high, outputPadding;
};

const ConvCase convCases[] = {
    {1, 1, 1, 1, {4}, {3}, {1}, {1}, {0}, {0}, {0}},
    {2, 3, 5, 1, {7, 6}, {3, 2}, {1, 1}, {1, 1}, {1, 0}, {1, 1}, {0, 0}},
    {2, 4, 6, 2, {9, 8}, {3, 3}, {2, 3}, {1, 2}, {0, 2}, {3, 1}, {1, 2}},
    {1, 6, 6, 6, {5, 33}, {3, 3}, {1, 2}, {1, 1}, {1, 1}, {1, 1}, {0, 1}},
    {1, 2, 33, 1, {20, 21}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {0, 0}},
    {1,
     2,
     4,
     2,
     {4, 5, 6},
     {2, 1, 3},
     {2, 1, 2},
     {1, 3, 2},
     {1, 0, 2},
     {0, 0, 4},
     {1, 0, 0}},
    {1, 2, 2, 1, {3}, {2}, {5}, {1}, {4}, {4}, {3}},
    {0, 2, 2, 1, {3}, {2}, {1}, {1}, {0}, {0}, {0}},
    {1, 2, 2, 1, {2}, {2}, {1}, {3}, {1}, {1}, {0}},
};

Attributes convAttributes(const ConvCase &c) {
  return {{"strides", c.strides},
          {"dilations", c.dilations},
          {"low", c.low},
          {"high", c.high},
          {"groups", c.groups}};
}

} // namespace

TEST(Conv, DefinitionHolds) {
  for (const ConvCase &c : convCases)
    for (bp_dtype_t dtype : someTypes) {
      Dims xd = {c.n, c.c}, wd = {c.o, c.c / c.groups};
      xd.insert(xd.end(), c.in.begin(), c.in.end());
      wd.insert(wd.end(), c.window.begin(), c.window.end());
      Tensor x = randomTensor(dtype, xd, 1), w = randomTensor(dtype, wd, 2);
      Tensor y = runOk("conv", {x, w}, convAttributes(c));
      if (y.count() == 0)
        continue;
      Dims index(y.dims.size());
      do {
        Sum sum;
        Dims tap(c.window.size());
        for (int64_t channel = 0; channel < wd[1]; ++channel)
          do {
            int64_t group = index[1] / (c.o / c.groups);
            Dims from = {index[0], group * wd[1] + channel};
            Dims weight = {index[1], channel};
            bool inside = true;
            for (size_t i = 0; i < tap.size(); ++i) {
              from.push_back(index[i + 2] * c.strides[i] +
                             tap[i] * c.dilations[i] - c.low[i]);
              weight.push_back(tap[i]);
              inside &= from.back() >= 0 && from.back() < c.in[i];
            }
            if (inside)
              sum.add(x, offset(xd, from), w, offset(wd, weight));
          } while (next(c.window, tap));
        sum.check(y, offset(y.dims, index));
      } while (next(y.dims, index));
    }
}

TEST(ConvTranspose, DefinitionHolds) {
  for (const ConvCase &c : convCases)
    for (bp_dtype_t dtype : someTypes) {
      Dims xd = {c.n, c.c}, wd = {c.c, c.o / c.groups};
      xd.insert(xd.end(), c.in.begin(), c.in.end());
      wd.insert(wd.end(), c.window.begin(), c.window.end());
      bool empty = false;
      for (size_t i = 0; i < c.in.size(); ++i)
        empty |= (c.in[i] - 1) * c.strides[i] +
                     (c.window[i] - 1) * c.dilations[i] + 1 +
                     c.outputPadding[i] <=
                 c.low[i] + c.high[i];
      if (empty)
        continue;
      Tensor x = randomTensor(dtype, xd, 1), w = randomTensor(dtype, wd, 2);
      Attributes attributes = convAttributes(c);
      attributes.push_back({"output_padding", c.outputPadding});
      Tensor y = runOk("conv_transpose", {x, w}, attributes);
      std::vector<Sum> sums(size_t(y.count()));
      Dims from(xd.size());
      if (x.count() == 0)
        continue;
      do { // scatter
        int64_t inputs = c.c / c.groups, group = from[1] / inputs;
        for (int64_t o = 0; o < wd[1]; ++o) {
          Dims tap(c.window.size());
          do {
            Dims to = {from[0], group * wd[1] + o}, weight = {from[1], o};
            bool inside = true;
            for (size_t i = 0; i < tap.size(); ++i) {
              to.push_back(from[i + 2] * c.strides[i] +
                           tap[i] * c.dilations[i] - c.low[i]);
              weight.push_back(tap[i]);
              inside &= to.back() >= 0 && to.back() < y.dims[i + 2];
            }
            if (inside)
              sums[size_t(offset(y.dims, to))].add(x, offset(xd, from), w,
                                                   offset(wd, weight));
          } while (next(c.window, tap));
        }
      } while (next(xd, from));
      for (int64_t i = 0; i < y.count(); ++i)
        sums[size_t(i)].check(y, i);
    }
}

TEST(ConvTranspose, InfiniteWeightTouchesOnlyItsElements) {
  Tensor x = Tensor::floats(BP_DTYPE_F32, {1, 1, 2}, {1, 2});
  Tensor w = Tensor::floats(BP_DTYPE_F32, {1, 1, 2}, {INFINITY, 3});
  Tensor y = runOk("conv_transpose", {x, w},
                   {{"strides", Dims{2}},
                    {"dilations", Dims{1}},
                    {"low", Dims{0}},
                    {"high", Dims{0}},
                    {"output_padding", Dims{1}},
                    {"groups", int64_t(1)}});
  EXPECT_EQ(y, Tensor::floats(BP_DTYPE_F32, {1, 1, 5},
                              {INFINITY, 3, INFINITY, 6, 0}));
}

// ---- pool ----

TEST(Pool, DefinitionHolds) {
  for (const ConvCase &c : convCases)
    for (const char *kind : {"sum", "min", "max"})
      for (bp_dtype_t dtype : someTypes) {
        Dims xd = {c.n, c.c};
        xd.insert(xd.end(), c.in.begin(), c.in.end());
        Tensor x = randomTensor(dtype, xd, 1);
        Tensor y = runOk("pool", {x},
                         {{"kind", std::string(kind)},
                          {"window", c.window},
                          {"strides", c.strides},
                          {"dilations", c.dilations},
                          {"low", c.low},
                          {"high", c.high}});
        if (y.count() == 0)
          continue;
        bool isSum = kind[0] == 's', isMin = kind[1] == 'i';
        Dims index(y.dims.size());
        do {
          Sum sum;
          double f = isMin ? INFINITY : -INFINITY;
          int64_t i = isMin ? highest(dtype) : lowest(dtype);
          Tensor one = Tensor(dtype, {});
          isFloat(dtype) ? one.setF(0, 1) : one.setI(0, 1);
          Dims tap(c.window.size());
          do {
            Dims from = {index[0], index[1]};
            bool inside = true;
            for (size_t a = 0; a < tap.size(); ++a) {
              from.push_back(index[a + 2] * c.strides[a] +
                             tap[a] * c.dilations[a] - c.low[a]);
              inside &= from.back() >= 0 && from.back() < c.in[a];
            }
            if (!inside)
              continue;
            int64_t at = offset(xd, from);
            sum.add(x, at, one, 0);
            if (isFloat(dtype))
              f = isMin ? std::min(f, x.f(at)) : std::max(f, x.f(at));
            else
              i = isMin ? std::min(i, x.i(at)) : std::max(i, x.i(at));
          } while (next(c.window, tap));
          int64_t to = offset(y.dims, index);
          if (isSum)
            sum.check(y, to);
          else if (isFloat(dtype))
            EXPECT_EQ(y.f(to), f);
          else
            EXPECT_EQ(y.i(to), i);
        } while (next(y.dims, index));
      }
}

TEST(Pool, NanWins) {
  Tensor x = Tensor::floats(BP_DTYPE_F32, {1, 1, 4}, {1, NAN, 3, 4});
  for (const char *kind : {"sum", "min", "max"}) {
    Tensor y = runOk("pool", {x},
                     {{"kind", std::string(kind)},
                      {"window", Dims{2}},
                      {"strides", Dims{2}},
                      {"dilations", Dims{1}},
                      {"low", Dims{0}},
                      {"high", Dims{0}}});
    EXPECT_TRUE(std::isnan(y.f(0)));
    EXPECT_FALSE(std::isnan(y.f(1)));
  }
}
